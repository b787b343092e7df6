package show

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"ctbridge/schema"
	"ctbridge/schema/avro"
)

// SchemaByID asks a schema registry.
type SchemaByID func(ctx context.Context, id int) (schema string, err error)

// Decoder turns the bytes of keys and values into JSON. It learns the schemas of the binary envelope from the metadata messages that it
// decodes. One goroutine uses it.
type Decoder struct {
	byID       SchemaByID // nil = no registry
	registered map[int]*avro.Decoder
	learned    map[string]*avro.Decoder // by messageSchemaId
	envelope   *avro.Decoder
}

// NewDecoder builds a decoder; byID may be nil.
func NewDecoder(byID SchemaByID) *Decoder {
	return &Decoder{byID: byID, registered: map[int]*avro.Decoder{}, learned: map[string]*avro.Decoder{}}
}

const envelopeMagic = "atMSG"

// envelopeSchema is the record around messages in Avro without a registry.
const envelopeSchema = `{"type":"record","name":"MessageEnvelope","fields":[
	{"name":"magic","type":{"type":"fixed","name":"Magic","size":5}},
	{"name":"type","type":"string"},
	{"name":"headers","type":["null",{"type":"map","values":"string"}]},
	{"name":"messageSchemaId","type":["null","string"]},
	{"name":"messageSchema","type":["null","string"]},
	{"name":"message","type":"bytes"}]}`

// Decode gives data as one JSON document.
func (d *Decoder) Decode(ctx context.Context, data []byte) ([]byte, error) {
	if id, body, ok := schema.ReadFrame(data); ok {
		return d.decodeWire(ctx, id, body)
	}
	switch {
	case bytes.HasPrefix(data, []byte(envelopeMagic)):
		return d.decodeEnvelope(data)
	case json.Valid(data):
		return data, nil
	}
	return nil, errors.New("neither JSON nor an Avro message with a known start")
}

func (d *Decoder) decodeWire(ctx context.Context, id int, body []byte) ([]byte, error) {
	decoder, known := d.registered[id]
	if !known {
		if d.byID == nil {
			return nil, fmt.Errorf("it is Avro with schema id %d: name the schema registry", id)
		}
		text, err := d.byID(ctx, id)
		if err != nil {
			return nil, fmt.Errorf("schema id %d: %w", id, err)
		}
		if decoder, err = avro.NewDecoder(text); err != nil {
			return nil, fmt.Errorf("schema id %d: %w", id, err)
		}
		d.registered[id] = decoder
	}
	return decoder.AppendJSON(nil, body)
}

// envelope is a decoded MessageEnvelope: the same members as in JSON, but the message still in hex.
type envelope struct {
	Magic    string          `json:"magic"`
	Type     string          `json:"type"`
	Headers  json.RawMessage `json:"headers"`
	SchemaID *string         `json:"messageSchemaId"`
	Schema   *string         `json:"messageSchema"`
	Message  json.RawMessage `json:"message"`
}

// decodeEnvelope gives the form that the same message has in JSON.
func (d *Decoder) decodeEnvelope(data []byte) ([]byte, error) {
	var err error
	if d.envelope == nil {
		if d.envelope, err = avro.NewDecoder(envelopeSchema); err != nil {
			return nil, err
		}
	}
	text, err := d.envelope.AppendJSON(nil, data)
	if err != nil {
		return nil, err
	}
	var e envelope
	var digits string
	if err := errors.Join(json.Unmarshal(text, &e), json.Unmarshal(e.Message, &digits)); err != nil {
		return nil, err
	}
	body, err := hex.DecodeString(digits)
	if err != nil {
		return nil, err
	}
	inner, err := d.inner(&e)
	if err != nil {
		return nil, err
	}
	if e.Message, err = inner.AppendJSON(nil, body); err != nil {
		return nil, err
	}
	if e.Type == "MD" {
		if err := d.learn(e.Message); err != nil {
			return nil, err
		}
	}
	return json.Marshal(&e)
}

// inner finds the schema of the message inside: metadata messages carry their own, data messages name one that was seen before.
func (d *Decoder) inner(e *envelope) (*avro.Decoder, error) {
	if e.Schema != nil {
		return avro.NewDecoder(*e.Schema)
	}
	if e.SchemaID == nil {
		return nil, errors.New("the message names no schema")
	}
	decoder, known := d.learned[*e.SchemaID]
	if !known {
		return nil, fmt.Errorf("no metadata message with schema id %s was seen: read the metadata topic first", *e.SchemaID)
	}
	return decoder, nil
}

// learn keeps the schema of data messages that a metadata message announces.
func (d *Decoder) learn(metadata []byte) error {
	var m struct {
		SchemaID   string `json:"schemaId"`
		DataSchema string `json:"dataSchema"`
	}
	if err := json.Unmarshal(metadata, &m); err != nil || m.SchemaID == "" {
		return fmt.Errorf("a metadata message without schemaId and dataSchema: %w", err)
	}
	decoder, err := avro.NewDecoder(m.DataSchema)
	if err != nil {
		return err
	}
	d.learned[m.SchemaID] = decoder
	return nil
}

package stdout

import (
	"bytes"
	"encoding/json"
	"time"
	"unicode/utf8"

	"ctbridge/bridge/change"
)

// line is one record as it is printed. Content that is a JSON object or array is printed as such, other text as a string, and what is not
// text in base64 under the name's second form. A missing key and the value of a tombstone are null.
type line struct {
	Topic     string     `json:"topic"`
	Table     string     `json:"table,omitempty"`
	Timestamp *time.Time `json:"timestamp,omitempty"`
	Headers   []header   `json:"headers,omitempty"`
	Key       any        `json:"key"`
	KeyRaw    []byte     `json:"key_base64,omitempty"`
	Value     any        `json:"value"`
	ValueRaw  []byte     `json:"value_base64,omitempty"`
}

type header struct {
	Name     string `json:"name"`
	Value    any    `json:"value"`
	ValueRaw []byte `json:"value_base64,omitempty"`
}

// appendLine appends a record and the end of the line.
func appendLine(dst []byte, r *change.Record) ([]byte, error) {
	l := line{Topic: r.Topic, Table: r.Table.String()}
	if !r.Timestamp.IsZero() {
		l.Timestamp = &r.Timestamp
	}
	l.Key, l.KeyRaw = content(r.Key)
	l.Value, l.ValueRaw = content(r.Value)
	for _, h := range r.Headers {
		value, raw := content(h.Value)
		l.Headers = append(l.Headers, header{Name: h.Name, Value: value, ValueRaw: raw})
	}
	b := bytes.NewBuffer(dst)
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(l)
	return b.Bytes(), err
}

// content gives the printable form of b: a value, or raw bytes.
func content(b []byte) (any, []byte) {
	switch {
	case b == nil:
		return nil, nil
	case !utf8.Valid(b):
		return nil, b
	case isDocument(b):
		return json.RawMessage(b), nil
	}
	return string(b), nil
}

func isDocument(b []byte) bool {
	return len(b) > 0 && (b[0] == '{' || b[0] == '[') && json.Valid(b)
}

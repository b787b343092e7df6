package schema

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
	"ctbridge/bridge/fault"
	"ctbridge/schema/avro"
)

// Registry gives the id of a schema under a subject, registering it where it is not known yet.
type Registry interface {
	Register(ctx context.Context, subject, schema string) (id int, err error)
}

// Strategy says how subjects are named: a template over {topic}, {record}, which is the full name of the record, and {part}, which is key or
// value.
type Strategy string

// The strategies that Confluent's clients have.
const (
	TopicName       Strategy = "{topic}-{part}" // one schema per topic
	RecordName      Strategy = "{record}"
	TopicRecordName Strategy = "{topic}-{record}"
)

// Registered is the format of Avro in Confluent's wire format: a zero byte, the schema's id in four bytes, most significant first, and the
// Avro binary.
type Registered struct {
	registry Registry
	strategy Strategy
}

// NewRegistered builds the format; nothing is asked of the registry yet.
func NewRegistered(r Registry, s Strategy) *Registered { return &Registered{registry: r, strategy: s} }

// Value registers the schema of a topic's values and compiles their encoder (I9).
func (f *Registered) Value(ctx context.Context, topic string, n *envelope.Node) (envelope.Encoder, error) {
	return f.encoder(ctx, topic, "value", n)
}

// Key registers the schema of a topic's keys and compiles their encoder (I9).
func (f *Registered) Key(ctx context.Context, topic string, n *envelope.Node) (envelope.Encoder, error) {
	return f.encoder(ctx, topic, "key", n)
}

func (f *Registered) encoder(ctx context.Context, topic, part string, n *envelope.Node) (envelope.Encoder, error) {
	e, err := avro.Compile(n)
	if err != nil {
		return nil, uncompiled(topic, err)
	}
	subject, err := f.Subject(topic, part, n)
	if err != nil {
		return nil, err
	}
	id, err := f.registry.Register(ctx, subject, e.Schema())
	if err != nil {
		return nil, err
	}
	if id < 0 || id > math.MaxUint32 {
		return nil, fault.New(fault.Table, "schema "+subject, fmt.Errorf("the id %d does not fit into four bytes", id), "")
	}
	return &framed{frame: frame(id), encoder: e}, nil
}

// Subject names the subject of a tree; part is "value" or "key".
func (f *Registered) Subject(topic, part string, n *envelope.Node) (string, error) {
	return f.strategy.Subject(topic, part, n)
}

// Subject names the subject of a tree; part is "value" or "key". Errors have class Config.
func (s Strategy) Subject(topic, part string, n *envelope.Node) (string, error) {
	record := n.Name
	if n.Namespace != "" {
		record = n.Namespace + "." + n.Name
	}
	subject := strings.NewReplacer("{topic}", topic, "{record}", record, "{part}", part).Replace(string(s))
	switch {
	case subject == string(s):
		return "", fault.New(fault.Config, "subject for topic "+topic, fmt.Errorf("%q is no template of subjects", s), "choose topic, record or topic_record")
	case record == "" && strings.Contains(string(s), "{record}"):
		return "", fault.New(fault.Config, "subject for topic "+topic, fmt.Errorf("strategy %q needs a named record", s), "use strategy topic")
	}
	return subject, nil
}

// frameSize is how many bytes stand before the Avro binary.
const frameSize = 5

func frame(id int) (f [frameSize]byte) {
	binary.BigEndian.PutUint32(f[1:], uint32(id))
	return f
}

// framed puts the frame in front of each message.
type framed struct {
	frame   [frameSize]byte
	encoder *avro.Encoder
}

func (f *framed) Append(dst []byte, ev *change.Event) ([]byte, error) {
	out, err := f.encoder.Append(append(dst, f.frame[:]...), ev)
	if err != nil {
		return dst, err
	}
	return out, nil
}

// ReadFrame reads the frame of a message; ok is false where there is none.
func ReadFrame(message []byte) (id int, body []byte, ok bool) {
	if len(message) < frameSize || message[0] != 0 {
		return 0, message, false
	}
	return int(binary.BigEndian.Uint32(message[1:])), message[frameSize:], true
}

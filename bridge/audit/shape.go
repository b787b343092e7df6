package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
)

// Shape knows which members of a topic's messages have which role. One goroutine uses it.
type Shape struct {
	root  *place
	given bool
}

// place is a member with a role at or below it.
type place struct {
	role   envelope.Role
	row    bool // its members are columns
	fields map[string]*place
	items  []*place
}

// NewShape compiles the declared tree of a topic's values. given tells that change sequences are the runner's, and no part of the change. The shape holds for
// all structures of the tables: what it looks at are members of the envelope, not columns.
func NewShape(value *envelope.Node, avro, given bool) *Shape {
	root := placeOf(value, avro)
	if root == nil {
		root = &place{}
	}
	return &Shape{root: root, given: given}
}

// placeOf gives nil where nothing has a role.
func placeOf(n *envelope.Node, avro bool) *place {
	if n.Shape == envelope.Embedded {
		return placeOf(n.Inner, avro)
	}
	p := &place{role: n.Role, row: n.Shape == envelope.Record && n.Image != nil && n.Role == envelope.RoleContent}
	for i := range n.Fields {
		below := placeOf(n.Fields[i].Node, avro)
		if below == nil {
			continue
		}
		if p.fields == nil {
			p.fields = make(map[string]*place)
		}
		name := n.Fields[i].Name
		if avro {
			name = n.Fields[i].InAvro()
		}
		p.fields[name] = below
	}
	some := false
	for _, item := range n.Items {
		below := placeOf(item, avro)
		p.items, some = append(p.items, below), some || below != nil
	}
	if p.role == envelope.RoleContent && !p.row && p.fields == nil && !some {
		return nil
	}
	return p
}

// Message is one record, decoded.
type Message struct {
	Key     []byte // as it is shown: text, or JSON
	Value   []byte // JSON; nil = a tombstone
	Headers []change.Header
}

// Item is a message as it is compared.
type Item struct {
	Place string // where its change stands: change sequence, or position in the log; empty for a row of a full load
	Sum   Sum
	Doc   []byte // what Sum is of

	Tombstone bool // it has no value

	Blank    bool   // of what is expected: nobody can tell what the message says
	Timed    bool   // of what is expected: the change table tells the time of the change
	Replayed bool   // of what was found: a dead letter that was published again
	Edge     bool   // of what was found: it may lie just outside of the window
	At       string // of what was found: where in the topic
}

// Blank is the item of a change that cannot be rendered: whatever the topic says of it, or a dead letter, accounts for it.
func Blank(place string) Item {
	out := Item{Place: place, Blank: true, Doc: []byte("blank " + place)}
	hash := sha256.Sum256(out.Doc)
	copy(out.Sum[:], hash[:])
	return out
}

// Sum is a hash of 128 bits.
type Sum [16]byte

// document is what is compared.
type document struct {
	Key     string            `json:"key"`
	Value   any               `json:"value"`
	Headers map[string]string `json:"headers,omitempty"`
}

// tombstone stands for the value of one.
const tombstone = "tombstone"

// Item reads a message.
func (s *Shape) Item(m *Message) (Item, error) {
	doc := document{Key: string(m.Key), Headers: headersOf(m.Headers)}
	var out Item
	if err := parse(m.Value, &doc.Value); err != nil {
		return out, err
	}
	found := &places{}
	doc.Value = s.root.strip(doc.Value, s.dropped, found)
	if out.Place = found.stream; !s.given {
		out.Place = found.sequence
	}
	return out, out.seal(&doc)
}

// Tombstone is the item of a message without value that follows another: it belongs to that one's change.
func (s *Shape) Tombstone(m *Message, follows *Item) (Item, error) {
	out := Item{Place: follows.Place, Tombstone: true, Replayed: follows.Replayed, Edge: follows.Edge}
	return out, out.seal(&document{Key: string(m.Key), Value: tombstone, Headers: headersOf(m.Headers)})
}

func (i *Item) seal(doc *document) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(doc); err != nil {
		return err
	}
	i.Doc = b.Bytes()
	hash := sha256.Sum256(i.Doc)
	copy(i.Sum[:], hash[:])
	return nil
}

// headersOf leaves out what tells of ctbridge itself and not of the change.
func headersOf(headers []change.Header) map[string]string {
	var out map[string]string
	for _, h := range headers {
		if h.Name == replayedHeader {
			continue
		}
		if out == nil {
			out = make(map[string]string)
		}
		out[h.Name] += string(h.Value)
	}
	return out
}

const replayedHeader = "ctbridge.replayed"

// Replayed tells that a record is a dead letter published again.
func Replayed(headers []change.Header) bool {
	for _, h := range headers {
		if h.Name == replayedHeader {
			return true
		}
	}
	return false
}

func parse(text []byte, into *any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // all digits
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("not JSON: %w", err)
	}
	if d.More() {
		return errors.New("not JSON: something follows")
	}
	return nil
}

// dropped are the roles that never count.
func (s *Shape) dropped(r envelope.Role) bool {
	return r == envelope.RoleRun || s.given && r == envelope.RoleSequence
}

// places are where a message says that its change stands.
type places struct{ sequence, stream string }

// strip takes the members out that are dropped.
func (p *place) strip(value any, drop func(envelope.Role) bool, found *places) any {
	if p == nil {
		return value
	}
	switch p.role {
	case envelope.RoleSequence:
		found.sequence = first(found.sequence, sequenceIn(value))
	case envelope.RoleStream:
		found.stream = first(found.stream, streamIn(value))
	default:
	}
	switch v := value.(type) {
	case map[string]any:
		for name, below := range p.fields {
			member, there := v[name]
			if !there {
				continue
			}
			if v[name] = below.strip(member, drop, found); drop(below.role) {
				delete(v, name)
			}
		}
	case []any:
		for i := range v {
			if i < len(p.items) && p.items[i] != nil {
				if v[i] = p.items[i].strip(v[i], drop, found); drop(p.items[i].role) {
					v[i] = nil
				}
			}
		}
	}
	return value
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

const sequenceDigits = 35

// sequenceIn finds the change sequence in a member, which may have brackets and quotes around it; "" where there is none.
func sequenceIn(value any) string {
	text, _ := value.(string)
	text = strings.Trim(text, `["]`)
	if len(text) != sequenceDigits || strings.Trim(text, "0123456789") != "" {
		return ""
	}
	return text
}

// streamIn gives a position in the log without its punctuation.
func streamIn(value any) string {
	text, _ := value.(string)
	return strings.ReplaceAll(text, ":", "")
}

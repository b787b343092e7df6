package avro

import (
	"errors"
	"fmt"

	twmb "github.com/twmb/avro"
)

// Decoder turns Avro binary into JSON that people read: members in the order of the schema, decimals as text, dates and times in ISO 8601,
// bytes as upper-case hex, union branches without their type. It is for the inspection verbs, not for the way of the data: text that is
// not UTF-8 is shown with replacement characters, and a date that has no ISO form as its bare number.
type Decoder struct {
	root *twmb.SchemaNode
	refs map[*twmb.SchemaNode]*twmb.SchemaNode // what the nodes that only name a type stand for
}

// NewDecoder compiles any Avro schema.
func NewDecoder(schemaText string) (*Decoder, error) {
	schema, err := twmb.Parse(schemaText)
	if err != nil {
		return nil, fmt.Errorf("avro schema: %w", err)
	}
	d := &Decoder{root: schema.Root(), refs: map[*twmb.SchemaNode]*twmb.SchemaNode{}}
	d.resolve(d.root, "", map[string]*twmb.SchemaNode{})
	return d, nil
}

// DecodeJSON decodes one message; a Decoder is better for many of one schema.
func DecodeJSON(schemaText string, body []byte) ([]byte, error) {
	d, err := NewDecoder(schemaText)
	if err != nil {
		return nil, err
	}
	return d.AppendJSON(nil, body)
}

// AppendJSON decodes body, all of it, and appends the JSON to dst.
func (d *Decoder) AppendJSON(dst, body []byte) ([]byte, error) {
	in := &input{rest: body, dst: dst, refs: d.refs}
	if err := in.value(d.root, 0); err != nil {
		return nil, fmt.Errorf("avro message, byte %d of %d: %w", len(body)-len(in.rest), len(body), err)
	}
	if len(in.rest) > 0 {
		return nil, fmt.Errorf("avro message: %d of %d bytes are left over", len(in.rest), len(body))
	}
	return in.dst, nil
}

// resolve notes every named type at and below a node by its full name, and what the references to them mean. A type stands before its
// references.
func (d *Decoder) resolve(n *twmb.SchemaNode, namespace string, types map[string]*twmb.SchemaNode) {
	switch n.Type {
	case "record", "error", "enum", "fixed":
		namespace = n.Namespace
		types[join(namespace, n.Name)] = n
	default:
		for _, full := range []string{join(namespace, n.Type), n.Type} {
			if named, known := types[full]; known {
				d.refs[n] = named
				break
			}
		}
	}
	for i := range n.Fields {
		d.resolve(&n.Fields[i].Type, namespace, types)
	}
	for i := range n.Branches {
		d.resolve(&n.Branches[i], namespace, types)
	}
	for _, below := range []*twmb.SchemaNode{n.Items, n.Values} {
		if below != nil {
			d.resolve(below, namespace, types)
		}
	}
}

// input is one message being decoded.
type input struct {
	rest []byte
	dst  []byte
	refs map[*twmb.SchemaNode]*twmb.SchemaNode
}

// maxDepth bounds the nesting of recursive types.
const maxDepth = 1000

var errShort = errors.New("the message ends too early")

func (in *input) value(n *twmb.SchemaNode, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("more than %d levels", maxDepth)
	}
	switch n.Type {
	case "record", "error":
		return in.record(n, depth+1)
	case "union":
		return in.union(n, depth+1)
	case "array":
		return in.blocks('[', ']', n.Items, false, depth+1)
	case "map":
		return in.blocks('{', '}', n.Values, true, depth+1)
	}
	if known, err := in.scalar(n); known {
		return err
	}
	if named := in.refs[n]; named != nil {
		return in.value(named, depth)
	}
	return fmt.Errorf("unknown type %q", n.Type)
}

func (in *input) record(n *twmb.SchemaNode, depth int) error {
	in.text("{")
	for i := range n.Fields {
		if i > 0 {
			in.text(",")
		}
		in.text(quote(n.Fields[i].Name))
		in.text(":")
		if err := in.value(&n.Fields[i].Type, depth); err != nil {
			return fmt.Errorf("%s: %w", n.Fields[i].Name, err)
		}
	}
	in.text("}")
	return nil
}

func (in *input) union(n *twmb.SchemaNode, depth int) error {
	branch, err := in.long()
	if err != nil {
		return err
	}
	if branch < 0 || branch >= int64(len(n.Branches)) {
		return fmt.Errorf("branch %d of a union of %d", branch, len(n.Branches))
	}
	return in.value(&n.Branches[branch], depth)
}

// blocks decodes an array, or a map, which has a key before each value.
func (in *input) blocks(open, shut byte, item *twmb.SchemaNode, keyed bool, depth int) error {
	in.dst = append(in.dst, open)
	for first := true; ; {
		count, err := in.blockCount()
		if err != nil {
			return err
		}
		if count == 0 {
			in.dst = append(in.dst, shut)
			return nil
		}
		for ; count > 0; count-- {
			if !first {
				in.text(",")
			}
			first = false
			if keyed {
				key, err := in.lengthPrefixed()
				if err != nil {
					return err
				}
				in.text(quote(string(key)) + ":")
			}
			if err := in.value(item, depth); err != nil {
				return err
			}
		}
	}
}

// blockCount reads how many items follow. More items than bytes are only possible where an item takes none: refused, as a few bytes could
// otherwise ask for any amount of output.
func (in *input) blockCount() (int64, error) {
	count, err := in.long()
	if err != nil {
		return 0, err
	}
	if count < 0 { // the block's size in bytes follows
		count = -count
		if _, err := in.long(); err != nil {
			return 0, err
		}
	}
	if count < 0 || count > int64(len(in.rest)) {
		return 0, fmt.Errorf("%d items in %d bytes", count, len(in.rest))
	}
	return count, nil
}

func (in *input) text(s string) { in.dst = append(in.dst, s...) }

// take gives the next n bytes.
func (in *input) take(n int64) ([]byte, error) {
	if n < 0 || n > int64(len(in.rest)) {
		return nil, errShort
	}
	b := in.rest[:n]
	in.rest = in.rest[n:]
	return b, nil
}

func (in *input) lengthPrefixed() ([]byte, error) {
	n, err := in.long()
	if err != nil {
		return nil, err
	}
	return in.take(n)
}

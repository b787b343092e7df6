package avro

import (
	"errors"
	"fmt"

	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
	"ctbridge/schema/internal/program"
)

// Encoder writes the events of one table version. It is not safe for concurrent use.
type Encoder struct {
	program *program.Program
	schema  string
}

// Compile makes the encoder and the schema of a tree. Errors name the field and what is wrong with it: an illegal Avro name, a name that
// means two things, a form that Avro does not have, a constant that does not fit.
func Compile(n *envelope.Node) (*Encoder, error) {
	text, err := SchemaText(n)
	if err != nil {
		return nil, err
	}
	c := compiler{program.NewBuilder("\x00", 2)}
	if err := c.node(n, ""); err != nil {
		return nil, fmt.Errorf("avro encoder: %w", err)
	}
	return &Encoder{program: c.Program(), schema: text}, nil
}

// Append adds the Avro binary of an event to dst. With an error, which names the field, dst comes back as it was.
func (e *Encoder) Append(dst []byte, ev *change.Event) ([]byte, error) {
	return e.program.Append(dst, ev)
}

// Schema is the schema's JSON text.
func (e *Encoder) Schema() string { return e.schema }

// compiler walks the tree; what it gives to the builder is the whole difference between Avro and another format.
type compiler struct{ *program.Builder }

func (c compiler) node(n *envelope.Node, path string) error {
	switch n.Shape {
	case envelope.Record:
		return c.record(n, path)
	case envelope.Array:
		return c.array(n, path)
	case envelope.Union:
		return c.union(n, path)
	case envelope.Split:
		return c.split(n, path)
	case envelope.Embedded:
		c.Present(n)
		c.Open()
		defer c.Close()
		return c.node(n.Inner, path)
	case envelope.Leaf:
	}
	write := writerOf(n.Avro.Kind)
	if write == nil {
		return fmt.Errorf("%s: Avro has no form %d", place(path), n.Avro.Kind)
	}
	return c.Leaf(n, n.Avro, path, write)
}

func (c compiler) record(n *envelope.Node, path string) error {
	if n.Image != nil {
		c.Enter(n, path)
		defer c.Leave()
	} else {
		c.Present(n)
	}
	var problems []error
	for i := range n.Fields {
		problems = append(problems, c.node(n.Fields[i].Node, join(path, n.Fields[i].Name)))
	}
	return errors.Join(problems...)
}

// join gives the path of a field inside a record.
func join(path, field string) string {
	if path == "" {
		return field
	}
	return path + "." + field
}

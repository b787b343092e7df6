package jsonenc

import (
	"errors"
	"fmt"

	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
	"ctbridge/schema/internal/program"
)

// Encoder writes the events of one table version. It is not safe for concurrent use.
type Encoder struct{ program *program.Program }

// Compile makes the encoder of a tree. Errors name the field and what is wrong with it: a form that JSON does not have, a name that is
// there twice or is not UTF-8, a constant that does not fit.
func Compile(n *envelope.Node) (*Encoder, error) {
	c := compiler{program.NewBuilder("null", 0)}
	if err := c.node(n, ""); err != nil {
		return nil, fmt.Errorf("json encoder: %w", err)
	}
	return &Encoder{program: c.Program()}, nil
}

// Append adds an event as one JSON value, without a line feed, to dst. With an error, which names the field, dst comes back as it was.
func (e *Encoder) Append(dst []byte, ev *change.Event) ([]byte, error) {
	return e.program.Append(dst, ev)
}

// compiler walks the tree; what it gives to the builder is the whole difference between JSON and another format.
type compiler struct{ *program.Builder }

func (c compiler) node(n *envelope.Node, path string) error {
	switch {
	case n == nil:
		return fmt.Errorf("%s: nothing is declared", place(path))
	case n.Shape == envelope.Embedded:
		return c.node(n.Inner, path)
	case n.Shape == envelope.Record:
		return c.record(n, path)
	case n.Shape == envelope.Array:
		return c.array(n, path)
	case n.Shape == envelope.Union:
		return c.union(n, path)
	}
	write := writerOf(n.JSON.Kind)
	if write == nil {
		return fmt.Errorf("%s: JSON has no form %d", place(path), n.JSON.Kind)
	}
	return c.Leaf(n, n.JSON, path, write)
}

func (c compiler) record(n *envelope.Node, path string) error {
	if n.Image != nil {
		c.Enter(n, path)
		defer c.Leave()
	}
	var problems []error
	taken := map[string]bool{}
	between := "{"
	for i := range n.Fields {
		f := &n.Fields[i]
		if taken[f.Name] {
			problems = append(problems, fmt.Errorf("%s: the member %q is there twice", place(path), f.Name))
		}
		taken[f.Name] = true
		problems = append(problems, c.member(f, between, path))
		between = ","
	}
	if len(n.Fields) == 0 {
		c.Literal("{")
	}
	c.Literal("}")
	return errors.Join(problems...)
}

func (c compiler) array(n *envelope.Node, path string) error {
	var problems []error
	c.Literal("[")
	for i, item := range n.Items {
		if i > 0 {
			c.Literal(",")
		}
		problems = append(problems, c.node(item, fmt.Sprintf("%s[%d]", path, i)))
	}
	c.Literal("]")
	return errors.Join(problems...)
}

// union writes the branch that stands here: JSON does not say which one it is.
func (c compiler) union(n *envelope.Node, path string) error {
	if n.Branch < 0 || n.Branch >= len(n.Branches) {
		return fmt.Errorf("%s: branch %d of a union of %d", place(path), n.Branch, len(n.Branches))
	}
	branch := n.Branches[n.Branch]
	if branch.Shape == envelope.Leaf && branch.JSON.Kind == envelope.FormNull {
		c.Literal("null")
		return nil
	}
	return c.node(branch, path)
}

func (c compiler) member(f *envelope.Field, before, path string) error {
	if path != "" {
		path += "."
	}
	path += f.Name
	name, err := appendString([]byte(before), []byte(f.Name))
	if err != nil {
		return fmt.Errorf("%s: the name: %w", place(path), err)
	}
	c.Literal(string(append(name, ':')))
	return c.node(f.Node, path)
}

// place names a path for people; the root of the tree has none.
func place(path string) string {
	if path == "" {
		return "message"
	}
	return path
}

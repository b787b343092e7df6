package avro

import (
	"errors"
	"fmt"
	"strconv"

	"ctbridge/bridge/envelope"
)

// array writes one block of all items, and the empty block that ends an array (Avro specification, "Arrays").
func (c compiler) array(n *envelope.Node, path string) error {
	c.Present(n)
	if len(n.Items) > 0 {
		c.Literal(string(appendLong(nil, int64(len(n.Items)))))
	}
	var problems []error
	for i, item := range n.Items {
		problems = append(problems, c.node(item, itemPath(path, i)))
	}
	c.Literal("\x00")
	return errors.Join(problems...)
}

func itemPath(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// union writes the number of the branch and the branch.
func (c compiler) union(n *envelope.Node, path string) error {
	c.Literal(string(appendLong(nil, int64(n.Branch))))
	branch := n.Branches[n.Branch]
	if branch.Shape == envelope.Leaf && branch.Avro.Kind == envelope.FormNull {
		return nil
	}
	return c.node(branch, path)
}

// split writes the parts of a column as the fields of a record.
func (c compiler) split(n *envelope.Node, path string) error {
	if err := c.Divide(n, path); err != nil {
		return err
	}
	defer c.Together()
	var problems []error
	for i := range n.Fields {
		part := *n.Fields[i].Node
		part.Column = n.Column
		problems = append(problems, c.node(&part, join(path, n.Fields[i].Name)))
	}
	return errors.Join(problems...)
}

// arrayType writes the type of an array. Its items are of one type, whatever they hold.
func (w *schemaWriter) arrayType(n *envelope.Node, namespace, path string) error {
	w.out.WriteString(`{"type":"array","items":`)
	err := w.node(n.Item, namespace, path)
	for i, item := range n.Items {
		if err == nil && !sameType(n.Item, item, namespace) {
			err = fmt.Errorf("%s: the item is not of the array's type", place(itemPath(path, i)))
		}
	}
	err = errors.Join(err, w.props(n.Props, path))
	w.out.WriteString(`}`)
	return err
}

func sameType(a, b *envelope.Node, namespace string) bool {
	first, second := newSchemaWriter(), newSchemaWriter()
	err := errors.Join(first.node(a, namespace, ""), second.node(b, namespace, ""))
	return err == nil && first.out.String() == second.out.String()
}

// unionType writes a union of branches that are no unions themselves.
func (w *schemaWriter) unionType(n *envelope.Node, namespace, path string) error {
	if n.Nullable || n.Branch < 0 || n.Branch >= len(n.Branches) {
		return fmt.Errorf("%s: branch %d of a union of %d, which cannot be nullable itself", place(path), n.Branch, len(n.Branches))
	}
	var problems []error
	w.out.WriteString(`[`)
	for i, branch := range n.Branches {
		if i > 0 {
			w.out.WriteString(",")
		}
		if branch.Nullable || branch.Shape == envelope.Union {
			problems = append(problems, fmt.Errorf("%s: branch %d is a union itself", place(path), i))
		}
		problems = append(problems, w.node(branch, namespace, path))
	}
	w.out.WriteString(`]`)
	return errors.Join(problems...)
}

// checkParts makes sure that a split column has parts, and that each is a form of that column.
func checkParts(n *envelope.Node, path string) error {
	if len(n.Fields) == 0 {
		return fmt.Errorf("%s: a split column without parts", place(path))
	}
	for i := range n.Fields {
		if part := n.Fields[i].Node; part.Shape != envelope.Leaf || part.Get != nil || part.Constant != nil || part.Nullable {
			return fmt.Errorf("%s: a part of a split column is a form of that column, not nullable", place(join(path, n.Fields[i].Name)))
		}
	}
	return nil
}

package treetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"pgregory.net/rapid"

	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
)

// Case is a random tree, an event for it, and what the message must hold.
type Case struct {
	Tree  *envelope.Node
	Event *change.Event
	Want  Want
}

// Want is what the oracle expects of one node.
type Want struct {
	Avro any    // as the Avro libraries decode it: map[string]any for a record, []any for an array, *big.Rat for a decimal, time.Time, …; Embedded
	JSON string // exactly what encoding/json would write
}

// Embedded expects Avro bytes that hold the binary form of a tree.
type Embedded struct {
	Tree *envelope.Node
	Want any
}

// DrawCase draws a record with up to three levels below it. Some columns are in the new image, some in the old one, which may be missing.
func DrawCase(t *rapid.T) Case {
	d := &drawer{t: t, hasBefore: rapid.Bool().Draw(t, "has before-image"), image: -1}
	ev := &change.Event{Table: &change.Table{ID: change.TableID{Name: "t"}}, Op: change.OpUpdate}
	tree, want := d.record(3)
	ev.After = d.images[0]
	if d.hasBefore {
		ev.Before = append([]change.Value{}, d.images[1]...)
	}
	if ev.After == nil {
		ev.After = []change.Value{}
	}
	return Case{Tree: tree, Event: ev, Want: want}
}

type drawer struct {
	t         *rapid.T
	hasBefore bool
	images    [2][]change.Value
	image     int // in force: 0 new, 1 old, -1 none
	names     int
}

func (d *drawer) node(depth int) (*envelope.Node, Want) {
	kind := 0
	if depth > 0 {
		kind = rapid.IntRange(0, 12).Draw(d.t, "shape")
	}
	switch kind {
	case 8:
		return d.record(depth - 1)
	case 9:
		inner, want := d.record(depth - 1)
		n := &envelope.Node{Shape: envelope.Embedded, Inner: inner, Nullable: rapid.Bool().Draw(d.t, "nullable")}
		return n, Want{Avro: Embedded{inner, want.Avro}, JSON: want.JSON}
	case 10:
		return d.array()
	case 11:
		return d.union()
	case 12:
		return d.split()
	}
	return d.leaf()
}

func (d *drawer) record(depth int) (*envelope.Node, Want) {
	d.names++
	n := &envelope.Node{Shape: envelope.Record, Name: fmt.Sprintf("R%d", d.names), Nullable: rapid.Bool().Draw(d.t, "nullable")}
	if rapid.Bool().Draw(d.t, "own namespace") {
		n.Namespace = rapid.SampledFrom([]string{"a", "a.b", "x_1.y"}).Draw(d.t, "namespace")
	}
	outside := d.image
	missing := false
	if outside == -1 || rapid.IntRange(0, 3).Draw(d.t, "switch image") == 0 {
		d.image = rapid.IntRange(0, 1).Draw(d.t, "image")
		n.Image = [...]func(*change.Event) []change.Value{
			func(ev *change.Event) []change.Value { return ev.After },
			func(ev *change.Event) []change.Value { return ev.Before },
		}[d.image]
		missing = d.image == 1 && !d.hasBefore
		n.Nullable = n.Nullable || missing
	}
	want := d.fields(n, depth)
	d.image = outside
	if missing {
		want = Want{JSON: "null"}
	}
	return n, want
}

func (d *drawer) fields(n *envelope.Node, depth int) Want {
	names := rapid.SliceOfNDistinct(fieldName, 1, 6, rapid.ID[string]).Draw(d.t, "names")
	native := map[string]any{}
	var text strings.Builder
	for i, name := range names {
		node, want := d.node(depth)
		f := envelope.Field{Name: name, Node: node}
		if avro := envelope.AvroName(name); avro != name {
			f.AvroName = avro
		}
		n.Fields = append(n.Fields, f)
		native[f.InAvro()] = want.Avro
		text.WriteString([]string{"{", ","}[min(i, 1)] + jsonText(name) + ":" + want.JSON)
	}
	return Want{Avro: native, JSON: text.String() + "}"}
}

// fieldName holds what source columns are called.
var fieldName = rapid.OneOf(rapid.StringMatching(`[A-Za-z_][A-Za-z0-9_]{0,8}`), rapid.StringN(1, 6, 20))

// leaf draws a value and where it comes from.
func (d *drawer) leaf() (*envelope.Node, Want) {
	draw := leaves[rapid.IntRange(0, len(leaves)-1).Draw(d.t, "leaf")]
	d.names++
	n := &envelope.Node{Name: fmt.Sprintf("L%d", d.names)}
	value, want := draw(d.t, n)
	n.Nullable = rapid.Bool().Draw(d.t, "nullable")
	if n.Avro.Kind == envelope.FormMap {
		n.Nullable = true
	}
	if n.Nullable && (rapid.Bool().Draw(d.t, "null") || n.Avro.Kind == envelope.FormMap) {
		value, want = rapid.SampledFrom([]change.Value{change.Null, change.Absent}).Draw(d.t, "missing"), Want{JSON: "null"}
	} else if rapid.IntRange(0, 9).Draw(d.t, "absent") == 0 {
		stands := value
		n.Absent, value = &stands, change.Absent
	}
	if rapid.IntRange(0, 3).Draw(d.t, "props") == 0 {
		n.Props = []envelope.Prop{{Name: "connect.version", Value: "1"}, {Name: "connect.name", Value: jsonText(n.Name)}}
	}
	switch source := rapid.IntRange(0, 4).Draw(d.t, "source"); {
	case source == 0:
		n.Constant = &value
	case source == 1:
		n.Get = func(_ *change.Event, scratch *envelope.Scratch) change.Value {
			*scratch = append((*scratch)[:0], value.Raw...)
			v := value
			v.Raw = *scratch
			return v
		}
	default:
		n.Column = len(d.images[d.image])
		d.images[d.image] = append(d.images[d.image], value)
	}
	return n, want
}

// jsonText is what encoding/json writes for a value.
func jsonText(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // a test value that JSON does not know
	}
	return strings.TrimSuffix(b.String(), "\n")
}

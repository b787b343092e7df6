package qlik

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"

	"pgregory.net/rapid"
)

// wide is a table of n integer columns c1…cn with the given 1-based ordinals as its key.
func wide(n int, key ...int) *change.Table {
	columns := make([]change.Column, n)
	for i := range columns {
		columns[i] = change.Column{Name: fmt.Sprintf("c%d", i+1), Type: change.Type{Kind: change.Int4}, Nullable: true}
	}
	for position, ordinal := range key {
		columns[ordinal-1].KeyPosition = position + 1
	}
	return change.NewTable(change.TableID{Schema: "s", Name: "wide"}, 1, columns)
}

// row is an image of n integers, absent at the given ordinals.
func row(n int, absent ...int) []change.Value {
	values := make([]change.Value, n)
	for i := range values {
		values[i] = change.IntValue(int64(i))
	}
	for _, ordinal := range absent {
		values[ordinal-1] = change.Absent
	}
	return values
}

// with gives a copy of a row with other values at the given ordinals.
func with(values []change.Value, ordinals ...int) []change.Value {
	other := append([]change.Value(nil), values...)
	for _, ordinal := range ordinals {
		other[ordinal-1] = change.IntValue(-1)
	}
	return other
}

func marked(n int, ordinals ...int) change.Mask {
	m := make(change.Mask, change.MaskBytes(n))
	for _, ordinal := range ordinals {
		m.Set(ordinal - 1)
	}
	return m
}

// maskHex writes a mask leaf as the message does, independently of the encoders.
func maskHex(n *envelope.Node, ev *change.Event) string {
	scratch := envelope.Scratch(bytes.Repeat([]byte{0xFF}, 256)) // left over from another event
	v := n.Get(ev, &scratch)
	if v.Kind == change.KindNull {
		return "null"
	}
	number := make([]byte, n.JSON.Scale)
	for i, b := range v.Raw {
		number[len(number)-1-i] = b
	}
	return strings.ToUpper(hex.EncodeToString(number))
}

func TestMasks(t *testing.T) {
	t.Parallel()
	lob := wide(10, 1)
	lob.Columns[1].Type.Kind = change.Clob
	lob.Columns[2].Type.Kind = change.NClob
	lob.Columns[3].Type.Kind = change.Blob
	lob.Columns[4].Type.Kind = change.JSON // NCLOB in metadata
	for name, c := range map[string]struct {
		table           *change.Table
		ev              change.Event
		changed, column string
	}{
		"real: columns 8 and 16 of 16": {wide(16, 1),
			change.Event{Op: change.OpUpdate, After: row(16), Changed: marked(16, 8, 16), HasChanged: true}, "008080", "00FFFF"},
		"real: column 2 of 3": {wide(3, 1),
			change.Event{Op: change.OpUpdate, After: row(3), Changed: marked(3, 2), HasChanged: true}, "02", "07"},
		"real: the middle of three not captured": {wide(3, 1),
			change.Event{Op: change.OpUpdate, After: row(3, 2), Changed: marked(3), HasChanged: true}, "00", "05"},
		"documented: ordinals 1, 2, 4": {wide(7, 1),
			change.Event{Op: change.OpUpdate, After: row(7), Changed: marked(7, 1, 2, 4), HasChanged: true}, "0B", "7F"},
		"8 columns take 2 bytes": {wide(8, 1),
			change.Event{Op: change.OpUpdate, After: row(8), Changed: marked(8, 8), HasChanged: true}, "0080", "00FF"},
		"a short mask means zeros": {wide(20, 1),
			change.Event{Op: change.OpUpdate, After: row(20), Changed: change.Mask{0x04}, HasChanged: true}, "000004", "0FFFFF"},
		"an empty mask": {wide(3, 1),
			change.Event{Op: change.OpUpdate, After: row(3), HasChanged: true}, "00", "07"},
		"large objects": {lob,
			change.Event{Op: change.OpUpdate, After: row(10), Changed: marked(10, 1, 2, 3, 4, 5, 6), HasChanged: true}, "0021", "03FF"},
		"large objects, compared": {lob,
			change.Event{Op: change.OpUpdate, Before: row(10), After: with(row(10), 2, 3, 4, 5, 9)}, "0100", "03FF"},
		"NULL is present": {wide(3, 1),
			change.Event{Op: change.OpInsert, After: []change.Value{{}, {}, {}}, Changed: marked(3, 1, 2, 3), HasChanged: true}, "07", "07"},
		"delete: the key, whatever the source says": {wide(12, 2, 11),
			change.Event{Op: change.OpDelete, Before: row(12, 3), Changed: marked(12, 5), HasChanged: true}, "0402", "0FFB"},
		"delete without a mask": {wide(3, 3),
			change.Event{Op: change.OpDelete, Before: row(3)}, "04", "07"},
		"delete without a key": {wide(3),
			change.Event{Op: change.OpDelete, Before: row(3), Changed: marked(3, 1), HasChanged: true}, "01", "07"},
		"delete without key and mask": {wide(3),
			change.Event{Op: change.OpDelete, Before: row(3)}, "null", "07"},
		"compared images": {wide(16, 1),
			change.Event{Op: change.OpUpdate, Before: row(16), After: with(row(16), 8, 16)}, "008080", "00FFFF"},
		"compared images, absent either side": {wide(4, 1),
			change.Event{Op: change.OpUpdate, Before: row(4, 2), After: with(row(4, 3), 4)}, "08", "0B"},
		"update without mask and before-image": {wide(3, 1), change.Event{Op: change.OpUpdate, After: row(3)}, "null", "07"},
		"insert without mask":                  {wide(3, 1), change.Event{Op: change.OpInsert, After: row(3)}, "null", "07"},
		"refresh": {wide(3, 1),
			change.Event{Op: change.OpRefresh, After: row(3), Changed: marked(3, 1), HasChanged: true}, "null", "null"},
	} {
		headers := find(t, declare(t, c.table).Value, "message", "headers")
		if got := maskHex(find(t, headers, "changeMask"), &c.ev); got != c.changed {
			t.Errorf("%s: changeMask %s, want %s", name, got, c.changed)
		}
		if got := maskHex(find(t, headers, "columnMask"), &c.ev); got != c.column {
			t.Errorf("%s: columnMask %s, want %s", name, got, c.column)
		}
	}
}

func TestMaskWidth(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]int{1: 1, 3: 1, 7: 1, 8: 2, 15: 2, 16: 3, 117: 15, 1024: 129} {
		headers := find(t, declare(t, wide(n, 1)).Value, "message", "headers")
		for _, member := range []string{"changeMask", "columnMask"} {
			n := find(t, headers, member)
			if n.JSON.Scale != want || n.Avro.Scale != want || !n.Nullable {
				t.Errorf("%s of %d columns: %+v, want width %d", member, n.JSON.Scale, n, want)
			}
		}
	}
}

// Masks read back from their hex are the sets they came from, over any number of columns.
func TestMasksDecodeBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.OneOf(rapid.IntRange(1, 70), rapid.IntRange(1000, 1100)).Draw(rt, "columns")
		table := wide(n, 1)
		ordinal := rapid.IntRange(1, n)
		changed := rapid.SliceOfDistinct(ordinal, rapid.ID[int]).Draw(rt, "changed")
		absent := rapid.SliceOfDistinct(ordinal, rapid.ID[int]).Draw(rt, "absent")
		headers := find(t, declare(t, table).Value, "message", "headers")
		ev := &change.Event{Op: change.OpUpdate, After: row(n, absent...), Changed: marked(n, changed...), HasChanged: true}
		if got := ordinals(t, maskHex(find(t, headers, "changeMask"), ev), n); !sameSet(got, changed, n, false) {
			rt.Fatalf("changeMask %v, want %v", got, changed)
		}
		if got := ordinals(t, maskHex(find(t, headers, "columnMask"), ev), n); !sameSet(got, absent, n, true) {
			rt.Fatalf("columnMask %v, absent %v", got, absent)
		}
	})
}

// ordinals reads a message mask the way consumers must: a number, most significant digit first, bit ordinal-1.
func ordinals(t fataler, text string, n int) map[int]bool {
	t.Helper()
	if len(text) != 2*(n/8+1) {
		t.Fatalf("mask %s of %d columns", text, n)
	}
	set := map[int]bool{}
	for i := range len(text) {
		digit := strings.IndexByte("0123456789ABCDEF", text[len(text)-1-i])
		for bit := range 4 {
			if digit>>bit&1 == 1 {
				set[4*i+bit+1] = true
			}
		}
	}
	return set
}

func sameSet(got map[int]bool, want []int, n int, complement bool) bool {
	in := map[int]bool{}
	for _, ordinal := range want {
		in[ordinal] = true
	}
	for ordinal := 1; ordinal <= n; ordinal++ {
		if got[ordinal] != (in[ordinal] != complement) {
			return false
		}
		delete(got, ordinal)
	}
	return len(got) == 0
}

// fataler is what testing and rapid have in common here.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

package layouttest

import (
	"testing"

	"ctbridge/bridge/change"
	"ctbridge/source/qlikct"
	"ctbridge/test/qlikwriter"
)

// The low end of a change table: its lowest sequence, and whether a row has a given one.
func checkLowEnd(t *testing.T, b *bench) {
	s := qlikwriter.Parcel("parcel")
	b.Writer.Create(t, s)
	l := b.layout(qlikct.Options{})
	captured := b.only(l)
	want := func(at int, oldest change.Position, has bool) {
		t.Helper()
		got, there, err := l.Oldest(b.ctx, captured, change.Position(qlikwriter.Seq(at)))
		if err != nil || got != oldest || there != has {
			t.Errorf("low end %q, row %d there %v, %v; want %q, %v", got, at, there, err, oldest, has)
		}
	}
	want(3, "", false)
	b.Writer.Add(t, b.Writer.DB, s, row("I", 3, 1, "a", nil), row("I", 5, 2, "b", nil))
	first := change.Position(qlikwriter.Seq(3))
	want(3, first, true)
	want(4, first, false)
	want(5, first, true)
}

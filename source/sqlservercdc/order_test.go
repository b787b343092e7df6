package sqlservercdc_test

import (
	"testing"

	"ctbridge/bridge/change"
	"ctbridge/test/cdcwriter"
)

func TestCase01_OrderByCommitFirst(t *testing.T) {
	everywhere(t, func(b *bench) {
		c := b.capture(cdcwriter.Parcel("parcel"))
		b.commit(0x20, c, row(1, 0x11, 2, 1, "new", nil))
		b.commit(0x30, c, row(1, 0x09, 2, 2, "new", nil))
		l := b.layout(options())
		captured := b.only(l)
		b.want(b.all(l, captured), "32 INSERT +(1,new,null)", "48 INSERT +(2,new,null)")
		first, _ := b.events(l, captured, "", end, 1)
		rest, failed := b.events(l, captured, first[0].Position, end, 1)
		if failed != nil || len(rest) != 1 || line(&rest[0]) != "48 INSERT +(2,new,null)" {
			b.Fatalf("after a restart: %d events, %v", len(rest), failed)
		}
	})
}

func TestCase02_SeqvalDoesNotOrder(t *testing.T) {
	everywhere(t, func(b *bench) {
		c := b.capture(cdcwriter.Parcel("parcel"))
		b.commit(0x40, c, row(2, 0x51, 3, 7, "a", nil), row(2, 0x51, 4, 7, "b", nil), row(1, 0x55, 2, 7, "a", nil))
		l := b.layout(options())
		b.want(b.all(l, b.only(l)), "64 INSERT +(7,a,null)", "64 UPDATE -(7,a,null) +(7,b,null)")
	})
}

func TestCase02_WithoutCommandID(t *testing.T) {
	everywhere(t, func(b *bench) {
		parcel := cdcwriter.Parcel("parcel")
		parcel.Old = true
		c := b.capture(parcel)
		b.commit(0x40, c, row(0, 0x51, 2, 7, "a", nil), row(0, 0x55, 3, 7, "a", nil), row(0, 0x55, 4, 7, "b", nil), row(0, 0x56, 1, 7, "b", nil))
		log, said := logger()
		l := b.logged(options(), log)
		b.want(b.all(l, b.only(l)), "64 INSERT +(7,a,null)", "64 UPDATE -(7,a,null) +(7,b,null)", "64 DELETE -(7,b,null)")
		b.discover(l)
		if n := said.count("__$command_id"); n != 1 {
			b.Errorf("said %d times that there is no command id, want once", n)
		}
	})
}

// Rows from before a server's update have NULL for a command id.
func TestCase02_NullCommandID(t *testing.T) {
	everywhere(t, func(b *bench) {
		c := b.capture(cdcwriter.Parcel("parcel"))
		b.commit(0x40, c, row(1, 0x51, 2, 1, "a", nil), row(1, 0x52, 2, 2, "b", nil), row(1, 0x53, 2, 3, "c", nil))
		b.commit(0x41, c, row(1, 0x01, 2, 4, "d", nil))
		b.Exec(b, "UPDATE ["+b.Schema+"].[parcel_CT] SET [__$command_id] = NULL WHERE [__$start_lsn] = "+cdcwriter.Literal(cdcwriter.LSN(0x40)))
		l := b.layout(options())
		b.want(b.all(l, b.only(l)), "64 INSERT +(1,a,null)", "64 INSERT +(2,b,null)", "64 INSERT +(3,c,null)", "65 INSERT +(4,d,null)")
	})
}

// A key update is a delete and an insert of one sequence value: it stays that, and a stop between the two loses nothing.
func TestCase05_RestartInsideAKeyUpdate(t *testing.T) {
	everywhere(t, func(b *bench) {
		c := b.capture(cdcwriter.Parcel("parcel"))
		b.commit(0x60, c, row(1, 0x30, 1, 5, "x", nil), row(1, 0x30, 2, 6, "x", nil), row(2, 0x10, 2, 8, "y", nil))
		l := b.layout(options())
		captured := b.only(l)
		lines := b.all(l, captured)
		b.want(lines, "96 DELETE -(5,x,null)", "96 INSERT +(6,x,null)", "96 INSERT +(8,y,null)")
		events, _ := b.events(l, captured, "", end, 100)
		for i := range events {
			rest, failed := b.events(l, captured, events[i].Position, end, 1)
			if failed != nil || len(rest) != len(events)-1-i {
				b.Errorf("after event %d: %d events, %v", i, len(rest), failed)
			}
		}
	})
}

func TestCase21_BeforeImagesOfOneStatement(t *testing.T) {
	everywhere(t, func(b *bench) {
		c := b.capture(cdcwriter.Parcel("parcel"))
		b.commit(0x21, c,
			row(1, 0x01, 3, 1, "a", nil), row(1, 0x02, 3, 2, "b", nil), row(1, 0x01, 4, 1, "x", nil), row(1, 0x02, 4, 2, "y", nil),
			// One sequence value for two rows: nothing but the key tells which before-image is whose.
			row(2, 0x03, 3, 3, "c", nil), row(2, 0x03, 3, 4, "d", nil), row(2, 0x03, 4, 4, "D", nil), row(2, 0x03, 4, 3, "C", nil))
		l := b.layout(options())
		events, failed := b.events(l, b.only(l), "", end, 100)
		if failed != nil || len(events) != 4 {
			b.Fatalf("%d events, %v", len(events), failed)
		}
		for i := range events {
			if before, after := events[i].Before[0], events[i].After[0]; !before.Equal(after) {
				b.Errorf("event %d has the before-image of another row: %s", i, line(&events[i]))
			}
		}
		if n := len(b.all(l, b.only(l))); n != 4 {
			b.Errorf("%d events in small pages, want 4", n)
		}
	})
}

func TestCase21_OrphanIsReported(t *testing.T) {
	everywhere(t, func(b *bench) {
		c := b.capture(cdcwriter.Parcel("parcel"))
		b.commit(0x20, c, row(1, 1, 2, 1, "a", nil))
		b.commit(0x21, c, row(1, 1, 3, 1, "a", nil))
		l := b.layout(options())
		events, failed := b.events(l, b.only(l), "", end, 100)
		if len(events) != 1 || failed == nil {
			b.Fatalf("%d events, error %v; want the insert and an error", len(events), failed)
		}
	})
}

func TestPositionsAndCount(t *testing.T) {
	everywhere(t, func(b *bench) {
		c := b.capture(cdcwriter.Parcel("parcel"))
		b.commit(0x20, c, row(1, 1, 2, 1, "a", nil), row(1, 2, 3, 1, "a", nil), row(1, 2, 4, 1, "b", nil), row(2, 1, 1, 1, "b", nil))
		b.commit(0x21, c, row(1, 1, 2, 2, "a", nil))
		l := b.layout(options())
		captured := b.only(l)
		events, _ := b.events(l, captured, "", end, 100)
		for i := range events {
			for j := i; j < len(events); j++ {
				got, err := l.Positions(b.Context(), captured, events[i].Position, events[j].Position)
				if err != nil || len(got) != j-i {
					b.Fatalf("positions in (%d, %d]: %v, %v", i, j, got, err)
				}
				page, failed := b.events(l, captured, events[i].Position, events[j].Position, 1)
				if failed != nil || len(page) != j-i {
					b.Fatalf("events in (%d, %d]: %d, %v", i, j, len(page), failed)
				}
			}
		}
		for at, want := range map[change.Position]bool{"": false, "~": false, events[1].Position: true, end: false} {
			oldest, has, err := l.Oldest(b.Context(), captured, at)
			if err != nil || has != want || oldest != events[0].Position {
				b.Errorf("low end with %q: %s, %v, %v", at, oldest, has, err)
			}
		}
		if above, failed := b.events(l, captured, "~", end, 10); len(above) != 0 || failed != nil {
			b.Errorf("%d events above every position, %v", len(above), failed)
		}
		newest, err := l.Detect(b.Context(), b.discover(l).Tables)
		if err != nil || newest[0].Position != events[len(events)-1].Position {
			b.Errorf("detected %v, %v; want %s", newest, err, events[len(events)-1].Position)
		}
	})
}

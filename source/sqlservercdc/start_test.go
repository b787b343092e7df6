package sqlservercdc_test

import (
	"fmt"
	"testing"
	"time"

	"ctbridge/bridge"
	"ctbridge/source"
	"ctbridge/source/sqlservercdc"
	"ctbridge/test/cdcwriter"
)

// Case 17: where a table begins that nothing is known of.
func TestCase17_StartAt(t *testing.T) {
	everywhere(t, func(b *bench) {
		c := b.capture(cdcwriter.Parcel("parcel"))
		for lsn := 2; lsn <= 9; lsn++ {
			b.commit(lsn, c, row(1, 1, 2, lsn, "x", nil)) // at 16:00:02 and so on
		}
		b.commit(10, c)
		at := func(second int) time.Time { return cdcwriter.Day.Add(time.Duration(second) * time.Second) }
		for name, check := range map[string]struct {
			start bridge.StartAt
			first int
		}{
			"earliest":              {bridge.StartAt{}, 2},
			"now":                   {bridge.StartAt{Now: true}, 11},
			"a commit's time":       {bridge.StartAt{Time: at(5)}, 5},
			"between two":           {bridge.StartAt{Time: at(5).Add(5 * time.Millisecond)}, 6},
			"before all":            {bridge.StartAt{Time: at(-100)}, 2},
			"not come to yet":       {bridge.StartAt{Time: at(3600)}, 11},
			"behind a commit's LSN": {bridge.StartAt{After: sqlservercdc.Behind("0000000000000005" + "0000")}, 6},
		} {
			r := b.run()
			r.options.Start = check.start
			stop := r.start()
			if check.first <= 9 {
				got := bares(r.ledger.wait(b, 10-check.first))
				want := fmt.Sprintf("parcel %d INSERT +(%d,x,null) #1 true v1", check.first, check.first)
				if len(got) != 10-check.first || got[0] != want {
					b.Errorf("%s: %d records, the first is %s, want %s", name, len(got), got[0], want)
				}
			} else {
				r.ledger.until(b, name+" to be chosen", func([]string) bool { return len(r.ledger.entries) > 1 })
				if len(r.ledger.committed) != 0 {
					b.Errorf("%s: %v", name, r.ledger.committed)
				}
			}
			stop()
		}
	})
}

// A moment before the table's capture instance is its beginning, and no hole.
func TestStartBeforeTheInstance(t *testing.T) {
	everywhere(t, func(b *bench) {
		early := b.capture(cdcwriter.Parcel("early"))
		b.commit(2, early, row(1, 1, 2, 1, "x", nil))
		late := cdcwriter.Parcel("late")
		b.Create(b, late)
		b.Capture(b, late, "late", cdcwriter.LSN(0x20))
		b.commit(0x20, cdcwriter.Changes{Instance: "late", Table: late}, row(1, 1, 2, 2, "y", nil))
		r, heard := b.run(), &silent{}
		r.options.Start, r.options.Observer = bridge.StartAt{Time: cdcwriter.Day}, heard
		stop := r.start()
		b.want(bares(r.ledger.wait(b, 2)), "early 2 INSERT +(1,x,null) #1 true v1", "late 32 INSERT +(2,y,null) #1 true v1")
		stop()
		if len(heard.errors) > 0 && heard.errors[len(heard.errors)-1] != nil {
			b.Errorf("errors %v", heard.errors)
		}
	})
}

// Case 51: a time in the hour that an autumn change repeats begins before it, so that nothing of it is left out.
func TestCase51_StartInARepeatedHour(t *testing.T) {
	chicago, err := time.LoadLocation("America/Chicago")
	if err != nil {
		t.Fatal(err)
	}
	everywhere(t, func(b *bench) {
		c := b.capture(cdcwriter.Parcel("parcel"))
		for i, wall := range []string{"2031-11-02 00:50:00", "2031-11-02 01:10:00", "2031-11-02 01:50:00", "2031-11-02 01:10:00", "2031-11-02 02:10:00"} {
			at, err := time.Parse(time.DateTime, wall)
			if err != nil {
				b.Fatal(err)
			}
			c.Rows = []cdcwriter.Row{row(1, 1, 2, i, "x", nil)}
			b.Commit(b, cdcwriter.LSN(i+2), at, c)
		}
		l := b.layout(sqlservercdc.Options{Zone: chicago})
		captured := b.only(l)
		for asked, first := range map[string]int{"2031-11-02T05:00:00Z": 2, "2031-11-02T05:55:00Z": 3, "2031-11-02T06:55:00Z": 3, "2031-11-02T07:30:00Z": 4, "2031-11-02T08:00:00Z": 6} {
			at, err := time.Parse(time.RFC3339, asked)
			if err != nil {
				b.Fatal(err)
			}
			p, err := source.NewPoller(b.engine, l, source.Options{}).Since(b.Context(), captured, at)
			if err != nil {
				b.Fatal(err)
			}
			events, _ := b.events(l, captured, p, end, 10)
			if len(events) == 0 || lsn(events[0].Position) != lsnText(first) {
				b.Errorf("%s begins at %s, want %d", asked, p, first)
			}
		}
	})
}

package chaos

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// What the campaign relies on: the reader sees each kind of mistake.
func TestReaderSeesMistakes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		numbers []int             // in the order in which they arrive
		twist   func(e *event)    // of event 3
		place   func(*kgo.Record) // of event 3
		want    string            // in the verdict; empty = none
		relaxed bool              // at_least_once
	}{
		"all well":                    {numbers: []int{1, 2, 3, 4}},
		"lost":                        {numbers: []int{1, 2, 4}, want: "1 events lost"},
		"lost, at_least_once":         {numbers: []int{1, 2, 4}, want: "1 events lost", relaxed: true},
		"doubled":                     {numbers: []int{1, 2, 3, 3, 4}, want: "event 3 came twice"},
		"repeated, at_least_once":     {numbers: []int{1, 2, 3, 2, 3, 4}, relaxed: true},
		"out of order":                {numbers: []int{1, 3, 2, 4}, want: "event 2 came behind 3"},
		"out of order, at_least_once": {numbers: []int{1, 3, 2, 4}, want: "event 2 came behind 3", relaxed: true},
		"rolled back":                 {numbers: []int{1, 2, 3, 4, 5}, want: "event 5 was rolled back"},
		"never written":               {numbers: []int{1, 2, 3, 4, 9}, want: "event 9 was never written"},
		"counter":                     {numbers: []int{1, 2, 3, 4}, twist: func(e *event) { e.counter++ }, want: "got"},
		"last flag":                   {numbers: []int{1, 2, 3, 4}, twist: func(e *event) { e.last = !e.last }, want: "got"},
		"value":                       {numbers: []int{1, 2, 3, 4}, twist: func(e *event) { e.fee += "0" }, want: "got"},
		"partition of a key":          {numbers: []int{1, 2, 3, 4}, place: func(r *kgo.Record) { r.Partition = 1 }, want: "was in partition 0 before"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &ledger{seed: 7}
			for _, tx := range []transaction{{size: 4, outcome: committed}, {size: 1, outcome: aborted}} {
				index, _ := l.begin(tx.size, true)
				l.end(index, tx.outcome)
			}
			r := &reader{TB: t, ledger: l, once: !c.relaxed, place: map[string]int{}, home: map[string]int32{}}
			for offset, n := range c.numbers {
				tx, _ := l.find(n)
				e, record := l.at(n, tx), &kgo.Record{Topic: "late", Offset: int64(offset), Key: []byte("k")}
				if n == 3 && c.twist != nil {
					c.twist(&e)
				}
				if n == 3 && c.place != nil {
					c.place(record)
				}
				r.check(e, record)
			}
			got := strings.Join(r.verdict(), "\n")
			if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
				t.Errorf("verdict %q, want %q in it", got, c.want)
			}
		})
	}
}

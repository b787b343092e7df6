package preflight

import (
	"context"
	"fmt"
	"slices"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/bridge/preflight/facts"
)

// smallTable is what a scan of costs little.
const smallTable = 10000

// indexes looks for an index that every poll can use.
func (d *doctor) indexes(ctx context.Context, n *notes) {
	x, ok := d.Engine.(indexing)
	all, err := d.inspections(ctx)
	if !ok || err != nil {
		return // discover and rights tell
	}
	ids := make([]change.TableID, 0, len(all))
	for _, i := range all {
		if len(i.facts.Order) > 0 {
			ids = append(ids, i.table.Changes)
		}
	}
	if len(ids) == 0 {
		return
	}
	limited, cancel := d.limited(ctx)
	defer cancel()
	found, err := x.Indexes(limited, ids)
	if err != nil {
		n.unknown("indexes", "they cannot be listed", err)
		return
	}
	sizes, well := d.sizes(ctx), 0
	for _, i := range all {
		if len(i.facts.Order) == 0 {
			continue
		}
		if leads(found[i.table.Changes], i.facts.Order) {
			well++
			continue
		}
		rows, known := sizes[i.table.Changes]
		seen := "no index begins with " + i.facts.Order[0].Name + ": every poll reads the whole table"
		if known {
			seen += ", about " + many(int(rows), "row")
		}
		if known && rows < smallTable {
			seen += ", which is cheap as long as it stays small"
		}
		n.warn(i.table.Changes.String(), seen, "make one; the replication task does not need it and does not mind").
			SQL = []string{x.MakeIndex(i.table.Changes, names(i.facts.Order))}
	}
	n.fine(well, "an index begins with the change sequence")
}

func names(columns []change.Column) []string {
	out := make([]string, len(columns))
	for i, c := range columns {
		out[i] = c.Name
	}
	return out
}

func leads(indexes []facts.Index, order []change.Column) bool {
	want := names(order)
	return slices.ContainsFunc(indexes, func(i facts.Index) bool {
		return len(i.Columns) >= len(want) && slices.Equal(i.Columns[:len(want)], want)
	})
}

// neverCleaned is the age of rows from which on nobody seems to delete any.
const neverCleaned = 90 * 24 * time.Hour

// retention tells how far back the change tables go, and how fast they grow.
func (d *doctor) retention(ctx context.Context, n *notes) {
	all, err := d.inspections(ctx)
	if err != nil {
		return // discover and rights tell
	}
	sizes := d.sizes(ctx)
	oldest, well, daily := time.Duration(0), 0, 0.0
	for _, i := range all {
		if i.facts.Oldest.IsZero() {
			continue
		}
		since := d.Now().Sub(i.facts.Oldest)
		rows, known := sizes[i.table.Changes]
		daily += float64(rows) / max(since.Hours()/24, 1)
		if since <= neverCleaned || !known || rows < smallTable {
			well, oldest = well+1, max(oldest, since)
			continue
		}
		n.warn(i.table.Changes.String(), fmt.Sprintf("its oldest row is %s old; it has about %s, %.0f a day", age(since), many(int(rows), "row"), float64(rows)/(since.Hours()/24)),
			"does anybody delete old rows? Delete in order of the change sequence, and only what lies behind the checkpoint")
	}
	if well > 0 {
		seen := "the oldest row is " + age(oldest) + " old"
		if len(sizes) > 0 {
			seen += fmt.Sprintf("; about %.0f new rows a day in all", daily)
		}
		n.pass(many(well, "table"), seen)
	}
}

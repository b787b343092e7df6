package preflight

import (
	"context"
	"errors"
	"sync"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/bridge/preflight/facts"
	"ctbridge/source"
)

// probeWidth is how many tables are probed with one query as long as all of them can be read.
const probeWidth = 50

// probe reads nothing of each table: only what may not be read, or is not there, has an error.
func (a *asked) probe(ctx context.Context, ids []change.TableID) (map[change.TableID]error, error) {
	denied := make(map[change.TableID]error)
	for start := 0; start < len(ids); start += probeWidth {
		if err := a.probeSome(ctx, ids[start:min(start+probeWidth, len(ids))], denied); err != nil {
			return nil, err
		}
	}
	return denied, nil
}

func (a *asked) probeSome(ctx context.Context, ids []change.TableID, denied map[change.TableID]error) error {
	selects := make([]string, len(ids))
	for i, id := range ids {
		selects[i] = "SELECT 1 AS n FROM " + a.Engine.Table(id) + " WHERE 1 = 0"
	}
	rows, err := a.Engine.Prepare(a.Engine.Union(selects), []change.Column{{Name: "n", Type: change.Type{Kind: change.Int8}}}).Query(ctx)
	if err == nil {
		for rows.Next() { // a query that may not be run can tell only now
			break
		}
		err = rows.Err()
		if closed := rows.Close(); err == nil {
			err = closed
		}
	}
	switch {
	case err == nil || fault.ClassOf(err) != fault.Table:
		return err
	case len(ids) == 1:
		denied[ids[0]] = err
		return nil
	}
	half := len(ids) / 2
	if err := a.probeSome(ctx, ids[:half], denied); err != nil {
		return err
	}
	return a.probeSome(ctx, ids[half:], denied)
}

// deniedChanges are the change tables that may not be read.
func (a *asked) deniedChanges(ctx context.Context) (map[change.TableID]error, error) {
	return a.denied.get(ctx, a.Limit, func(ctx context.Context) (map[change.TableID]error, error) {
		found, err := a.discovery(ctx)
		if err != nil {
			return nil, err
		}
		ids := make([]change.TableID, len(found.Tables))
		for i, t := range found.Tables {
			ids[i] = t.Changes
		}
		return a.probe(ctx, ids)
	})
}

// inspection is what a layout says of a table.
type inspection struct {
	table *source.Captured
	facts facts.ChangeTable
	err   error
}

// inspectors look at tables at the same time.
const inspectors = 3

// inspections asks the layout about every table that may be read, in the order of the discovery; none where it cannot tell.
func (a *asked) inspections(ctx context.Context) ([]inspection, error) {
	return a.inspected.get(ctx, 3*a.Limit, func(ctx context.Context) ([]inspection, error) {
		i, ok := a.Layout.(inspecting)
		if !ok {
			return nil, nil
		}
		found, err := a.discovery(ctx)
		if err != nil {
			return nil, err
		}
		denied, err := a.deniedChanges(ctx)
		if err != nil {
			return nil, err
		}
		var out []inspection
		for _, t := range found.Tables {
			if denied[t.Changes] == nil {
				out = append(out, inspection{table: t})
			}
		}
		a.inspect(ctx, i, out)
		return out, nil
	})
}

func (a *asked) inspect(ctx context.Context, by inspecting, all []inspection) {
	places := make(chan int, len(all))
	for i := range all {
		places <- i
	}
	close(places)
	var work sync.WaitGroup
	for range inspectors {
		work.Go(func() {
			for i := range places {
				limited, cancel := a.limited(ctx)
				all[i].facts, all[i].err = by.Inspect(limited, all[i].table)
				cancel()
			}
		})
	}
	work.Wait()
}

// missing asks the error itself: a layout knows what a table looks like that is not there.
func missing(err error) bool {
	var m interface{ TableMissing() bool }
	return errors.As(err, &m) && m.TableMissing()
}

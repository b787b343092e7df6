package source

import (
	"context"
	"slices"
	"time"

	"ctbridge/bridge/change"
)

// lookBack re-checks the positions that were published not long ago. It returns the position after which the table must be read again, because
// rows have become visible below its position; such rows are published late, never lost.
//
// A check counts rows; only when the count differs from what was published are the positions compared. Checks of a table keep a pause
// that grows with their cost.
func (p *Poller) lookBack(ctx context.Context, t Progress, n *Newest) (change.Position, bool, error) {
	id := t.Captured.Table.ID
	if p.options.Lookback <= 0 || p.checks[id].After(p.turn) || t.Recent.Empty() {
		return "", false, nil
	}
	begin := p.options.Now()
	late, found, err := p.check(ctx, t, n)
	end := p.options.Now()
	p.checks[id] = end.Add(max(p.options.CheckEach, checkShare*end.Sub(begin)))
	p.checkCost = (p.checkCost + end.Sub(begin)) / 2
	return late, found, err
}

// checkShare keeps look-back checks below a twentieth of the time, of each table and of all together.
const checkShare = 20

// takeTurns chooses the tables whose look-back may be checked in this poll: those that have waited longest, as many as a twentieth of the time
// since the last poll is enough for.
func (p *Poller) takeTurns(tables []Progress) {
	if p.options.Lookback <= 0 {
		return // none are checked
	}
	now := p.options.Now()
	var due []time.Time
	for i, t := range tables {
		id := t.Captured.Table.ID
		if _, seen := p.checks[id]; !seen {
			p.checks[id] = now.Add(p.options.CheckEach + time.Duration(i)) // no two at the same moment
		}
		if at := p.checks[id]; !at.After(now) && !t.Recent.Empty() {
			due = append(due, at)
		}
	}
	allowed := int(now.Sub(p.polled)/checkShare/max(p.checkCost, time.Microsecond)) + 1
	p.polled, p.turn = now, now
	if len(due) > allowed {
		slices.SortFunc(due, time.Time.Compare)
		p.turn = due[allowed-1]
	}
}

func (p *Poller) check(ctx context.Context, t Progress, newest *Newest) (change.Position, bool, error) {
	floor := t.Recent.Floor()
	n, err := p.layout.Count(ctx, t.Captured, floor, t.After)
	if err != nil || n == int64(t.Recent.Rows()) {
		return "", false, err
	}
	visible, err := p.layout.Positions(ctx, t.Captured, floor, t.After)
	if err != nil {
		return "", false, err
	}
	published := t.Recent.Counts()
	late, found := firstUnpublished(floor, visible, published)
	if found && !t.Chosen && visible[len(visible)-1] < highestOf(published) {
		// The newest published row has gone and others have come below it: they are not late, the table is another than it was.
		newest.Reset = &Reset{Kind: ResetRewound, From: lastGood(newest.Position, visible[0], t.After), To: t.After}
		return "", false, nil
	}
	return late, found, nil
}

// highestOf is the highest of the published positions: the table's own, unless rows that a filter leaves out followed.
func highestOf(published map[change.Position]int) (highest change.Position) {
	for p := range published {
		highest = max(highest, p)
	}
	return highest
}

// firstUnpublished gives the last published position before the first unpublished row among visible ones, which are in order.
func firstUnpublished(floor change.Position, visible []change.Position, published map[change.Position]int) (change.Position, bool) {
	before := floor
	for i := 0; i < len(visible); {
		next := i
		for next < len(visible) && visible[next] == visible[i] {
			next++
		}
		if next-i > published[visible[i]] {
			return before, true
		}
		before, i = visible[i], next
	}
	return "", false
}

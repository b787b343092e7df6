package source

import (
	"context"
	"time"

	"ctbridge/bridge/change"
)

// ResetKind says in which way a change table no longer holds what it held.
type ResetKind string

// The kinds of resets.
const (
	// ResetRewound: the table goes back below the position and the row at the position has gone. It was restored from an older copy, or emptied
	// or made again with sequences that start anew: reading above the position would wait for ever, or skip rows.
	ResetRewound ResetKind = "source_rewound"
	// ResetPurged: rows that were never published have gone, or may have gone while nobody looked.
	ResetPurged ResetKind = "rows_purged"
)

// Reset is a hole: rows with positions above From, up to To, are gone or can no longer be told from published ones.
type Reset struct {
	Kind     ResetKind
	From, To change.Position
	Hint     string // what the operator can do, where the layout knows better than the runner
}

// watch is what a poll saw of a table.
type watch struct {
	captured *Captured // nil after a problem
	newest   change.Position
	after    change.Position // the position that was asked with
	at       time.Time
	checked  time.Time // when the rows at the low end were last looked at
}

const (
	// awayAfter is how long a table may go without a poll until rows can have come and gone unseen.
	awayAfter = time.Minute
	// behindEach is how often the low end of a table is looked at while rows of it are waiting.
	behindEach = 30 * time.Second
)

// watch notices that a table was emptied, restored, made again or purged past the reader. A table whose newest row is the one at the position
// costs nothing; others are asked for their low end: at the first poll after they were discovered or had a problem, after a pause without polls,
// when the newest row went back, and now and then while rows wait.
func (p *Poller) watch(ctx context.Context, t Progress, n *Newest) error {
	id, now := t.Captured.Table.ID, p.options.Now()
	last, known := p.watched[id]
	away := !known || now.Sub(last.at) > awayAfter
	next := watch{captured: t.Captured, newest: n.Position, after: t.After, at: now, checked: last.checked}
	if t.After == "" || t.Chosen || !p.suspect(t, n.Position, last, away, now) {
		p.watched[id] = next
		return nil
	}
	oldest, has, err := p.layout.Oldest(ctx, t.Captured, t.After)
	if err != nil {
		return err
	}
	f := facts{newest: n.Position, oldest: oldest, has: has, had: !last.without(t.After), unread: max(last.newest, t.Seen), away: away}
	if n.Reset = judge(t, f); n.Reset != nil {
		return nil // not noted: the next poll looks again
	}
	n.Purged = !has
	next.checked = now
	p.watched[id] = next
	return nil
}

// without tells that the last poll saw the table without the row at the position.
func (w *watch) without(after change.Position) bool { return w.newest < after && w.after == after }

// blind notes that a table could not be looked at.
func (p *Poller) blind(id change.TableID) {
	if last, known := p.watched[id]; known {
		last.captured = nil
		p.watched[id] = last
	}
}

// suspect tells whether the low end of a table must be looked at.
func (p *Poller) suspect(t Progress, newest change.Position, last watch, away bool, now time.Time) bool {
	switch {
	case t.remade():
		return true
	case newest == t.After:
		return last.without(t.After)
	case away || last.captured != t.Captured:
		return true
	case newest < t.After:
		return last.newest != newest || last.after != t.After
	case last.without(t.After):
		return true // what has come since then may lie below the position
	}
	return now.Sub(last.checked) >= behindEach && last.newest > t.After
}

// remade tells that the change table is another than the one that the position belongs to.
func (t *Progress) remade() bool {
	return t.Identity != "" && t.Captured.Identity != "" && t.Identity != t.Captured.Identity
}

// facts are what is known of a table's low end.
type facts struct {
	newest, oldest change.Position // of the rows that are there
	has, had       bool            // the row at the position is there, and was at the last poll
	unread         change.Position // the newest row that was ever seen
	away           bool            // there was no poll for a while
}

// judge decides. A purge takes the oldest rows, so that a row at or below the position outlives the row at the position only where the table went
// back. Above the position, rows are known to be lost where one was seen and is gone; they may be lost where the row at the position went while
// nobody looked, unless the first row that is there follows it directly.
func judge(t Progress, f facts) *Reset {
	switch {
	case f.has && f.had:
		return nil
	case f.oldest != "" && f.oldest <= t.After: // the row at the position among them: it had gone, and came again
		return &Reset{Kind: ResetRewound, From: lastGood(f.newest, f.oldest, t.After), To: t.After}
	case f.unread > t.After && (f.oldest == "" || f.oldest > f.unread):
		return &Reset{Kind: ResetPurged, From: t.After, To: max(f.unread, f.oldest)}
	case f.oldest == "" || t.Purged || !f.away || t.remade() || follows(t.After, f.oldest):
		return nil
	}
	return &Reset{Kind: ResetPurged, From: t.After, To: f.oldest}
}

// lastGood is the newest row of a table that went back, or where it has grown beyond the position since then, its oldest.
func lastGood(newest, oldest, after change.Position) change.Position {
	if newest < after {
		return newest
	}
	return oldest
}

// follows tells that no position lies between two: they are numbers of equal width, and the second is the first plus one.
func follows(a, b change.Position) bool {
	if len(a) != len(b) {
		return false
	}
	next := []byte(a)
	for i := len(next) - 1; i >= 0; i-- {
		switch {
		case next[i] < '0' || next[i] > '9':
			return false
		case next[i] < '9':
			next[i]++
			return string(next) == string(b)
		}
		next[i] = '0'
	}
	return false
}

// Forget gives up what was seen of a table: its position has been set anew.
func (p *Poller) Forget(id change.TableID) {
	delete(p.watched, id)
	if b, ok := p.layout.(Bounded); ok {
		b.Forget(id)
	}
}

package sqlservercdc

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/source"
)

// guard watches what no row tells: how far the capture job is, what the clean-up has taken away, and whether the database has gone back.
type guard struct {
	newest source.Statement // the newest entry of the mapping
	from   source.Statement // lsn: the first entry from it on
	since  source.Statement // time of the server's clock: the first entry of it or later

	mu      sync.Mutex
	max     string    // newest LSN, as text; "" = none yet
	moved   time.Time // when it was first seen
	why     string    // what the server says of a capture job that stands still
	read    map[change.TableID]mark
	holes   map[change.TableID]mark // found by the last poll
	margins time.Time               // when margins were measured last
	proven  map[change.TableID]bool // the log goes through what has been read of the table

	saved   []byte // what Memory gave last
	savedAt time.Time
}

func newGuard(engine source.Engine, schema string) guard {
	mapping := engine.Table(change.TableID{Schema: schema, Name: "lsn_time_mapping"})
	newest := "SELECT m.start_lsn FROM " + mapping + " m ORDER BY m.start_lsn DESC " + engine.Limit("1")
	from := "SELECT m.start_lsn, m.tran_end_time FROM " + mapping + " m WHERE m.start_lsn >= " + engine.Param(1, source.ArgBytes) + " ORDER BY m.start_lsn " + engine.Limit("1")
	since := "SELECT m.start_lsn FROM " + mapping + " m WHERE m.tran_end_time >= CONVERT(datetime, " + engine.Param(1, source.ArgText) + ", 121) ORDER BY m.start_lsn " + engine.Limit("1")
	return guard{
		since:  engine.Prepare(since, []change.Column{column("start_lsn", change.Bytes)}),
		newest: engine.Prepare(newest, []change.Column{column("start_lsn", change.Bytes)}),
		from:   engine.Prepare(from, []change.Column{column("start_lsn", change.Bytes), column("tran_end_time", change.DateTime)}),
		read:   make(map[change.TableID]mark),
		proven: make(map[change.TableID]bool),
		holes:  make(map[change.TableID]mark),
	}
}

// Horizon is the end of the newest LSN that the capture job has finished.
func (l *Layout) Horizon(ctx context.Context) (change.Position, error) {
	newest := ""
	err := source.EachRow(ctx, l.guard.newest, 1, func(row []change.Value) error {
		newest = lsnText(row[0].Raw)
		return nil
	})
	if err != nil || newest == "" {
		return "", err
	}
	g := &l.guard
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.max != newest || g.moved.IsZero() {
		g.max, g.moved = newest, l.options.Now()
	}
	return endOf(newest), nil
}

// Guard compares where the tables stand with what the database holds. A table that nothing waits for has been read up to the horizon, whatever its last
// row was: the clean-up never overtakes it (case 23).
func (l *Layout) Guard(ctx context.Context, tables []source.Progress, newest []source.Newest, upto change.Position) (trouble, err error) {
	l.guard.mu.Lock()
	defer l.guard.mu.Unlock()
	entries := make(entries)
	for i, t := range tables {
		if newest[i].Problem != nil || held(t.After) {
			continue
		}
		if newest[i].Reset, err = l.check(ctx, t, lsnOf(upto), entries); err != nil {
			return nil, err
		}
		if newest[i].Reset == nil && newest[i].Position <= t.After {
			l.guard.read[t.Captured.Table.ID] = mark{upto: lsnOf(upto), at: lsnOf(t.After)}
		}
	}
	if err := l.margins(ctx, tables, entries); err != nil {
		return nil, err
	}
	return l.stopped(ctx), nil
}

// check finds gaps (case 25) and databases that have gone back (case 28).
func (l *Layout) check(ctx context.Context, t source.Progress, newest string, known entries) (reset *source.Reset, err error) {
	id := t.Captured.Table.ID
	read, low := l.guard.readUpto(t), lowest(t.Captured)
	if read == "" {
		return nil, nil // never read
	}
	proven := read <= max(newest, low) // a place to begin at need not be a commit, and a new capture instance lies ahead of the capture job
	if !t.Chosen || read != lsnOf(t.After) {
		proven, err = l.prove(ctx, id, read, newest, known)
	}
	delete(l.guard.holes, id)
	switch {
	case err != nil:
		return nil, err
	case !proven:
		return &source.Reset{Kind: source.ResetRewound, From: endOf(min(read, newest)), To: endOf(read), Hint: rewoundHint}, nil
	case read >= low:
		return nil, nil
	}
	l.guard.holes[id] = mark{upto: low, at: lsnOf(t.After)}
	return &source.Reset{Kind: source.ResetPurged, From: t.After, To: startOf(low), Hint: purgedHint}, nil
}

const (
	rewoundHint = "was the database restored, or failed over with loss? source.on_reset: resnapshot loads the table again; a replica that lags behind catches up by itself"
	purgedHint  = "source.on_reset: resnapshot loads the table again, continue goes on behind the hole; for the future, EXEC sys.sp_cdc_change_job @job_type = N'cleanup', " +
		"@retention = <minutes>, and keep both capture instances until the new one is read"
)

// Forget goes on behind a hole that was accepted; of any other position that was set anew nothing is known.
func (l *Layout) Forget(id change.TableID) {
	g := &l.guard
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.proven, id)
	delete(g.read, id)
	if hole, found := g.holes[id]; found {
		g.read[id] = hole
		delete(g.holes, id)
	}
	g.savedAt = time.Time{} // to be remembered with the position
}

// prove tells whether the log of the database goes through what has been read. One that has gone back may have grown past it on another course: then
// the LSN is no longer among its commits. It is looked for once, and again after the log was seen to end before it.
func (l *Layout) prove(ctx context.Context, id change.TableID, read, newest string, known entries) (bool, error) {
	g := &l.guard
	if read > newest {
		delete(g.proven, id)
		return false, nil
	}
	if g.proven[id] {
		return true, nil
	}
	oldest, err := l.entryFrom(ctx, strings.Repeat("0", lsnDigits), known)
	if err != nil {
		return false, err
	}
	first, err := l.entryFrom(ctx, read, known)
	if err != nil {
		return false, err
	}
	g.proven[id] = read < oldest.lsn || first.lsn == read // the clean-up may have taken it
	return g.proven[id], nil
}

// lowest is the LSN from which on the rows of a table are there.
func lowest(t *source.Captured) string { return readerOf(t).physical.parts[0].instance.start }

// stopped tells when the newest LSN has not moved for too long (case 24): the capture job writes one every five minutes even when nothing happens.
func (l *Layout) stopped(ctx context.Context) error {
	g := &l.guard
	if g.moved.IsZero() {
		return nil
	}
	age := l.options.Now().Sub(g.moved)
	l.options.Observer.CaptureAge(age)
	if age < l.options.CaptureTimeout/2 {
		return nil
	}
	first := l.said.anew("stopped", g.max)
	if first {
		g.why = l.diagnosis.why(ctx)
	}
	text := fmt.Sprintf("the newest LSN has not moved for %s", age.Round(time.Second))
	if g.why != "" {
		text += "; " + g.why
	}
	err := fault.New(fault.Retry, "read "+l.options.Schema+".lsn_time_mapping", errors.New(text),
		"is the SQL Server Agent with the capture job running (sys.sp_cdc_help_jobs)? After a fail-over the job must be made on the new primary")
	if first {
		l.log.Warn("the capture job seems to stand still", "error", err)
	}
	if age < l.options.CaptureTimeout {
		return nil
	}
	return err
}

const marginEvery = time.Minute

// margins measures now and then how much time lies between what has been read of each table and what the clean-up has left.
func (l *Layout) margins(ctx context.Context, tables []source.Progress, known entries) error {
	g := &l.guard
	if now := l.options.Now(); now.Sub(g.margins) < marginEvery {
		return nil
	} else {
		g.margins = now
	}
	for _, t := range tables {
		id := t.Captured.Table.ID
		low := lowest(t.Captured)
		read := g.readUpto(t)
		if read == "" {
			continue
		}
		from, err := l.entryFrom(ctx, low, known)
		if err != nil {
			return err
		}
		to, err := l.entryFrom(ctx, read, known)
		if err != nil {
			return err
		}
		if from.at.HasContent() && to.at.HasContent() {
			l.options.Observer.RetentionMargin(id, max(0, time.Duration(to.at.Num-from.at.Num)*time.Second))
		}
	}
	return nil
}

// entry is a line of lsn_time_mapping; its time is what the server's clock showed.
type entry struct {
	lsn string
	at  change.Value
}

// entries are those that were found from an LSN on.
type entries map[string]entry

// entryFrom is the first entry from an LSN on, empty if there is none.
func (l *Layout) entryFrom(ctx context.Context, lsn string, known entries) (entry, error) {
	if e, found := known[lsn]; found {
		return e, nil
	}
	k, err := parse(startOf(lsn))
	if err != nil {
		return entry{}, err
	}
	var e entry
	err = source.EachRow(ctx, l.guard.from, 2, func(row []change.Value) error {
		e = entry{lsnText(row[0].Raw), row[1]}
		return nil
	}, k.lsn)
	if err == nil {
		known[lsn] = e
	}
	return e, err
}

package qlikct

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/source"
)

// controlTables are the writer's own tables, where they exist beside the change tables. Live systems spell their names in lower
// case; the catalog decides.
type controlTables struct {
	mu                 sync.Mutex
	status, partitions *controlTable
	ddl                source.Statement // of attrep_ddl_history
	ddlOf              change.TableID   // the table that ddl was compiled for
	seen               controlIDs
}

type controlIDs struct{ status, partitions, ddl change.TableID }

// controlTable is one control table with its compiled query: the columns task_name and a time.
type controlTable struct {
	id        change.TableID
	statement source.Statement
}

func (c *controlTables) find(ids []change.TableID, schema string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen = controlIDs{}
	for _, id := range ids {
		if schema != "" && !strings.EqualFold(id.Schema, schema) {
			continue
		}
		switch strings.ToLower(id.Name) {
		case "attrep_status":
			c.seen.status = id
		case "attrep_cdc_partitions":
			c.seen.partitions = id
		case "attrep_ddl_history":
			c.seen.ddl = id
		}
	}
}

// Applied reads attrep_status: everything up to source_timestamp_applied has been applied. With several tasks the slowest counts.
func (l *Layout) Applied(ctx context.Context) (change.Position, bool, error) {
	l.control.mu.Lock()
	defer l.control.mu.Unlock()
	at, ok, err := l.readControl(ctx, &l.control.status, l.control.seen.status, "source_timestamp_applied", earliest)
	if !ok || err != nil || at.Year() <= 1970 {
		return "", false, err
	}
	return endOf(at), true, nil
}

// Closed reads attrep_cdc_partitions: the end of the newest partition that is over.
func (l *Layout) Closed(ctx context.Context) (change.Position, bool, error) {
	l.control.mu.Lock()
	defer l.control.mu.Unlock()
	now := time.Now().UTC()
	newest := func(best, at time.Time) time.Time {
		if at.After(best) && !at.After(now) {
			return at
		}
		return best
	}
	at, ok, err := l.readControl(ctx, &l.control.partitions, l.control.seen.partitions, "partition_end_time", newest)
	if !ok || err != nil || at.IsZero() {
		return "", false, err
	}
	return endOf(at.Add(-10 * time.Millisecond)), true, nil
}

func earliest(best, at time.Time) time.Time {
	if best.IsZero() || at.Before(best) {
		return at
	}
	return best
}

// readControl folds the time column over the rows of the chosen task.
func (l *Layout) readControl(ctx context.Context, t **controlTable, id change.TableID, column string, fold func(best, at time.Time) time.Time) (time.Time, bool, error) {
	if id.Name == "" {
		return time.Time{}, false, nil
	}
	if *t == nil || (*t).id != id {
		compiled, err := l.compileControl(ctx, id, column)
		if err != nil || compiled == nil {
			return time.Time{}, false, err
		}
		*t = compiled
	}
	rows, err := (*t).statement.Query(ctx)
	if err != nil {
		return time.Time{}, false, err
	}
	var best time.Time
	found := false
	var arena change.Arena
	row := make([]change.Value, 2)
	for rows.Next() {
		if err := rows.Scan(row, &arena); err != nil {
			return best, false, errors.Join(err, rows.Close())
		}
		if l.options.ControlTask != "" && !strings.EqualFold(string(row[0].Raw), l.options.ControlTask) || !row[1].HasContent() {
			continue
		}
		at, err := timeOf(row[1])
		if err != nil {
			return best, false, errors.Join(err, rows.Close())
		}
		best, found = fold(best, at), true
	}
	return best, found, errors.Join(rows.Err(), rows.Close())
}

func (l *Layout) compileControl(ctx context.Context, id change.TableID, column string) (*controlTable, error) {
	relations, err := l.engine.Describe(ctx, []change.TableID{id})
	if err != nil || len(relations) == 0 {
		return nil, err
	}
	columns := columnsNamed(relations[0].Columns, "task_name", column)
	if columns == nil {
		return nil, nil
	}
	text := "SELECT " + l.engine.Column("c", columns[0]) + ", " + l.engine.Column("c", columns[1]) + " FROM " + l.engine.Table(id) + " c"
	return &controlTable{id: id, statement: l.engine.Prepare(text, columns)}, nil
}

// columnsNamed finds columns in whatever case the catalog has them; nil unless all are there.
func columnsNamed(columns []change.Column, names ...string) []change.Column {
	var out []change.Column
	for _, name := range names {
		for _, c := range columns {
			if strings.EqualFold(c.Name, name) {
				out = append(out, c)
			}
		}
	}
	if len(out) != len(names) {
		return nil
	}
	return out
}

func timeOf(v change.Value) (time.Time, error) {
	if v.Kind == change.KindText {
		parsed, err := change.ParseDateTime(v.Raw)
		if err != nil {
			return time.Time{}, err
		}
		v = parsed
	}
	return time.Unix(v.Num, int64(v.Nanos)).UTC(), nil
}

package qlikct

import (
	"context"
	"strings"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/bridge/preflight/facts"
	"ctbridge/source"
)

// recentRows is how many of the newest rows are looked at for before-images.
const recentRows = 2000

// costs tell what messages lack where a header column is missing.
var costs = []struct {
	name string
	of   func(h *headers) *change.Column
	why  string
}{
	{"change_mask", func(h *headers) *change.Column { return h.mask }, "changed columns are told only where there is a before-image to compare with"},
	{"stream_position", func(h *headers) *change.Column { return h.streamPosition }, "messages carry no stream position"},
	{"transaction_id", func(h *headers) *change.Column { return h.transactionID }, "messages carry no transaction id, event counter and last-event flag"},
	{"timestamp", func(h *headers) *change.Column { return h.timestamp }, "messages carry no time of the change"},
}

// Inspect looks at one change table: its header columns, its newest rows, its ends.
func (l *Layout) Inspect(ctx context.Context, t *source.Captured) (facts.ChangeTable, error) {
	r := readerOf(t)
	out := facts.ChangeTable{Order: []change.Column{*r.h.sequence}, Odd: r.h.odd()}
	for _, cost := range costs {
		if cost.of(r.h) == nil {
			out.Missing = append(out.Missing, facts.Header{Name: l.options.Prefix + cost.name, Why: cost.why})
		}
	}
	pairs, err := l.pairs(ctx, r)
	if err != nil {
		return out, err
	}
	out.Befores = &pairs
	out.Oldest, out.Newest, err = l.ends(ctx, r)
	return out, err
}

// odd tells which header columns cannot hold what they should.
func (h *headers) odd() (odd []facts.Header) {
	check := func(c *change.Column, why string, kinds ...change.Kind) {
		if c == nil {
			return
		}
		for _, kind := range kinds {
			if c.Type.Kind == kind {
				return
			}
		}
		odd = append(odd, facts.Header{Name: c.Name, Why: "it is " + c.Native + why})
	}
	text := []change.Kind{change.String, change.WString, change.Clob, change.NClob}
	check(h.sequence, ", not text of 35 characters: rows cannot be ordered by it", text...)
	check(h.oper, ", not text", text...)
	check(h.operation, ", not text", text...)
	check(h.mask, ", not binary", change.Bytes, change.Blob)
	check(h.timestamp, ", neither a time nor text", append(text, change.DateTime, change.DateTimeTZ)...)
	width := 1
	if h.sequence.Type.Kind == change.WString {
		width = 2
	}
	if n := h.sequence.Type.Length; len(odd) == 0 && n > 0 && n < width*SequenceLength {
		odd = append(odd, facts.Header{Name: h.sequence.Name, Why: "it is " + h.sequence.Native + ", too short for the 35 digits of a change sequence"})
	}
	return odd
}

// pairs counts updates and before-images among the newest rows.
func (l *Layout) pairs(ctx context.Context, r *reader) (facts.Pairs, error) {
	b := &builder{dialect: l.engine, h: r.h, table: l.engine.Table(r.captured.Changes)}
	oper, update := r.h.oper, "U"
	if oper == nil {
		oper, update = r.h.operation, "UPDATE"
	}
	name := l.engine.Quote(oper.Name)
	text := "SELECT " + l.engine.Column("n", *oper) + ", COUNT(*) FROM (SELECT l." + name + " FROM " + b.table + " l ORDER BY " + b.sequence("l") + " DESC " +
		l.engine.Limit(b.param(source.ArgInt)) + ") n GROUP BY n." + name
	var out facts.Pairs
	result := *oper
	result.Nullable = true
	err := source.EachRow(ctx, l.engine.Prepare(text, []change.Column{result, countColumn}), 2, func(row []change.Value) error {
		switch strings.TrimSpace(string(row[0].Raw)) {
		case update:
			out.Updates = row[1].Num
		case "B", "BEFOREIMAGE":
			out.Befores = row[1].Num
		}
		return nil
	}, int64(recentRows))
	return out, err
}

// ends tells when the oldest and the newest row were made; zero for an empty table, or for sequences that hold no time.
func (l *Layout) ends(ctx context.Context, r *reader) (oldest, newest time.Time, err error) {
	b := &builder{dialect: l.engine, h: r.h}
	seq := *r.h.sequence
	seq.Nullable = true
	text := "SELECT MIN(" + b.sequence("l") + "), MAX(" + b.sequence("l") + ") FROM " + l.engine.Table(r.captured.Changes) + " l"
	err = source.EachRow(ctx, l.engine.Prepare(text, []change.Column{seq, seq}), 2, func(row []change.Value) error {
		if first, bad := ParseSequence(string(row[0].Raw)); bad == nil {
			oldest = first.Time
		}
		if last, bad := ParseSequence(string(row[1].Raw)); bad == nil {
			newest = last.Time
		}
		return nil
	})
	return oldest, newest, err
}

// Writer reads the control tables, where there are any. Discover must have run.
func (l *Layout) Writer(ctx context.Context) (out facts.Writer, err error) {
	ids, err := l.engine.Tables(ctx)
	if err != nil {
		return out, err
	}
	var status, suspended change.TableID
	for _, id := range ids {
		if l.options.ControlSchema != "" && !strings.EqualFold(id.Schema, l.options.ControlSchema) {
			continue
		}
		switch strings.ToLower(id.Name) {
		case "attrep_status":
			status = id
		case "attrep_suspended_tables":
			suspended = id
		}
	}
	if status.Name != "" {
		out.Place = status.String()
		err = l.eachControl(ctx, status, func(row []change.Value) {
			out.Tasks = append(out.Tasks, facts.TaskState{Name: text(row[0]), State: text(row[1]), Applied: moment(row[2]), Told: moment(row[3])})
		}, "task_name", "task_status", "source_timestamp_applied", "status_time")
	}
	if err == nil && suspended.Name != "" {
		err = l.eachControl(ctx, suspended, func(row []change.Value) {
			out.Suspended = append(out.Suspended, facts.Suspended{Table: text(row[1]) + "." + text(row[2]), Reason: text(row[3])})
		}, "task_name", "table_owner", "table_name", "suspend_reason")
	}
	return out, err
}

// eachControl reads columns of a control table, the first of them the task's name, for the chosen task. A table that lacks one is left alone.
func (l *Layout) eachControl(ctx context.Context, id change.TableID, use func(row []change.Value), names ...string) error {
	relations, err := l.engine.Describe(ctx, []change.TableID{id})
	if err != nil || len(relations) == 0 {
		return err
	}
	columns := columnsNamed(relations[0].Columns, names...)
	if columns == nil {
		return nil
	}
	list := make([]string, len(columns))
	for i := range columns {
		list[i] = l.engine.Column("c", columns[i])
	}
	statement := l.engine.Prepare("SELECT "+strings.Join(list, ", ")+" FROM "+l.engine.Table(id)+" c", columns)
	return source.EachRow(ctx, statement, len(columns), func(row []change.Value) error {
		if l.options.ControlTask == "" || strings.EqualFold(text(row[0]), l.options.ControlTask) {
			use(row)
		}
		return nil
	})
}

func text(v change.Value) string { return strings.TrimSpace(string(v.Raw)) }

// moment is zero for NULL, for what is no time, and for the writer's "never", 1970.
func moment(v change.Value) time.Time {
	if !v.HasContent() {
		return time.Time{}
	}
	at, err := timeOf(v)
	if err != nil || at.Year() <= 1970 {
		return time.Time{}
	}
	return at
}

// Mend gives the SQL that lets a login read a change table that was not found, on products that hide from a login what it may not read.
func (l *Layout) Mend(_ context.Context, table change.TableID, login string) []string {
	granting, ok := l.engine.(interface {
		Grant(tables []change.TableID, login string) []string
		Hides() bool
	})
	if !ok || !granting.Hides() || login == "" || table.Name == "" {
		return nil
	}
	changes := change.TableID{Schema: table.Schema, Name: table.Name + l.options.Suffix}
	if l.options.Schema != "" {
		changes.Schema = l.options.Schema
	}
	return granting.Grant([]change.TableID{changes}, login)
}

// Package statusview writes the status of a task as text for people: aligned columns that fit a terminal, what has failed first.
package statusview

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"ctbridge/bridge"
	"ctbridge/metrics"
)

// Options say how it is written.
type Options struct {
	Color bool
	Width int    // columns of the terminal; 0 = it goes elsewhere: nothing is cut
	Rows  int    // tables at most; 0 = all
	Where string // who told it: an address, or where the checkpoint is
}

const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
)

var stateColors = map[string]string{
	metrics.StateOK: green, metrics.StateStandby: green, metrics.StateStarting: yellow, metrics.StateDegraded: red, metrics.StateAway: red, metrics.StateStuck: red, metrics.StateStopped: red,
	string(bridge.TableStreaming): green, string(bridge.TableLoading): yellow, string(bridge.TableFailed): red, string(bridge.TableMissing): red,
	string(bridge.TableRewound): red, string(bridge.TableCaptureStopped): yellow,
	metrics.NeighbourReachable: green, metrics.NeighbourUnknown: yellow,
}

// view is one writing.
type view struct {
	strings.Builder
	Options
	status *metrics.Status
}

// Write writes the status.
func Write(w io.Writer, s *metrics.Status, o Options) error {
	v := &view{Options: o, status: s}
	v.head()
	if s.State != metrics.StateStopped {
		v.totals()
		v.members()
	}
	v.tables()
	_, err := io.WriteString(w, v.String())
	return err
}

// paint colours a text that is safe already.
func (v *view) paint(color, text string) string {
	if !v.Color || color == "" || text == "" {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

func (v *view) head() {
	s := v.status
	state := map[string]string{metrics.StateOK: "all fine", metrics.StateStandby: "standing by", metrics.StateStopped: "not running"}[s.State]
	fmt.Fprintf(v, "%s  %s", v.paint(bold, clean(s.Task)), v.paint(stateColors[s.State], cmp.Or(state, clean(s.State))))
	if s.State == metrics.StateStopped {
		v.WriteByte('\n')
	} else {
		fmt.Fprintf(v, "  %s\n", v.paint(dim, fmt.Sprintf("%s, version %s, up %s", clean(v.Where), clean(s.Build.Version), span(s.Uptime))))
	}
	for _, problem := range s.Problems {
		fmt.Fprintf(v, "  %s\n", v.paint(red, clean(problem)))
	}
	if s.State == metrics.StateStopped {
		written := ""
		if at := s.Checkpoint.CommittedAt; at != nil {
			written = ", written " + span(s.Now.Sub(*at).Seconds()) + " ago"
		}
		fmt.Fprintf(v, "%s\n", "checkpoint in "+clean(v.Where)+written)
	}
}

func (v *view) totals() {
	s, t := v.status, &v.status.Totals
	v.fact("rows/s", fmt.Sprintf("%s, %s events since the start", rate(t.RowsPerSecond), count(t.Events)))
	switch {
	case t.Lag == nil:
		v.fact("lag", "not known yet")
	case *t.Lag == 0:
		v.fact("lag", "none")
	default:
		v.fact("lag", fmt.Sprintf("%s (%s)", span(*t.Lag), clean(t.LagTable)))
	}
	last := "nothing committed so far"
	if at := s.Checkpoint.CommittedAt; at != nil {
		last = "last commit " + span(s.Now.Sub(*at).Seconds()) + " ago"
	}
	if age := s.Checkpoint.Age; age != nil && *age > 0 {
		last = fmt.Sprintf("changes have been waiting for %s, %s", span(*age), last)
	}
	v.fact("checkpoint", last)
	v.fact("horizon", cmp.Or(clean(s.Horizon), "-"))
	if t.LateRows+t.DroppedRows+t.Gaps > 0 {
		v.fact("look at", fmt.Sprintf("%d late rows, %d dropped rows, %d gaps", t.LateRows, t.DroppedRows, t.Gaps))
	}
	for _, n := range s.Neighbours {
		text := v.paint(cmp.Or(stateColors[n.State], red), clean(n.State))
		if n.State == metrics.NeighbourAway && n.Since != nil {
			text += " for " + span(s.Now.Sub(*n.Since).Seconds())
		}
		v.fact(clean(n.Name), text)
		v.problem("  ", n.Error, s)
	}
}

// fact is a line of the head; the text is safe.
func (v *view) fact(name, text string) { fmt.Fprintf(v, "%-12s%s\n", name, text) }

func (v *view) problem(indent string, p *metrics.Problem, s *metrics.Status) {
	if p == nil {
		return
	}
	if p.ResolvedAt != nil {
		fmt.Fprintf(v, "%s%s\n", indent, v.paint(dim, fmt.Sprintf("recovered %s ago: %s", span(s.Now.Sub(*p.ResolvedAt).Seconds()), clean(p.Message))))
		return
	}
	fmt.Fprintf(v, "%s%s\n", indent, v.paint(red, clean(p.Message)))
	if p.Hint != "" {
		fmt.Fprintf(v, "%s%s\n", indent, "what helps: "+clean(p.Hint))
	}
}

// members shows who serves the task, where that is more than one process.
func (v *view) members() {
	s := v.status
	if len(s.Replicas) < 2 && len(s.Shards) < 2 {
		return
	}
	for _, shard := range s.Shards {
		text := clean(shard.State) + " on " + cmp.Or(clean(shard.Replica), "nobody")
		if shard.Tables != nil {
			text += fmt.Sprintf(", %d tables", *shard.Tables)
		}
		v.fact(fmt.Sprintf("shard %d", shard.Number), text)
	}
	for _, r := range s.Replicas {
		if len(r.Shards) == 0 {
			v.fact("standing by", clean(r.ID))
		}
	}
}

// severity orders the tables: what has failed first.
var severity = map[string]int{string(bridge.TableRewound): -5, string(bridge.TableCaptureStopped): -1, string(bridge.TableFailed): -4, string(bridge.TableMissing): -3, string(bridge.TableLoading): -2}

func (v *view) tables() {
	tables := slices.Clone(v.status.Tables)
	slices.SortStableFunc(tables, func(a, b metrics.TableStatus) int { return severity[a.State] - severity[b.State] })
	left := 0
	if v.Rows > 0 && len(tables) > v.Rows {
		left, tables = len(tables)-v.Rows, tables[:v.Rows]
	}
	if len(tables) == 0 {
		fmt.Fprintf(v, "\nno tables\n")
		return
	}
	v.WriteByte('\n')
	v.grid(v.columns(), tables)
	if left > 0 {
		fmt.Fprintf(v, "%s\n", v.paint(dim, fmt.Sprintf("and %d more tables", left)))
	}
}

// column is one column of the tables.
type column struct {
	title string
	right bool
	most  int // characters at most on a terminal, 0 = what is left
	cell  func(t *metrics.TableStatus) string
}

func (v *view) columns() []column {
	name := column{title: "TABLE", most: 28, cell: func(t *metrics.TableStatus) string { return clean(t.Table) }}
	version := column{title: "VER", cell: func(t *metrics.TableStatus) string {
		return map[bool]string{true: "-", false: fmt.Sprint(t.Version)}[t.Version == 0]
	}, right: true, most: 5}
	position := column{title: "POSITION", cell: func(t *metrics.TableStatus) string { return cmp.Or(clean(t.Position), "-") }}
	if v.status.State == metrics.StateStopped {
		return []column{name, version,
			{title: "AGE", right: true, most: 9, cell: v.age},
			{title: "LOAD", most: 10, cell: func(t *metrics.TableStatus) string { return loadWord(t.Load) }}, position}
	}
	return []column{name,
		{title: "STATE", most: 9, cell: func(t *metrics.TableStatus) string { return clean(t.State) }}, version,
		{title: "ROWS/S", right: true, most: 8, cell: func(t *metrics.TableStatus) string { return rate(t.RowsPerSecond) }},
		{title: "LAG", right: true, most: 9, cell: func(t *metrics.TableStatus) string { return optional(t.Lag) }}, position}
}

// age is for how long a table's entry has not changed.
func (v *view) age(t *metrics.TableStatus) string {
	if t.CommittedAt == nil {
		return "-"
	}
	return span(v.status.Now.Sub(*t.CommittedAt).Seconds())
}

// grid writes rows below titles, and below a row what its table complains of.
func (v *view) grid(columns []column, tables []metrics.TableStatus) {
	widths := make([]int, len(columns))
	for i, c := range columns {
		widths[i] = len(c.title)
		for j := range tables {
			widths[i] = max(widths[i], utf8.RuneCountInString(c.cell(&tables[j])))
		}
		if v.Width > 0 && c.most > 0 {
			widths[i] = min(widths[i], max(c.most, len(c.title)))
		}
	}
	if last := len(columns) - 1; v.Width > 0 {
		used := 0
		for _, w := range widths[:last] {
			used += w + 2
		}
		widths[last] = min(widths[last], max(v.Width-used, len(columns[last].title)))
	}
	v.line(columns, widths, dim, func(c column) string { return c.title })
	for i := range tables {
		t := &tables[i]
		v.line(columns, widths, "", func(c column) string { return c.cell(t) })
		if text := loadLine(t.Load); text != "" {
			fmt.Fprintf(v, "  %s\n", v.paint(yellow, text))
		}
		v.problem("  ", t.Error, v.status)
	}
}

func (v *view) line(columns []column, widths []int, color string, text func(column) string) {
	var out strings.Builder
	for i, c := range columns {
		cell := shorten(text(c), widths[i], v.Width > 0)
		pad := strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(cell)))
		painted := v.paint(cmp.Or(color, stateColors[cell]), cell)
		switch {
		case c.right:
			out.WriteString(pad + painted)
		case i == len(columns)-1:
			out.WriteString(painted)
		default:
			out.WriteString(painted + pad)
		}
		if i < len(columns)-1 {
			out.WriteString("  ")
		}
	}
	fmt.Fprintln(v, out.String())
}

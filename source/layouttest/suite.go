// Package layouttest is the conformance suite of the layout seam. Run holds what every layout promises, over a fixture that writes changes in the layout's own
// way; RunQlik adds what only Qlik change tables have, over every engine.
package layouttest

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/source"
	"ctbridge/source/qlikct"
	"ctbridge/test/qlikwriter"
)

// Bench is an engine on an empty scratch database, with a writer to it.
type Bench struct {
	Engine source.Engine
	Writer *qlikwriter.Writer
}

// RunQlik runs the checks of the seam and those of layout qlik alone; open gives each its own scratch database.
func RunQlik(t *testing.T, open func(t *testing.T) Bench) {
	t.Helper()
	t.Run("Seam", func(t *testing.T) { Run(t, func(t *testing.T) Fixture { return Qlik(open(t)) }) })
	checks := []struct {
		name string
		run  func(t *testing.T, b *bench)
	}{
		{"Case43_ReplayedRowsAreNotMultiplied", checkReplayed},
		{"Case42_PrefixSuffixAndSchema", checkPrefixSuffix},
		{"Case42_WithoutSequence", checkWithoutSequence},
		{"Case42_Truncate", checkTruncate},
		{"HeaderSubsets", checkHeaderSubsets},
		{"NullSequence", checkNullSequence},
		{"Orphans", checkOrphans},
		{"Case48_MaskByteOrder", checkMaskOrder},
		{"OneMaskDecidesNothing", checkOneMaskDecidesNothing},
		{"BadMask", checkBadMask},
		{"AbsentColumns", checkAbsent},
		{"Keys", checkKeys},
		{"PositionsCountPeek", checkPositions},
		{"ControlTables", checkControlTables},
		{"Filter", checkFilter},
		{"FilterOfReplayedRows", checkFilterReplayed},
		{"FilterAndOrphans", checkFilterOrphans},
		{"WrongFilter", checkFilterWrong},
	}
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			b := open(t)
			c.run(t, &bench{T: t, Bench: b, ctx: context.Background()})
		})
	}
}

type bench struct {
	*testing.T
	Bench
	ctx context.Context
}

// All chooses every table.
type All struct{}

// Match is always true.
func (All) Match(change.TableID) bool { return true }

// Exact names nothing.
func (All) Exact() []change.TableID { return nil }

// inSchema chooses every table of the scratch schema: a server may hold others.
type inSchema string

func (s inSchema) Match(id change.TableID) bool { return id.Schema == string(s) }
func (inSchema) Exact() []change.TableID        { return nil }

// Only chooses exactly named tables.
type Only []change.TableID

// Match finds the table in the list.
func (o Only) Match(id change.TableID) bool {
	for _, want := range o {
		if want == id {
			return true
		}
	}
	return false
}

// Exact gives the list.
func (o Only) Exact() []change.TableID { return o }

func (b *bench) layout(o qlikct.Options) *qlikct.Layout {
	if o.Tables == nil {
		o.Tables = inSchema(b.Writer.Schema)
	}
	return qlikct.New(b.Engine, o, slog.New(slog.DiscardHandler))
}

func (b *bench) discover(l *qlikct.Layout) source.Discovery {
	b.Helper()
	d, err := l.Discover(b.ctx)
	if err != nil {
		b.Fatalf("discover: %v", err)
	}
	return d
}

// only discovers exactly one readable table.
func (b *bench) only(l *qlikct.Layout) *source.Captured {
	b.Helper()
	d := b.discover(l)
	if len(d.Tables) != 1 || len(d.Problems) != 0 {
		b.Fatalf("discovered %d tables, problems %v; want one table", len(d.Tables), d.Problems)
	}
	return d.Tables[0]
}

func (b *bench) problem(l *qlikct.Layout, want string) {
	b.Helper()
	d := b.discover(l)
	if len(d.Tables) != 0 || len(d.Problems) != 1 {
		b.Fatalf("discovered %d tables and problems %v; want one problem", len(d.Tables), d.Problems)
	}
	if err := d.Problems[0].Err; fault.ClassOf(err) != fault.Table || !strings.Contains(err.Error(), want) {
		b.Fatalf("problem %q (class %s), want class table with %q", err, fault.ClassOf(err), want)
	}
}

const end = change.Position("99999999999999999999999999999999999")

// readAll reads a table in pages of a size and returns one line per event; failed is the error that ended the reading.
func (b *bench) readAll(l *qlikct.Layout, t *source.Captured, size int) (lines []string, failed error) {
	b.Helper()
	after := change.Position("")
	for pages := 0; ; pages++ {
		if pages > 1000 {
			b.Fatal("the pages do not end")
		}
		page, err := l.Page(b.ctx, t, after, end, size)
		if err != nil {
			b.Fatalf("page after %s: %v", after, err)
		}
		for i := range page.Events {
			lines = append(lines, Line(&page.Events[i]))
			after = page.Events[i].Position
		}
		if page.Failed != nil || !page.More {
			return lines, page.Failed
		}
	}
}

func (b *bench) want(got []string, want ...string) {
	b.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		b.Fatalf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// Line shows an event: number of its sequence, operation, row before and after.
func Line(ev *change.Event) string {
	if ev.Op == change.OpRefresh {
		return LineAs("", ev)
	}
	return LineAs(strings.TrimLeft(string(ev.Position[16:]), "0"), ev)
}

// LineAs shows an event under a number of the caller's.
func LineAs(number string, ev *change.Event) string {
	line := strings.TrimLeft(number+" "+ev.Op.String(), " ")
	if ev.Before != nil {
		line += " -(" + show(ev.Table, ev.Before) + ")"
	}
	if ev.After != nil {
		line += " +(" + show(ev.Table, ev.After) + ")"
	}
	return line
}

func show(t *change.Table, row []change.Value) string {
	out := make([]string, len(row))
	for i, v := range row {
		switch v.Kind {
		case change.KindNull:
			out[i] = "null"
		case change.KindAbsent:
			out[i] = "absent"
		default:
			text, err := change.AppendText(nil, v, t.Columns[i].Type)
			if err != nil {
				text = []byte(err.Error())
			}
			out[i] = string(text)
		}
	}
	return strings.Join(out, ",")
}

// insert, update and so on make rows of the parcel fixture.
func row(oper string, n int, values ...any) qlikwriter.Row {
	return qlikwriter.Row{Seq: qlikwriter.Seq(n), Oper: oper, Tx: fmt.Sprintf("tx%d", n), Values: values}
}

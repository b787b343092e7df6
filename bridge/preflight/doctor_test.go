package preflight

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"ctbridge/bridge"
	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/fault"
	"ctbridge/bridge/preflight/facts"
	"ctbridge/bridge/values"
	"ctbridge/source"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAllIsWell(t *testing.T) {
	t.Parallel()
	w, _, _, _ := world()
	r := Doctor(t.Context(), w)
	if r.Level != Pass || r.Failed+r.Warnings > 0 || r.Passed != len(r.Findings) || r.Passed < 20 || r.Deaf {
		t.Errorf("%+v", r)
	}
	areas := map[Area]bool{}
	for _, f := range r.Findings {
		areas[f.Area] = true
		if f.Check == "" || f.Subject == "" || f.Seen == "" || f.Do != "" {
			t.Errorf("%+v", f)
		}
	}
	if len(areas) != len(Areas()) {
		t.Errorf("%v", areas)
	}
}

// The same world gives the same document, whatever answers first.
func TestReportsAreStable(t *testing.T) {
	t.Parallel()
	text := func() string {
		w, e, _, _ := world()
		e.denied = map[change.TableID]error{changesOf(parcel): denied("no"), changesOf(depot): denied("no")}
		out, err := json.Marshal(Doctor(t.Context(), w))
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	first := text()
	for range 20 {
		if again := text(); again != first {
			t.Fatalf("%s\n%s", first, again)
		}
	}
}

func TestSourceChecks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		check  string
		change func(w *World, e *engine, l *layout)
		want   []want
	}{
		"reached": {"reach", func(*World, *engine, *layout) {}, []want{{Pass, "fake", "Fake 7, database shop, login reader", ""}}},
		"away": {"reach", func(_ *World, e *engine, _ *layout) {
			e.err = fault.New(fault.Fatal, "connect", errors.New("refused"), "check the password")
		}, []want{{Fail, "fake", "connect: refused", "check the password"}}},
		"nothing found": {"discover", func(_ *World, _ *engine, l *layout) { l.found = source.Discovery{} }, []want{{Fail, "qlik", "no change table", "source.tables"}}},
		"search fails": {"discover", func(_ *World, _ *engine, l *layout) { l.err, l.mend = denied("no catalog"), []string{"EXEC enable"} },
			[]want{{Fail, "qlik", "no catalog", "EXEC enable"}}},
		"clocks agree": {"clock", func(*World, *engine, *layout) {}, []want{{Pass, "fake", "differ by less than 5s", ""}}},
		"clock ahead":  {"clock", func(_ *World, e *engine, _ *layout) { e.server.Clock = now.Add(90 * time.Second) }, []want{{Warn, "fake", "1m30s ahead of this", "NTP"}}},
		"clock behind": {"clock", func(_ *World, e *engine, _ *layout) { e.server.Clock = now.Add(-time.Hour) }, []want{{Warn, "fake", "1h0m behind this", "NTP"}}},
		"no clock":     {"clock", func(_ *World, e *engine, _ *layout) { e.server.Clock = time.Time{} }, nil},
		"status policy without table": {"horizon", func(w *World, _ *engine, _ *layout) { w.Task.Horizon.Policy = source.PolicyStatus },
			[]want{{Fail, "policy status", "no control table", "policy: auto"}}},
		"status policy":  {"horizon", func(w *World, _ *engine, l *layout) { w.Task.Horizon.Policy, l.applied = source.PolicyStatus, "20" }, []want{{Pass, "policy status", "", ""}}},
		"auto by status": {"horizon", func(_ *World, _ *engine, l *layout) { l.applied = "20" }, []want{{Pass, "policy auto", "attrep_status", ""}}},
		"auto by fence":  {"horizon", func(*World, *engine, *layout) {}, []want{{Pass, "policy auto", "writers are open", ""}}},
		"settle":         {"horizon", func(w *World, _ *engine, _ *layout) { w.Task.Horizon.Policy = source.PolicySettle }, []want{{Pass, "policy settle", "settle 1s", ""}}},
		"snapshot policy": {"horizon", func(w *World, e *engine, _ *layout) {
			w.Task.Horizon.Policy, w.Engine = source.PolicySnapshot, &e.basic
		}, []want{{Fail, "policy snapshot", "does not tell", "auto"}}},
		"no control": {"writer", func(*World, *engine, *layout) {}, []want{{Pass, "control tables", "not there", ""}}},
		"writer moves": {"writer", func(_ *World, _ *engine, l *layout) {
			l.writer = facts.Writer{Place: "attrep_status", Tasks: []facts.TaskState{{Name: "a", State: "CHANGE PROCESSING", Applied: now.Add(-3 * time.Second)}}}
		}, []want{{Pass, "a", "CHANGE PROCESSING: applied up to 3s ago", ""}}},
		"writer stands, another never began": {"writer", func(_ *World, _ *engine, l *layout) {
			l.writer = facts.Writer{Place: "s", Tasks: []facts.TaskState{{Name: "a", Applied: now.Add(-time.Hour)}, {Name: "b"}}}
		}, []want{{Warn, "a", "1h0m ago", "max_wait 1m0s"}, {Warn, "b", "nothing has been applied", ""}}},
		"suspended": {"writer", func(_ *World, _ *engine, l *layout) {
			l.writer = facts.Writer{Place: "s", Suspended: []facts.Suspended{{Table: "dbo.x", Reason: "bad row"}}}
		}, []want{{Warn, "dbo.x", "bad row", "resume"}}},
		"short retention and a remark": {"writer", func(_ *World, _ *engine, l *layout) {
			l.writer = facts.Writer{Place: "s", Retention: time.Hour, Remarks: []facts.Remark{{Subject: "jobs", Bad: true, Seen: "no capture job", SQL: []string{"EXEC add"}}}}
		}, []want{{Fail, "jobs", "no capture job", "EXEC add"}, {Warn, "clean-up", "only 1h0m", "@retention = 4320"}}},
		"long retention": {"writer", func(_ *World, _ *engine, l *layout) { l.writer = facts.Writer{Place: "s", Retention: 72 * time.Hour} }, []want{{Pass, "clean-up", "3d0h", ""}}},
		"no writer open": {"transactions", func(*World, *engine, *layout) {}, []want{{Pass, "open transactions", "no writer", ""}}},
		"writers hidden": {"transactions", func(_ *World, e *engine, _ *layout) { e.blind = denied("no right") }, []want{{Warn, "open transactions", "may not list them: query: no right", "GRANT SEE TO reader"}}},
		"open writers": {"transactions", func(_ *World, e *engine, _ *layout) {
			e.open = []facts.Transaction{{Who: "bob", Age: 2 * time.Hour, What: "idle", Stop: "KILL 1"}, {Who: "?", Age: -1, Stop: "KILL 2"}}
		}, []want{{Warn, "bob", "open for 2h0m, idle: new rows are held back", "KILL 1"}, {Warn, "?", "may not see", "KILL 2"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, e, l, _ := world()
			c.change(w, e, l)
			compare(t, name, examine(t, w, AreaSource, c.check), c.want)
		})
	}
}

func TestTableChecks(t *testing.T) {
	t.Parallel()
	set := func(l *layout, id change.TableID, f func(*facts.ChangeTable)) {
		table := l.facts[id]
		f(&table)
		l.facts[id] = table
	}
	for name, c := range map[string]struct {
		check  string
		change func(w *World, e *engine, l *layout)
		want   []want
	}{
		"found": {"found", func(*World, *engine, *layout) {}, []want{{Pass, "2 tables", "are found", ""}}},
		"missing and misspelled": {"found", func(w *World, _ *engine, l *layout) {
			l.found.Problems = []*change.TableError{{Table: scan, Err: absent{}}, {Table: change.TableID{Name: "odd"}, Err: errors.New("odd type")}}
			l.mend = []string{"GRANT it"}
			w.Task.Unused = func(ids []change.TableID) []string { return []string{"shop.x*", string(rune('0' + len(ids)))} }
		}, []want{{Fail, "shop.scan", "gone", "GRANT it"}, {Fail, "odd", "odd type", ""}, {Warn, "shop.x*", "no table comes from", "spelling"}, {Warn, "4", "", ""}, {Pass, "2 tables", "", ""}}},
		"rights": {"rights", func(*World, *engine, *layout) {}, []want{{Pass, "2 tables", "change tables may be read", ""}}},
		"denied": {"rights", func(_ *World, e *engine, _ *layout) {
			e.denied = map[change.TableID]error{changesOf(parcel): denied("no SELECT")}
		},
			[]want{{Fail, "shop.parcel__ct", "no SELECT", `GRANT SELECT ON "shop"."parcel__ct" TO reader`}, {Pass, "1 table", "", ""}}},
		"denied base": {"rights", func(w *World, e *engine, _ *layout) {
			w.Task.Load = bridge.LoadInitial
			e.denied = map[change.TableID]error{parcel: denied("no SELECT")}
		}, []want{{Pass, "2 tables", "", ""}, {Fail, "shop.parcel", "full load", `GRANT SELECT ON "shop"."parcel" TO reader`}, {Pass, "1 table", "base tables", ""}}},
		"rows": {"rows", func(_ *World, _ *engine, l *layout) {
			l.newest = map[change.TableID]source.Newest{parcel: {Problem: denied("NULL sequence")}}
		}, []want{{Fail, "shop.parcel", "NULL sequence", ""}, {Pass, "1 table", "empty", ""}}},
		"no filters": {"filters", func(*World, *engine, *layout) {}, nil},
		"filters":    {"filters", func(_ *World, _ *engine, l *layout) { l.found.Tables[0].Filter = "status <> 'x'" }, []want{{Pass, "1 table", "takes their filters", ""}}},
		"bad filter": {"filters", func(_ *World, _ *engine, l *layout) {
			l.found.Tables[0].Filter, l.filter = "stat = 1", denied("no such column: stat")
		},
			[]want{{Fail, "shop.depot", "no such column: stat", ""}}},
		"rules of columns": {"messages", func(w *World, _ *engine, _ *layout) {
			w.Values = rulesOf(t, values.Rule{Name: "columns.rules[0]", Exclude: []values.Pattern{pattern("id")}})
		}, []want{{Fail, "shop.depot", "id", ""}, {Fail, "shop.parcel", "id", ""}}},
		"columns": {"columns", func(_ *World, _ *engine, l *layout) {
			set(l, parcel, func(f *facts.ChangeTable) {
				f.Missing, f.Odd = []facts.Header{{Name: "h__mask", Why: "no mask"}}, []facts.Header{{Name: "h__seq", Why: "it is int"}}
			})
			set(l, depot, func(f *facts.ChangeTable) { f.Captured, f.Mend = []string{"weight"}, []string{"EXEC second"} })
		}, []want{{Warn, "shop.depot", "weight", "EXEC second"}, {Fail, "shop.parcel__ct", "h__seq: it is int", ""}, {Warn, "shop.parcel__ct", "h__mask: no mask", "Store Changes"}}},
		"collations": {"columns", func(_ *World, e *engine, _ *layout) {
			e.collation = map[change.TableID]string{changesOf(parcel): "Latin1", changesOf(depot): "Greek"}
		},
			[]want{{Pass, "2 tables", "", ""}, {Warn, "2 tables", "Greek in shop.depot__ct; Latin1 in shop.parcel__ct", "one collation"}}},
		"before-images": {"before_images", func(_ *World, _ *engine, l *layout) {
			set(l, parcel, func(f *facts.ChangeTable) { f.Befores = &facts.Pairs{Updates: 10} })
			set(l, depot, func(f *facts.ChangeTable) { f.Befores = &facts.Pairs{Updates: 10, Befores: 5} })
		}, []want{{Warn, "shop.depot__ct", "5 of 10 recent updates", ""}, {Warn, "shop.parcel__ct", "none of 10 recent updates", "before-images"}}},
		"before-images unknown": {"before_images", func(_ *World, _ *engine, l *layout) {
			set(l, parcel, func(f *facts.ChangeTable) { f.Befores = &facts.Pairs{} })
			set(l, depot, func(f *facts.ChangeTable) { f.Befores = nil })
		}, []want{{Pass, "1 table", "no recent update", ""}}},
		"key": {"key", func(_ *World, _ *engine, l *layout) { l.found.Tables = append(l.found.Tables, captured(scan)) },
			[]want{{Warn, "shop.scan", "tells no key", "source.keys"}, {Pass, "2 tables", "", ""}}},
		"index": {"index", func(_ *World, e *engine, _ *layout) {
			e.indexes = map[change.TableID][]facts.Index{changesOf(parcel): {{Name: "i", Columns: []string{"oper", "seq"}}, {Name: "none"}}}
			e.rows = map[change.TableID]int64{changesOf(parcel): 70000, changesOf(depot): 5}
		}, []want{{Warn, "shop.depot__ct", "about 5 rows, which is cheap", "CREATE INDEX"}, {Warn, "shop.parcel__ct", "about 70000 rows", `CREATE INDEX ON "shop"."parcel__ct"(seq)`}}},
		"retention": {"retention", func(*World, *engine, *layout) {}, []want{{Pass, "2 tables", "2d0h old; about 50000 new rows a day in all", ""}}},
		"never cleaned": {"retention", func(_ *World, _ *engine, l *layout) {
			set(l, parcel, func(f *facts.ChangeTable) { f.Oldest = now.Add(-100 * 24 * time.Hour) })
		}, []want{{Warn, "shop.parcel__ct", "100 days old; it has about 50000 rows, 500 a day", "behind the checkpoint"}, {Pass, "1 table", "", ""}}},
		"shared topic": {"messages", func(w *World, _ *engine, _ *layout) {
			w.Outputs[0].Topic = func(change.TableID) (string, error) { return "all", nil }
		}, []want{{Fail, "shop.parcel", "would share it with", "kafka.topic"}, {Pass, "1 table", "", ""}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, e, l, _ := world()
			c.change(w, e, l)
			compare(t, name, examine(t, w, AreaTable, c.check), c.want)
		})
	}
}

type absent struct{}

func (absent) Error() string      { return "gone" }
func (absent) TableMissing() bool { return true }

// An engine that tells nothing is asked nothing; the rest is examined all the same.
func TestEngineWithoutAnswers(t *testing.T) {
	t.Parallel()
	w, e, _, _ := world()
	w.Engine = &e.basic
	r := Doctor(t.Context(), w)
	if r.Level != Pass {
		t.Errorf("%+v", r)
	}
}

// A neighbour that hangs costs its limit and hides nobody.
func TestHangingNeighbour(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, _, _, _ := world()
		w.Kafka = func(ctx context.Context, _ map[string]change.TopicRole) (*facts.Cluster, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}
		began := time.Now()
		r := Doctor(t.Context(), w)
		if took := time.Since(began); took != w.Limit {
			t.Errorf("it took %s", took)
		}
		compare(t, "kafka", only(r, Fail), []want{{Fail, "brokers", "no answer within 5s", ""}})
		if r.Deaf || r.Passed < 15 {
			t.Errorf("%+v", r)
		}
	})
}

func only(r *Report, level Level) (out []Finding) {
	for _, f := range r.Findings {
		if f.Level == level {
			out = append(out, f)
		}
	}
	return out
}

// Even one that does not listen to its context ends nowhere but in its own finding.
func TestDeafNeighbour(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, _, _, _ := world()
		release := make(chan struct{})
		w.Checkpoint = func(context.Context) (*Kept, error) { <-release; return nil, errors.New("late") }
		r := Doctor(t.Context(), w)
		close(release)
		if got := only(r, Fail); len(got) == 0 || !strings.Contains(got[0].Seen+got[len(got)-1].Seen, "no answer within") {
			t.Errorf("%+v", got)
		}
	})
}

// blocking is an engine whose list of transactions never comes, whatever its context says.
type blocking struct {
	*engine
	release chan struct{}
}

func (b *blocking) Transactions(context.Context, time.Duration) ([]facts.Transaction, error) {
	<-b.release
	return nil, nil
}

func TestBlockedCheckIsLeftBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, e, _, _ := world()
		b := &blocking{e, make(chan struct{})}
		w.Engine = b
		r := Doctor(t.Context(), w)
		close(b.release)
		compare(t, "blocked", only(r, Fail), []want{{Fail, "-", "no answer within", ""}})
		if r.Passed < 20 {
			t.Errorf("%+v", r)
		}
	})
}

func TestLevelOfReports(t *testing.T) {
	t.Parallel()
	for level, list := range map[Level][]Level{Pass: {Pass}, Warn: {Pass, Warn}, Fail: {Warn, Fail, Pass}} {
		var all []Finding
		for _, l := range list {
			all = append(all, Finding{Level: l})
		}
		if r := newReport("t", all, false); r.Level != level || r.Passed+r.Warnings+r.Failed != len(list) {
			t.Errorf("%+v", r)
		}
	}
}

func TestNobodyAnswers(t *testing.T) {
	t.Parallel()
	w, e, _, _ := world()
	away := fault.New(fault.Retry, "", errors.New("away"), "")
	e.err, w.Registry = away, &registry{err: away}
	w.Kafka = func(context.Context, map[string]change.TopicRole) (*facts.Cluster, error) { return nil, away }
	if r := Doctor(t.Context(), w); !r.Deaf || r.Failed < 3 {
		t.Errorf("%+v", r)
	}
	w, e, _, _ = world()
	e.err = away
	if r := Doctor(t.Context(), w); r.Deaf || len(only(r, Pass)) < 5 {
		t.Errorf("%+v", r)
	}
}

// Every check has a row in the documentation, under its area.
func TestDocumentation(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/doctor.md")
	if err != nil {
		t.Fatal(err)
	}
	checks := (&doctor{}).checks()
	if len(checks) < 25 {
		t.Fatalf("%d checks", len(checks))
	}
	for _, c := range checks {
		_, section, found := strings.Cut(string(text), "\n### "+string(c.area)+"\n")
		section, _, _ = strings.Cut(section, "\n### ")
		if !found || !strings.Contains(section, "\n| "+c.check+" | ") {
			t.Errorf("%s/%s is not documented", c.area, c.check)
		}
	}
}

func TestMemory(t *testing.T) {
	t.Parallel()
	for limit, level := range map[int64]Level{0: Pass, 64 << 20: Fail, 128 << 20: Warn, 256 << 20: Pass} {
		w, _, _, _ := world()
		w.Task.MemoryLimit = limit
		if got := examine(t, w, AreaConfig, "memory"); len(got) != 1 || got[0].Level != level {
			t.Errorf("%d: %+v", limit, got)
		}
	}
}

func TestCheckpointChecks(t *testing.T) {
	t.Parallel()
	kept := func(change func(s *checkpoint.State)) func(w *World, l *layout) {
		return func(w *World, _ *layout) {
			s := &checkpoint.State{Tables: map[changeID]*checkpoint.Table{}, Task: checkpoint.Task{Position: "20"}}
			for _, id := range []changeID{parcel, depot} {
				table := s.Table(id)
				table.Restructure(columns(1), nil, "")
				table.Identity, table.Position, table.Seen = "i-"+id.Name, map[changeID]changePosition{parcel: "20", depot: "10"}[id], "20"
			}
			change(s)
			w.Checkpoint = func(context.Context) (*Kept, error) {
				return &Kept{State: s, Place: "topic cp", Saved: now.Add(-time.Minute)}, nil
			}
		}
	}
	nothing := func(*checkpoint.State) {}
	for name, c := range map[string]struct {
		check  string
		change func(w *World, l *layout)
		want   []want
	}{
		"unreadable": {"read", func(w *World, _ *layout) {
			w.Checkpoint = func(context.Context) (*Kept, error) { return nil, denied("format version 9") }
		}, []want{{Fail, "checkpoint", "format version 9", "ask for it"}}},
		"empty": {"read", func(*World, *layout) {}, []want{{Pass, "topic cp", "has not run", ""}}},
		"read":  {"read", kept(nothing), []want{{Pass, "topic cp", "2 tables, written 1m0s ago, position 20", ""}}},
		"same":  {"source", kept(nothing), []want{{Pass, "2 tables", "", ""}}},
		"all others": {"source", kept(func(s *checkpoint.State) { s.Tables[parcel].Identity, s.Tables[depot].Identity = "x", "y" }),
			[]want{{Warn, "shop.depot, shop.parcel", "every change table is another", "source.dsn"}}},
		"one made anew": {"source", kept(func(s *checkpoint.State) { s.Tables[parcel].Identity = "x" }), []want{{Warn, "shop.parcel", "made anew", "on_reset"}}},
		"vanished":      {"tables", kept(func(s *checkpoint.State) { s.Table(scan) }), []want{{Warn, "shop.scan", "no longer", ""}}},
		"there":         {"tables", kept(nothing), []want{{Pass, "2 tables", "", ""}}},
		"positions":     {"position", kept(nothing), []want{{Pass, "2 tables", "nothing", ""}}},
		"purged": {"position", func(w *World, l *layout) {
			kept(nothing)(w, l)
			l.newest[parcel], l.oldest, l.has = source.Newest{Position: "50"}, "40", false
		}, []want{{Fail, "shop.parcel", "above 20, up to 40", "source.on_reset is fail"}, {Pass, "1 table", "", ""}}},
		"went back": {"position", func(w *World, l *layout) {
			kept(nothing)(w, l)
			l.newest[parcel], l.oldest, l.has = source.Newest{Position: "15"}, "11", false
		}, []want{{Fail, "shop.parcel", "went back", "restored"}, {Pass, "1 table", "", ""}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, _, l, _ := world()
			c.change(w, l)
			compare(t, name, examine(t, w, AreaCheckpoint, c.check), c.want)
		})
	}
}

type (
	changeID       = change.TableID
	changePosition = change.Position
)

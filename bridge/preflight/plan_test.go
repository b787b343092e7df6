package preflight

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"ctbridge/bridge"
	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/envelope"
	"ctbridge/bridge/preflight/facts"
	"ctbridge/bridge/values"
	"ctbridge/source"
)

func TestPlanOfNewTables(t *testing.T) {
	t.Parallel()
	w, e, l, c := world()
	c.Topics = []facts.Topic{{Name: "shop.parcel", New: map[string]string{"partitions": "3"}}}
	w.Task.Load = bridge.LoadInitial
	e.rows[parcel] = 4000
	l.found.Problems = []*change.TableError{{Table: scan, Err: errors.New("odd type")}}
	w.Task.Unused = func([]change.TableID) []string { return []string{"shop.x*"} }
	p, err := NewPlan(t.Context(), w)
	if err != nil || len(p.Tables) != 2 || len(p.LeftOut) != 2 || len(p.Unknown) != 0 || len(p.Topics) != 1 || p.Topics[0].Name != "cp" {
		t.Fatalf("%+v, %v", p, err)
	}
	table := p.Tables[1]
	if table.Table != "shop.parcel" || table.VersionNow != 0 || table.Version != 1 || table.Start.Kind != "load" || !table.Load.Loads || table.Load.Rows != 4000 {
		t.Errorf("%+v", table)
	}
	o := table.Outputs[0]
	if o.Topic.Exists || o.Topic.Settings["partitions"] != "3" || !reflect.DeepEqual(o.Key, KeyPlan{"primary_key", []string{"id"}, false}) || o.Schemas[0].State != SchemaNewSubject {
		t.Errorf("%+v", o)
	}
}

func TestPlanOfKnownTables(t *testing.T) {
	t.Parallel()
	w, _, _, _ := world()
	r := &registry{newest: map[string]string{"shop.parcel-value": `{"type":"record","name":"parcel","fields":[{"name":"y","type":"string"}]}`},
		refuses: map[string][]string{"shop.parcel-value": {"y was removed"}}, known: map[string]int{"shop.depot-value": 3}}
	w.Registry = r
	s := &checkpoint.State{Tables: map[changeID]*checkpoint.Table{}}
	old := columns(1)
	old[1].Native = "varchar(10)"
	old = append(old, change.Column{Name: "gone", Native: "int", Nullable: true})
	s.Table(parcel).Restructure(old, nil, "")
	s.Table(parcel).Position = "19"
	s.Table(depot).Restructure(columns(1), nil, "")
	s.Table(depot).Load = &checkpoint.Load{State: checkpoint.LoadRunning, Reason: "initial", Total: 100, Rows: 40}
	w.Checkpoint = func(context.Context) (*Kept, error) { return &Kept{State: s}, nil }
	p, err := NewPlan(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	loading, altered := p.Tables[0], p.Tables[1]
	if loading.Version != 1 || loading.VersionNow != 1 || loading.Start.Kind != "load" || loading.Load.Rows != 60 || loading.Outputs[0].Schemas[0].ID != 3 {
		t.Errorf("%+v", loading)
	}
	if altered.VersionNow != 1 || altered.Version != 2 || altered.Start != (Start{"resume", "19", "the checkpoint"}) || altered.Load.Loads {
		t.Errorf("%+v", altered)
	}
	if want := []Change{{Changed, "status", "varchar(10)", "varchar(20)"}, {Removed, "gone", "int", ""}}; !reflect.DeepEqual(altered.Columns, want) {
		t.Errorf("%+v", altered.Columns)
	}
	v := altered.Outputs[0].Schemas[0]
	if v.Compatible || v.Level != "BACKWARD" || v.State != SchemaNewVersion || !reflect.DeepEqual(v.Changes, []Change{{Added, "x", "", "int"}, {Removed, "y", "string", ""}}) {
		t.Errorf("%+v", v)
	}
}

func TestStarts(t *testing.T) {
	t.Parallel()
	at := time.Date(2031, 5, 10, 0, 0, 0, 0, time.UTC)
	for kind, start := range map[string]bridge.StartAt{"earliest": {}, "now": {Now: true}, "sequence": {After: "5"}, "time": {Time: at}} {
		w, _, _, _ := world()
		w.Task.Start = start
		p, err := NewPlan(t.Context(), w)
		if err != nil || p.Tables[0].Start.Kind != kind || p.Tables[0].Load.Loads {
			t.Errorf("%s: %+v, %v", kind, p, err)
		}
	}
}

// Without the source there is no plan; without the others there is one with gaps.
func TestPlanWithoutNeighbours(t *testing.T) {
	t.Parallel()
	w, _, l, _ := world()
	away := errors.New("away")
	w.Kafka = func(context.Context, map[string]change.TopicRole) (*facts.Cluster, error) { return nil, away }
	w.Checkpoint = func(context.Context) (*Kept, error) { return nil, away }
	p, err := NewPlan(t.Context(), w)
	if err != nil || len(p.Tables) != 2 || len(p.Unknown) != 2 || !strings.HasPrefix(p.Unknown[0], "checkpoint: away") || p.Tables[0].Outputs[0].Topic.Name != "shop.depot" {
		t.Errorf("%+v, %v", p, err)
	}
	l.err = away
	w.Layout = l
	if _, err := NewPlan(t.Context(), w); !errors.Is(err, away) {
		t.Error(err)
	}
}

func TestVersionsOfFormerStructures(t *testing.T) {
	t.Parallel()
	c := captured(parcel)
	c.Former = []source.Former{{Columns: columns(1)[:1]}}
	if v := nextVersion(nil, c, ""); v != 2 {
		t.Errorf("version %d", v)
	}
}

func TestMappedNames(t *testing.T) {
	t.Parallel()
	m := &message{
		version: change.NewTable(change.TableID{Schema: "shop", Name: "odd name"}, 1, nil), topic: "shop.odd_u0020name", schemas: []schema{{}},
		declared: &envelope.Declaration{Value: &envelope.Node{Shape: envelope.Record, Fields: []envelope.Field{
			{Name: "id", Node: &envelope.Node{}},
			{Name: "data", Node: &envelope.Node{Shape: envelope.Embedded, Inner: &envelope.Node{Shape: envelope.Record, Fields: []envelope.Field{{Name: "a b", AvroName: "a_u0020b", Node: &envelope.Node{}}}}}},
		}}},
	}
	if got := m.mappings(); !reflect.DeepEqual(got, []Mapping{{"topic", "odd name", "odd_u0020name"}, {"field", "a b", "a_u0020b"}}) {
		t.Errorf("%+v", got)
	}
}

// What the rules of columns leave out is in no message, and new rules are a new version.
func TestPlanUnderRulesOfColumns(t *testing.T) {
	t.Parallel()
	w, _, _, _ := world()
	w.Values = rulesOf(t, values.Rule{Name: "columns.rules[0]", Exclude: []values.Pattern{pattern("status")}})
	s := &checkpoint.State{Tables: map[changeID]*checkpoint.Table{}}
	s.Table(parcel).Restructure(columns(1), nil, "")
	s.Table(parcel).Position = "19"
	w.Checkpoint = func(context.Context) (*Kept, error) { return &Kept{State: s}, nil }
	a := &asked{World: w}
	messages, err := a.compiled(t.Context())
	if err != nil || len(messages) != 2 {
		t.Fatal(messages, err)
	}
	for i, version := range []int{1, 2} {
		if m := messages[i]; m.err != nil || len(m.version.Columns) != 1 || m.version.Version != version || m.recordKey()[0] != "id" {
			t.Errorf("%+v", m)
		}
	}
}

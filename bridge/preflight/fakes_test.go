package preflight

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"ctbridge/bridge"
	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/envelope"
	"ctbridge/bridge/fault"
	"ctbridge/bridge/preflight/facts"
	"ctbridge/bridge/values"
	"ctbridge/source"
)

var now = time.Date(2031, 5, 10, 16, 0, 0, 0, time.UTC)

// basic is an engine that tells nothing beyond its seam.
type basic struct {
	source.Engine

	err    error                    // of everything
	denied map[change.TableID]error // what may not be read
}

func (e *basic) Name() string                   { return "fake" }
func (e *basic) Ping(context.Context) error     { return e.err }
func (e *basic) Quote(name string) string       { return `"` + name + `"` }
func (e *basic) Table(id change.TableID) string { return e.Quote(id.Schema) + "." + e.Quote(id.Name) }
func (e *basic) Union(selects []string) string  { return strings.Join(selects, " UNION ALL ") }
func (e *basic) Prepare(text string, _ []change.Column) source.Statement {
	return &statement{e, text}
}

type statement struct {
	engine *basic
	text   string
}

func (s *statement) Query(context.Context, ...any) (source.Rows, error) {
	for id, err := range s.engine.denied {
		if strings.Contains(s.text, s.engine.Table(id)) {
			return nil, err
		}
	}
	return noRows{}, s.engine.err
}

type noRows struct{}

func (noRows) Next() bool                               { return false }
func (noRows) Scan([]change.Value, *change.Arena) error { return nil }
func (noRows) Err() error                               { return nil }
func (noRows) Close() error                             { return nil }

// engine tells everything.
type engine struct {
	basic

	server  facts.Server
	indexes map[change.TableID][]facts.Index
	open    []facts.Transaction
	blind   error // of Transactions
	rows    map[change.TableID]int64

	collation map[change.TableID]string // of the sequence
}

func (e *engine) Server(context.Context) (facts.Server, error) { return e.server, e.err }
func (e *engine) Grant(tables []change.TableID, login string) (out []string) {
	for _, id := range tables {
		out = append(out, "GRANT SELECT ON "+e.Table(id)+" TO "+login)
	}
	return out
}
func (e *engine) Indexes(context.Context, []change.TableID) (map[change.TableID][]facts.Index, error) {
	return e.indexes, nil
}
func (e *engine) MakeIndex(table change.TableID, columns []string) string {
	return "CREATE INDEX ON " + e.Table(table) + "(" + strings.Join(columns, ",") + ")"
}
func (e *engine) Transactions(context.Context, time.Duration) ([]facts.Transaction, error) {
	if e.blind != nil {
		return nil, e.blind
	}
	return e.open, e.err
}
func (e *engine) Watch(login string) []string { return []string{"GRANT SEE TO " + login} }
func (e *engine) Rows(context.Context, []change.TableID) (map[change.TableID]int64, error) {
	return e.rows, nil
}
func (e *engine) Collations(_ context.Context, ids []change.TableID) (map[change.TableID]map[string]string, error) {
	out := make(map[change.TableID]map[string]string)
	for _, id := range ids {
		out[id] = map[string]string{"seq": e.collation[id], "other": id.Name}
	}
	return out, nil
}
func (e *engine) Fence(context.Context) (source.Fence, error) { return source.Fence{}, e.err }

// layout finds what it is told to find.
type layout struct {
	source.Layout

	found   source.Discovery
	err     error
	newest  map[change.TableID]source.Newest
	oldest  change.Position // of every table
	has     bool            // the row at the position
	facts   map[change.TableID]facts.ChangeTable
	writer  facts.Writer
	applied change.Position
	mend    []string
	filter  error // of every filter
}

func (l *layout) Discover(context.Context) (source.Discovery, error) { return l.found, l.err }
func (l *layout) Detect(_ context.Context, tables []*source.Captured) ([]source.Newest, error) {
	out := make([]source.Newest, len(tables))
	for i, t := range tables {
		out[i] = l.newest[t.Table.ID]
	}
	return out, l.err
}
func (l *layout) Oldest(context.Context, *source.Captured, change.Position) (change.Position, bool, error) {
	return l.oldest, l.has, nil
}
func (l *layout) Count(context.Context, *source.Captured, change.Position, change.Position) (int64, error) {
	return 0, l.filter
}
func (l *layout) Inspect(_ context.Context, t *source.Captured) (facts.ChangeTable, error) {
	return l.facts[t.Table.ID], nil
}
func (l *layout) Writer(context.Context) (facts.Writer, error) { return l.writer, l.err }
func (l *layout) Applied(context.Context) (change.Position, bool, error) {
	return l.applied, l.applied != "", nil
}
func (l *layout) Closed(context.Context) (change.Position, bool, error) { return "", false, nil }
func (l *layout) Mend(context.Context, change.TableID, string) []string { return l.mend }

var (
	parcel = change.TableID{Schema: "shop", Name: "parcel"}
	depot  = change.TableID{Schema: "shop", Name: "depot"}
	scan   = change.TableID{Schema: "shop", Name: "scan"} // has no key
)

func changesOf(id change.TableID) change.TableID {
	return change.TableID{Schema: id.Schema, Name: id.Name + "__ct"}
}

func columns(key int) []change.Column {
	return []change.Column{
		{Name: "id", Type: change.Type{Kind: change.Int4}, Native: "int", KeyPosition: key},
		{Name: "status", Type: change.Type{Kind: change.String, Length: 20}, Native: "varchar(20)", Nullable: true},
	}
}

func captured(id change.TableID) *source.Captured {
	key := 1
	if id == scan {
		key = 0
	}
	return &source.Captured{Table: change.NewTable(id, 1, columns(key)), Changes: changesOf(id), Identity: "i-" + id.Name}
}

// tree is an envelope whose messages are the row.
type tree struct{}

func (tree) Declare(t *change.Table) (*envelope.Declaration, error) {
	d := &envelope.Declaration{Value: &envelope.Node{Name: t.ID.Name}}
	if len(t.Key) > 0 {
		d.Key = &envelope.Node{Name: t.ID.Name + "Key"}
	}
	return d, nil
}
func (tree) Expand(dst []*change.Event, ev *change.Event) []*change.Event { return append(dst, ev) }

// registering is a format that registers a schema with one field for each character of the record's name.
type registering struct{ book *Book }

func (f registering) Value(ctx context.Context, topic string, n *envelope.Node) (envelope.Encoder, error) {
	_, err := f.book.Register(ctx, topic+"-value", `{"type":"record","name":"`+n.Name+`","fields":[{"name":"x","type":"int"}]}`)
	return nil, err
}
func (f registering) Key(ctx context.Context, topic string, n *envelope.Node) (envelope.Encoder, error) {
	_, err := f.book.Register(ctx, topic+"-key", `"`+n.Name+`"`)
	return nil, err
}

func (registering) Subject(topic, part string, _ *envelope.Node) (string, error) {
	return topic + "-" + part, nil
}

// registry is what the registry says, by subject.
type registry struct {
	mode    string
	err     error
	known   map[string]int      // subjects whose schema is registered
	newest  map[string]string   // subjects with another schema
	refuses map[string][]string // subjects that take no other
}

func (r *registry) Ping(context.Context) error           { return r.err }
func (r *registry) Mode(context.Context) (string, error) { return r.mode, nil }
func (r *registry) Lookup(_ context.Context, subject, _ string) (int, bool, error) {
	id, found := r.known[subject]
	return id, found, nil
}
func (r *registry) Newest(_ context.Context, subject string) (int, string, bool, error) {
	text, found := r.newest[subject]
	return 7, text, found, nil
}
func (r *registry) Compatible(_ context.Context, subject, _ string) (bool, []string, error) {
	reasons, refused := r.refuses[subject]
	return !refused, reasons, nil
}
func (r *registry) Level(context.Context, string) (string, bool, error) {
	return "BACKWARD", false, nil
}

// world is a task whose neighbours are all well: two tables, one topic each.
func world() (*World, *engine, *layout, *facts.Cluster) {
	e := &engine{server: facts.Server{Version: "Fake 7", Login: "reader", Database: "shop", Clock: now}}
	seq := change.Column{Name: "seq"}
	l := &layout{
		found:  source.Discovery{Tables: []*source.Captured{captured(depot), captured(parcel)}},
		newest: map[change.TableID]source.Newest{parcel: {Position: "20"}, depot: {Position: "10"}},
		facts:  map[change.TableID]facts.ChangeTable{},
		has:    true,
	}
	e.indexes, e.rows = map[change.TableID][]facts.Index{}, map[change.TableID]int64{}
	for _, id := range []change.TableID{parcel, depot, scan} {
		l.facts[id] = facts.ChangeTable{Order: []change.Column{seq}, Befores: &facts.Pairs{Updates: 10, Befores: 10}, Oldest: now.Add(-48 * time.Hour), Newest: now}
		e.indexes[changesOf(id)] = []facts.Index{{Name: "i", Columns: []string{"seq", "oper"}}}
		e.rows[changesOf(id)] = 50000
	}
	c := &facts.Cluster{Brokers: []string{"a:9092", "b:9092", "c:9092"}, Oldest: "3.7", Newest: "3.8", Settings: map[string]string{"message.max.bytes": "1048588"}}
	book := &Book{}
	w := &World{
		Task: Task{
			Name: "orders", Engine: "fake", Layout: "qlik", Horizon: source.HorizonOptions{Policy: source.PolicyAuto, Settle: time.Second, MaxWait: time.Minute}, Lookback: 10 * time.Minute,
			Load: bridge.LoadNone, OnReset: bridge.ResetFail, Brokers: []string{"a:9092"}, Principal: "task",
			Kafka: KafkaTask{Version: "3.6.0", MaxMessageBytes: 1 << 20, MaxLetterBytes: 8 << 20, TransactionTimeout: time.Minute, CreateTopics: true}, Topics: map[string]change.TopicRole{"cp": change.CheckpointTopic}, RegistryURL: "http://r",
			MemoryBytes: 64 << 20,
		},
		Engine: e, Layout: l, Book: book,
		Outputs: []bridge.Output{{Name: "qlik", Envelope: tree{}, Format: registering{book}, KeyMode: envelope.KeyPrimaryKey,
			Topic: func(id change.TableID) (string, error) { return id.String(), nil }}},
		Kafka: func(_ context.Context, topics map[string]change.TopicRole) (*facts.Cluster, error) {
			out := *c
			for _, name := range slices.Sorted(keysOf(topics)) {
				if !slices.ContainsFunc(c.Topics, func(t facts.Topic) bool { return t.Name == name }) {
					out.Topics = append(out.Topics, healthy(name, topics[name]))
				}
			}
			return &out, nil
		},
		Checkpoint: func(context.Context) (*Kept, error) {
			return &Kept{State: &checkpoint.State{Tables: map[change.TableID]*checkpoint.Table{}}, Place: "topic cp"}, nil
		},
		Registry: &registry{mode: "READWRITE"}, Now: func() time.Time { return now }, Limit: 5 * time.Second,
	}
	return w, e, l, c
}

func healthy(name string, role change.TopicRole) facts.Topic {
	t := facts.Topic{Name: name, Role: role, Exists: true, Partitions: 3, Replicas: 3, InSync: 3,
		Settings: map[string]string{"max.message.bytes": "1048588", "cleanup.policy": "delete", "min.insync.replicas": "2"}}
	if role != change.DataTopic {
		t.Settings["cleanup.policy"] = "compact"
	}
	return t
}

func keysOf[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// examine runs all checks and gives the findings of one.
func examine(t *testing.T, w *World, area Area, check string) []Finding {
	t.Helper()
	var out []Finding
	for _, f := range Doctor(t.Context(), w).Findings {
		if f.Area == area && f.Check == check {
			out = append(out, f)
		}
	}
	return out
}

// want says what one finding must look like.
type want struct {
	level         Level
	subject, seen string // seen: a part of it
	remedy        string // a part of what to do, the SQL or the command
}

func compare(t *testing.T, name string, got []Finding, wanted []want) {
	t.Helper()
	if len(got) != len(wanted) {
		t.Errorf("%s: %d findings, want %d: %+v", name, len(got), len(wanted), got)
		return
	}
	for i, w := range wanted {
		f := got[i]
		remedy := f.Do + "\n" + strings.Join(f.SQL, "\n") + "\n" + strings.Join(f.Commands, "\n")
		if f.Level != w.level || f.Subject != w.subject || !strings.Contains(f.Seen, w.seen) || !strings.Contains(remedy, w.remedy) {
			t.Errorf("%s: %+v\nwant %+v", name, f, w)
		}
	}
}

// pattern names one column.
type pattern string

func (p pattern) Match(column string) bool      { return column == string(p) }
func (p pattern) Exact() (name string, ok bool) { return string(p), true }
func (p pattern) String() string                { return string(p) }

func rulesOf(t *testing.T, rule values.Rule) *values.Rules {
	t.Helper()
	rules, err := values.New([]values.Rule{rule}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

func denied(text string) error {
	return fault.New(fault.Table, "query", errors.New(text), "ask for it")
}

package preflight

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"

	"ctbridge/bridge"
	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/envelope"
	"ctbridge/bridge/preflight/facts"
	"ctbridge/source"
)

// asked holds the answers that checks share.
type asked struct {
	*World
	server    shared[facts.Server]
	found     shared[source.Discovery]
	window    shared[*source.Window]
	kept      shared[*Kept]
	messages  shared[[]message]
	bounds    []schema // of transactions; there when messages are
	cluster   shared[*facts.Cluster]
	ping      shared[struct{}] // of the registry
	rows      shared[map[change.TableID]int64]
	denied    shared[map[change.TableID]error] // change tables that may not be read
	inspected shared[[]inspection]
}

// discovery finds the tables. Their versions are those that a start would give them.
func (a *asked) discovery(ctx context.Context) (source.Discovery, error) {
	return a.found.get(ctx, a.Limit, func(ctx context.Context) (source.Discovery, error) {
		if err := a.Engine.Ping(ctx); err != nil {
			return source.Discovery{}, err
		}
		return a.Layout.Discover(ctx)
	})
}

var errNoVersion = errors.New("the server tells nothing about itself")

func (a *asked) serverFacts(ctx context.Context) (facts.Server, error) {
	return a.server.get(ctx, a.Limit, func(ctx context.Context) (facts.Server, error) {
		if err := a.Engine.Ping(ctx); err != nil {
			return facts.Server{}, err
		}
		s, ok := a.Engine.(serving)
		if !ok {
			return facts.Server{}, errNoVersion
		}
		before := a.Now()
		out, err := s.Server(ctx)
		out.Read = before.Add(a.Now().Sub(before) / 2)
		return out, err
	})
}

// login is whom grants go to.
func (a *asked) login(ctx context.Context) string {
	s, err := a.serverFacts(ctx)
	if err != nil || s.Login == "" {
		return "ctbridge"
	}
	return s.Login
}

// polled looks once for new rows, as the first poll of a start does; Newest is parallel to the tables of the discovery.
func (a *asked) polled(ctx context.Context) (*source.Window, error) {
	return a.window.get(ctx, 2*a.Limit, func(ctx context.Context) (*source.Window, error) {
		found, err := a.discovery(ctx)
		if err != nil {
			return nil, err
		}
		state := a.state(ctx)
		poller := source.NewPoller(a.Engine, a.Layout, source.Options{Horizon: a.Task.Horizon, Parallel: 1, Now: a.Now})
		if err := poller.Recall(state.Layout); err != nil {
			return nil, err
		}
		progress := make([]source.Progress, len(found.Tables))
		for i, t := range found.Tables {
			progress[i] = progressOf(t, state.Tables[t.Table.ID])
		}
		return poller.Poll(ctx, progress)
	})
}

// progressOf is where a start would go on with a table.
func progressOf(t *source.Captured, s *checkpoint.Table) source.Progress {
	p := source.Progress{Captured: t, Recent: &checkpoint.Window{}}
	if s == nil {
		return p
	}
	load := s.Load
	p.Chosen = load != nil && load.Fence == s.Position && (load.Fresh || load.State == checkpoint.LoadNone)
	if load.Holds() {
		p.After, p.Chosen = "~", true
		return p
	}
	p.After, p.Recent, p.Identity, p.Seen, p.Purged = s.Position, &s.Window, s.Identity, s.Seen, s.Purged
	return p
}

func (a *asked) checkpoint(ctx context.Context) (*Kept, error) {
	return a.kept.get(ctx, a.Limit, a.Checkpoint)
}

// state is the checkpoint, or an empty one where it cannot be read: that is a finding of its own.
func (a *asked) state(ctx context.Context) *checkpoint.State {
	kept, err := a.checkpoint(ctx)
	if err != nil || kept.State == nil {
		return &checkpoint.State{Tables: make(map[change.TableID]*checkpoint.Table)}
	}
	return kept.State
}

// message is what a table becomes in one output.
type message struct {
	table    *source.Captured
	version  *change.Table // as the next start would number it
	output   *bridge.Output
	topic    string
	declared *envelope.Declaration
	schemas  []schema
	err      error
}

// schema is a schema that a start would register, if the registry has it not.
type schema struct{ part, subject, text string }

// compiled compiles the messages of all tables in all outputs, as a start would.
func (a *asked) compiled(ctx context.Context) ([]message, error) {
	return a.messages.get(ctx, 2*a.Limit, func(ctx context.Context) ([]message, error) {
		found, err := a.discovery(ctx)
		if err != nil {
			return nil, err
		}
		state := a.state(ctx)
		places := bridge.Places(a.Outputs, a.Task.OwnTopics, found, state)
		var out []message
		for _, t := range found.Tables {
			version, err := a.version(t, state.Tables[t.Table.ID])
			for i := range a.Outputs {
				m := message{table: t, version: version, output: &a.Outputs[i], err: err}
				if place := places[t.Table.ID]; place.Err != nil {
					m.err = place.Err
				} else if m.topic = place.Topics[i]; err == nil {
					m.err = a.compile(ctx, &m)
				}
				out = append(out, m)
			}
		}
		return out, a.compileBounds(ctx)
	})
}

// version is the next version of a table under the rules of columns; where these cannot be applied, without them.
func (a *asked) version(t *source.Captured, state *checkpoint.Table) (*change.Table, error) {
	if err := a.Values.Check(t.Table); err != nil {
		return t.Table, err
	}
	plan, err := a.Values.Plan(t.Table)
	if err != nil {
		return t.Table, err
	}
	columns := t.Table.Columns
	if plan != nil {
		columns = plan.Table().Columns
	}
	return change.NewTable(t.Table.ID, nextVersion(state, t, plan.Shape()), columns), nil
}

// nextVersion is the table version after a start; shape is what the rules of columns make of it.
func nextVersion(state *checkpoint.Table, t *source.Captured, shape string) int {
	switch now := versionNow(state); {
	case now == 0:
		return 1 + len(t.Former)
	case reflect.DeepEqual(state.Newest().Columns, t.Table.Columns) && state.Newest().Shape == shape:
		return now
	default:
		return now + 1
	}
}

// versionNow is the table version in the checkpoint, 0 = none.
func versionNow(state *checkpoint.Table) int {
	if state == nil || state.Newest() == nil {
		return 0
	}
	return state.Newest().Version
}

func (a *asked) compile(ctx context.Context, m *message) (err error) {
	if m.declared, err = m.output.Envelope.Declare(m.version); err != nil {
		return err
	}
	a.Book.take()
	if _, err := m.output.Format.Value(ctx, m.topic, m.declared.Value); err != nil {
		return err
	}
	m.note("value", a.Book.take())
	if m.output.KeyFormat == nil || m.declared.Key == nil {
		return nil
	}
	_, err = m.output.KeyFormat.Key(ctx, m.topic, m.declared.Key)
	m.note("key", a.Book.take())
	return err
}

// compileBounds compiles the messages that tell where transactions begin and end.
func (a *asked) compileBounds(ctx context.Context) error {
	for i := range a.Outputs {
		o := &a.Outputs[i]
		if o.Bounds == nil {
			continue
		}
		a.Book.take()
		declared, m := o.Bounds.DeclareBound(0), message{}
		if _, err := o.Format.Value(ctx, o.BoundsTopic, declared.Value); err != nil {
			return err
		}
		m.note("value", a.Book.take())
		if _, err := o.Format.Key(ctx, o.BoundsTopic, declared.Key); err != nil {
			return err
		}
		m.note("key", a.Book.take())
		a.bounds = append(a.bounds, m.schemas...)
	}
	return nil
}

func (m *message) note(part string, entries []Entry) {
	for _, e := range entries {
		m.schemas = append(m.schemas, schema{part: part, subject: e.Subject, text: e.Schema})
	}
}

// brokers asks the cluster about every topic that a start would use.
func (a *asked) brokers(ctx context.Context) (*facts.Cluster, error) {
	return a.cluster.get(ctx, 4*a.Limit, func(ctx context.Context) (*facts.Cluster, error) {
		topics := make(map[string]change.TopicRole)
		messages, _ := a.compiled(ctx) // a source that is away is a finding of its own
		for _, m := range messages {
			if m.topic != "" {
				topics[m.topic] = change.DataTopic
			}
		}
		maps.Copy(topics, a.Task.Topics)
		ctx, cancel := context.WithTimeoutCause(ctx, a.Limit, slow(a.Limit))
		defer cancel()
		return a.Kafka(ctx, topics)
	})
}

// pinged asks the registry for a sign of life.
func (a *asked) pinged(ctx context.Context) error {
	_, err := a.ping.get(ctx, a.Limit, func(ctx context.Context) (struct{}, error) { return struct{}{}, a.Registry.Ping(ctx) })
	return err
}

// sizes estimates rows of change tables and base tables; nothing where the engine cannot.
func (a *asked) sizes(ctx context.Context) map[change.TableID]int64 {
	counts, _ := a.rows.get(ctx, a.Limit, func(ctx context.Context) (map[change.TableID]int64, error) {
		c, ok := a.Engine.(counting)
		if !ok {
			return nil, nil
		}
		found, err := a.discovery(ctx)
		if err != nil {
			return nil, err
		}
		var ids []change.TableID
		for _, t := range found.Tables {
			ids = append(ids, t.Changes, t.Table.ID)
		}
		slices.SortFunc(ids, compareIDs)
		return c.Rows(ctx, slices.Compact(ids))
	})
	return counts
}

func compareIDs(a, b change.TableID) int {
	if a == b {
		return 0
	}
	if a.Schema < b.Schema || a.Schema == b.Schema && a.Name < b.Name {
		return -1
	}
	return 1
}

// limited bounds one question of a check.
func (a *asked) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, a.Limit, slow(a.Limit))
}

// recordKey is the columns that the record key is made of; none where it has none or is made of something else.
func (m *message) recordKey() []string {
	columns := m.keyColumns()
	switch m.output.KeyMode {
	case envelope.KeyColumns:
		if len(columns) > 0 {
			return columns
		}
	case envelope.KeyPrimaryKey:
	default:
		return nil
	}
	for _, i := range m.version.Key {
		columns = append(columns, m.version.Columns[i].Name)
	}
	return columns
}

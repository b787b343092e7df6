package preflight

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"ctbridge/bridge"
	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/envelope"
	"ctbridge/bridge/preflight/facts"
	"ctbridge/source"
)

// Plan is what a start of a task would bring. Its JSON is API: see docs/doctor.md.
type Plan struct {
	Version int          `json:"version"` // of this form
	Task    string       `json:"task"`
	Tables  []TablePlan  `json:"tables"`
	LeftOut []LeftOut    `json:"left_out"`
	Topics  []TopicPlan  `json:"own_topics"`  // of the task itself
	Schemas []SchemaPlan `json:"own_schemas"` // of messages about transactions
	Unknown []string     `json:"unknown"`     // what could not be asked, and why
}

const planVersion = 1

// TablePlan is one table.
type TablePlan struct {
	Table      string       `json:"table"`
	Changes    string       `json:"change_table"`
	Filter     string       `json:"filter,omitempty"`  // that rows must meet (source.filters)
	VersionNow int          `json:"table_version_now"` // 0 = the task does not know the table
	Version    int          `json:"table_version"`     // after the start
	Columns    []Change     `json:"columns,omitempty"` // that have changed since the checkpoint
	Start      Start        `json:"start"`
	Load       LoadPlan     `json:"full_load"`
	Outputs    []OutputPlan `json:"outputs"`
}

// Start is where the changes of a table go on.
type Start struct {
	Kind     string `json:"kind"` // resume, earliest, now, time, sequence, load
	Position string `json:"position,omitempty"`
	Why      string `json:"why"`
}

// LoadPlan tells whether the base table is read whole.
type LoadPlan struct {
	Loads bool   `json:"loads"`
	Why   string `json:"why"`
	Rows  int64  `json:"rows,omitempty"` // about; 0 = not known
}

// OutputPlan is one output of a table.
type OutputPlan struct {
	Output  string       `json:"output"`
	Topic   TopicPlan    `json:"topic"`
	Key     KeyPlan      `json:"key"`
	Schemas []SchemaPlan `json:"schemas,omitempty"`
	Names   []Mapping    `json:"names,omitempty"` // that are told otherwise than the source spells them
	Problem string       `json:"problem,omitempty"`
}

// TopicPlan is one topic.
type TopicPlan struct {
	Name     string            `json:"name"`
	Exists   bool              `json:"exists"`
	Settings map[string]string `json:"settings,omitempty"`
	Problem  string            `json:"problem,omitempty"`
}

// KeyPlan is what record keys are made of.
type KeyPlan struct {
	Mode    string   `json:"mode"`
	Columns []string `json:"columns,omitempty"`
	Encoded bool     `json:"encoded"` // as a record of its columns, else as text
}

// Mapping is a name that a format cannot have as it is.
type Mapping struct {
	What string `json:"what"` // topic, field
	Name string `json:"name"`
	As   string `json:"as"`
}

// LeftOut is a table that a start would not stream.
type LeftOut struct {
	Table string `json:"table"`
	Why   string `json:"why"`
}

// NewPlan asks the neighbours what a start would bring. Its only error is that of the source: without its tables there is nothing to plan. What other
// neighbours would say is listed as unknown where they do not answer.
func NewPlan(ctx context.Context, w *World) (*Plan, error) {
	whole := 6 * w.Limit
	ctx, cancel := context.WithTimeoutCause(ctx, whole, slow(whole))
	defer cancel()
	p := &planner{asked: asked{World: w}, plan: &Plan{Version: planVersion, Task: w.Task.Name, Tables: []TablePlan{}, LeftOut: []LeftOut{}, Topics: []TopicPlan{}, Schemas: []SchemaPlan{}, Unknown: []string{}}}
	found, err := p.discovery(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := p.checkpoint(ctx); err != nil {
		p.unknown("checkpoint", err)
	}
	cluster, err := p.brokers(ctx)
	if err != nil {
		p.unknown("topics", err)
		cluster = &facts.Cluster{}
	}
	messages, err := p.compiled(ctx)
	if err != nil {
		return nil, err
	}
	p.leaveOut(found)
	p.ownTopics(cluster)
	state := p.state(ctx)
	for i, t := range found.Tables {
		own := messages[i*len(w.Outputs) : (i+1)*len(w.Outputs)]
		p.plan.Tables = append(p.plan.Tables, p.table(ctx, t, state.Tables[t.Table.ID], own, cluster))
	}
	for _, s := range p.bounds {
		p.plan.Schemas = append(p.plan.Schemas, p.schema(ctx, s))
	}
	return p.plan, nil
}

type planner struct {
	asked
	plan *Plan
	deaf bool // the registry has not answered
}

func (p *planner) unknown(what string, err error) {
	seen, do := told(err)
	if do != "" {
		seen += " (" + do + ")"
	}
	p.plan.Unknown = append(p.plan.Unknown, what+": "+seen)
}

func (p *planner) leaveOut(found source.Discovery) {
	var ids []change.TableID
	for _, t := range found.Tables {
		ids = append(ids, t.Table.ID)
	}
	for _, problem := range found.Problems {
		ids = append(ids, problem.Table)
		p.plan.LeftOut = append(p.plan.LeftOut, LeftOut{problem.Table.String(), problem.Err.Error()})
	}
	if p.Task.Unused == nil {
		return
	}
	for _, entry := range p.Task.Unused(ids) {
		p.plan.LeftOut = append(p.plan.LeftOut, LeftOut{entry, "no table comes from this entry of source.tables"})
	}
}

func (p *planner) ownTopics(cluster *facts.Cluster) {
	for i := range cluster.Topics {
		if t := &cluster.Topics[i]; own(p.Task.Topics, t.Name) {
			p.plan.Topics = append(p.plan.Topics, topicPlan(t))
		}
	}
}

func own(topics map[string]change.TopicRole, name string) bool {
	_, found := topics[name]
	return found
}

func topicPlan(t *facts.Topic) TopicPlan {
	out := TopicPlan{Name: t.Name, Exists: t.Exists}
	if t.Err != nil {
		out.Problem = t.Err.Error()
	}
	out.Settings = t.New
	if t.Exists {
		out.Settings = map[string]string{"partitions": fmt.Sprint(t.Partitions), "replication.factor": fmt.Sprint(t.Replicas)}
		for _, name := range []string{"cleanup.policy", "max.message.bytes", "min.insync.replicas", "retention.ms"} {
			if value, has := t.Settings[name]; has {
				out.Settings[name] = value
			}
		}
	}
	return out
}

func (p *planner) table(ctx context.Context, t *source.Captured, state *checkpoint.Table, own []message, cluster *facts.Cluster) TablePlan {
	out := TablePlan{Table: t.Table.ID.String(), Changes: t.Changes.String(), Filter: t.Filter, VersionNow: versionNow(state), Version: own[0].version.Version, Outputs: []OutputPlan{}}
	if out.VersionNow > 0 {
		out.Columns = columnChanges(state.Newest().Columns, t.Table.Columns)
	}
	out.Start, out.Load = p.start(ctx, t, state)
	for i := range own {
		out.Outputs = append(out.Outputs, p.output(ctx, &own[i], cluster))
	}
	return out
}

// start tells where a table goes on, and whether it is loaded, as the runner decides.
func (p *planner) start(ctx context.Context, t *source.Captured, state *checkpoint.Table) (Start, LoadPlan) {
	fresh := state == nil || state.Position == "" && state.Load == nil
	switch {
	case !fresh && state.Load.Active():
		rows := max(0, state.Load.Total-state.Load.Rows)
		return Start{"load", string(state.Position), "its changes wait for the load"}, LoadPlan{true, "a load is under way: " + state.Load.Reason, rows}
	case !fresh:
		return Start{"resume", string(state.Position), "the checkpoint"}, LoadPlan{false, "the task knows the table", 0}
	case p.Task.Load == bridge.LoadInitial || p.Task.Load == bridge.LoadWhenNeeded:
		load := LoadPlan{Loads: true, Why: "full_load.mode is " + string(p.Task.Load) + " and the task has published nothing of it", Rows: p.sizes(ctx)[t.Table.ID]}
		if based, ok := p.Layout.(source.Based); ok {
			if _, err := based.Base(t); err != nil {
				load.Why += ", but " + err.Error()
			}
		}
		return Start{"load", "", "its changes go on from the horizon read before the load"}, load
	}
	none := LoadPlan{false, "full_load.mode is " + string(bridge.LoadNone), 0}
	at := p.Task.Start
	switch {
	case at.Now:
		return Start{"now", "", "source.start_at"}, none
	case at.After != "":
		return Start{"sequence", string(at.After), "source.start_at"}, none
	case !at.Time.IsZero():
		return Start{"time", at.String(), "source.start_at"}, none
	}
	return Start{"earliest", "", "source.start_at"}, none
}

func (p *planner) output(ctx context.Context, m *message, cluster *facts.Cluster) OutputPlan {
	out := OutputPlan{Output: m.output.Name, Topic: TopicPlan{Name: m.topic}, Key: m.keyPlan()}
	if m.err != nil {
		out.Problem = m.err.Error()
		return out
	}
	if at := slices.IndexFunc(cluster.Topics, func(t facts.Topic) bool { return t.Name == m.topic }); at >= 0 {
		out.Topic = topicPlan(&cluster.Topics[at])
	}
	for _, s := range m.schemas {
		out.Schemas = append(out.Schemas, p.schema(ctx, s))
	}
	out.Names = m.mappings()
	return out
}

// schema asks the registry; the first time that it does not answer is told, and it is asked no more.
func (p *planner) schema(ctx context.Context, s schema) SchemaPlan {
	plain := SchemaPlan{Part: s.part, Subject: s.subject}
	if p.Registry == nil || p.deaf {
		return plain
	}
	limited, cancel := p.limited(ctx)
	defer cancel()
	v := p.verdict(limited, s)
	if v.err == nil {
		return v
	}
	p.deaf = unreachable(v.err)
	p.unknown("schemas", v.err)
	return plain
}

func (m *message) keyPlan() KeyPlan {
	return KeyPlan{Mode: string(m.output.KeyMode), Columns: m.recordKey(), Encoded: m.output.KeyFormat != nil && m.declared != nil && m.declared.Key != nil}
}

// mappings lists the names that messages spell otherwise than the source.
func (m *message) mappings() (out []Mapping) {
	id := m.version.ID
	for _, name := range []string{id.Schema, id.Name} {
		if adjusted := envelope.AvroName(name); name != "" && adjusted != name && strings.Contains(m.topic, adjusted) {
			out = append(out, Mapping{"topic", name, adjusted})
		}
	}
	seen := make(map[string]bool)
	fieldNames(m.declared.Value, len(m.schemas) > 0, func(name, as string) {
		if !seen[name] {
			seen[name] = true
			out = append(out, Mapping{"field", name, as})
		}
	})
	return out
}

// fieldNames walks a tree and tells the fields whose Avro names differ.
func fieldNames(n *envelope.Node, avro bool, tell func(name, as string)) {
	if n == nil || !avro {
		return
	}
	for i := range n.Fields {
		f := &n.Fields[i]
		if f.InAvro() != f.Name {
			tell(f.Name, f.InAvro())
		}
		fieldNames(f.Node, avro, tell)
	}
	for _, below := range append(append([]*envelope.Node{n.Inner, n.Item}, n.Items...), n.Branches...) {
		fieldNames(below, avro, tell)
	}
}

// columnChanges compares two structures of a table by the names of their columns.
func columnChanges(was, is []change.Column) (out []Change) {
	find := func(list []change.Column, name string) int {
		return slices.IndexFunc(list, func(c change.Column) bool { return c.Name == name })
	}
	for _, c := range is {
		switch at := find(was, c.Name); {
		case at < 0:
			out = append(out, Change{Kind: Added, Path: c.Name, Is: described(c)})
		case was[at] != c:
			out = append(out, Change{Kind: Changed, Path: c.Name, Was: described(was[at]), Is: described(c)})
		}
	}
	for _, c := range was {
		if find(is, c.Name) < 0 {
			out = append(out, Change{Kind: Removed, Path: c.Name, Was: described(c)})
		}
	}
	return out
}

func described(c change.Column) string {
	out := c.Native
	if !c.Nullable {
		out += " NOT NULL"
	}
	if c.KeyPosition > 0 {
		out += fmt.Sprintf(", key %d", c.KeyPosition)
	}
	return out
}

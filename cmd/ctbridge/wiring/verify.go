package wiring

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"ctbridge/bridge"
	"ctbridge/bridge/audit"
	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/config"
	"ctbridge/cmd/ctbridge/internal/show"
	"ctbridge/metrics"
	"ctbridge/schema"
	"ctbridge/schema/registry"
	"ctbridge/sink/kafka"
	"ctbridge/source"
)

// VerifyOptions say what is compared.
type VerifyOptions struct {
	Tables   config.TablePatterns // none = all of the checkpoint
	From, To config.Start         // ends of the window; zero = as far as it goes
	Max      int                  // differences that are named, of each topic
	Memory   int                  // bytes for messages that are looked at again
	Progress func(topic string, expected, found int64)
}

// TopicReport is what was found out about one topic of one output.
type TopicReport struct {
	Output string        `json:"output"`
	Topic  string        `json:"topic"`
	Tables []TableWindow `json:"tables"`

	Expected    audit.Side         `json:"expected"`
	Found       audit.Side         `json:"found"`
	Equal       bool               `json:"equal"`
	Counts      map[string]int64   `json:"counts"` // differences by kind
	Differences []audit.Difference `json:"differences"`
	Unsettled   int64              `json:"unsettled,omitempty"` // messages that were not looked at one by one, because enough was named

	Alike    int64            `json:"alike,omitempty"`    // equal but for what another structure, or a replay, makes of it
	Repeated int64            `json:"repeated,omitempty"` // more than once where that may be
	Excused  map[string]int64 `json:"excused,omitempty"`  // not there and accounted for
	Left     map[string]int64 `json:"left,omitempty"`     // rows of which no message is expected, by policy

	Loaded     int64  `json:"loaded,omitempty"`    // messages of full loads, which are not compared
	Outside    int64  `json:"outside,omitempty"`   // messages outside of the window
	Undecoded  int64  `json:"undecoded,omitempty"` // messages that cannot be read
	BeginsAt   string `json:"begins_at,omitempty"` // older records of the topic are gone: what lies up to here is not compared
	BeforeThat int64  `json:"before_that,omitempty"`
	Compacted  bool   `json:"compacted,omitempty"`
	NoTopic    bool   `json:"no_topic,omitempty"`
}

// TableWindow is what is compared of one table.
type TableWindow struct {
	Table string          `json:"table"`
	From  change.Position `json:"from"` // exclusive
	To    change.Position `json:"to"`   // inclusive
	Rows  int64           `json:"rows"` // that the change table has there
}

// Verify compares what a task should have published with its topics.
type Verify struct {
	survey   *Survey
	options  VerifyOptions
	kafka    kafka.Config
	registry *registry.Client // nil without one

	Absent []string // tables that cannot be compared: no change table is found for them
}

// NewVerify prepares a comparison on a survey whose source answers.
func NewVerify(s *Survey, o VerifyOptions, log *slog.Logger) (*Verify, error) {
	v := &Verify{survey: s, options: o}
	var err error
	if v.kafka, err = KafkaConfig(&s.task.Kafka); err != nil {
		return nil, err
	}
	v.kafka.ClientID += "-verify"
	if s.task.SchemaRegistry.Enabled() {
		v.registry, err = NewRegistry(&s.task.SchemaRegistry, nil, log)
	}
	return v, err
}

// Close lets go of the registry.
func (v *Verify) Close() error {
	if v.registry == nil {
		return nil
	}
	return v.registry.Close()
}

// byID asks the registry.
func (v *Verify) byID() show.SchemaByID {
	if v.registry == nil {
		return nil
	}
	return v.registry.ByID
}

// Run compares topic by topic and hands each report on.
func (v *Verify) Run(ctx context.Context, report func(*TopicReport) error) error {
	chosen := v.survey.Tables(v.options.Tables)
	if len(chosen) == 0 {
		return errors.New("the checkpoint knows none of the tables")
	}
	outputs, err := Outputs(v.survey.task, &schemaBook{})
	if err != nil {
		return err
	}
	for i := range outputs {
		groups, err := v.groups(&outputs[i], chosen)
		if err != nil {
			return err
		}
		for _, g := range groups {
			r, err := v.compare(ctx, i, g)
			if err != nil {
				return fmt.Errorf("topic %s: %w", g.topic, err)
			}
			if err := report(r); err != nil {
				return err
			}
		}
	}
	return nil
}

// group is the tables of one topic: together they make what is in it.
type group struct {
	topic  string
	tables []change.TableID
}

// groups lists the topics of the chosen tables; a shared topic is compared with all tables that share it.
func (v *Verify) groups(o *bridge.Output, chosen []change.TableID) ([]group, error) {
	topics := make(map[string]*group)
	for _, id := range v.survey.Tables(nil) {
		topic, err := o.Topic(id)
		if err != nil {
			return nil, err
		}
		if topics[topic] == nil {
			topics[topic] = &group{topic: topic}
		}
		topics[topic].tables = append(topics[topic].tables, id)
	}
	var out []group
	for _, g := range topics {
		if !slices.ContainsFunc(g.tables, func(id change.TableID) bool { return slices.Contains(chosen, id) }) {
			continue
		}
		if v.absent(g) {
			continue // what the topic holds of an absent table could not be told from what is wrong
		}
		out = append(out, *g)
	}
	slices.SortFunc(out, func(a, b group) int { return strings.Compare(a.topic, b.topic) })
	return out, nil
}

func (v *Verify) absent(g *group) bool {
	for _, id := range g.tables {
		if name := id.String(); v.survey.Found[id] == nil && !slices.Contains(v.Absent, name) {
			v.Absent = append(v.Absent, name)
		}
	}
	return slices.ContainsFunc(g.tables, func(id change.TableID) bool { return v.survey.Found[id] == nil })
}

// comparing is one topic being compared.
type comparing struct {
	*Verify
	group
	report *TopicReport
	output *bridge.Output
	config *config.Output
	given  bool // change sequences are the runner's
	shape  *audit.Shape

	expectation *bridge.Expectation
	rendered    *show.Decoder // of what is expected
	spans       []source.Span
	window      window

	stored          *show.Decoder // of what is in the topic
	expected, found int64         // of this pass, for the progress
}

func (v *Verify) compare(ctx context.Context, output int, g group) (*TopicReport, error) {
	t := v.survey.task
	book := &schemaBook{}
	outputs, err := Outputs(t, book)
	if err != nil {
		return nil, err
	}
	c := &comparing{Verify: v, group: g, output: &outputs[output], config: &t.Envelopes[output], given: t.Source.Layout == config.LayoutSQLServerCDC}
	c.report = &TopicReport{Output: c.output.Name, Topic: g.topic, Tables: []TableWindow{}, Differences: []audit.Difference{}, Left: map[string]int64{}}
	c.rendered, c.stored = show.NewDecoder(book.ByID), show.NewDecoder(v.byID())
	options := runnerOptions(t, &messages{outputs: outputs[output : output+1]}, metrics.New(metrics.Options{}), slog.New(slog.DiscardHandler))
	options.Headers = schema.JSON{}
	if options.Values, err = Values(t); err != nil {
		return nil, err
	}
	c.expectation = bridge.NewExpectation(v.survey.poller, options)
	if err := c.prepare(ctx); err != nil {
		return nil, err
	}
	result, err := audit.Compare(ctx, c.expect, c.find, audit.Options{
		Shape: c.shape, Memory: v.options.Memory, Max: v.options.Max, Lenient: c.lenience(), Twice: c.twice(), Excuse: c.excuse,
	})
	if err != nil {
		return nil, err
	}
	return c.done(result), nil
}

func (c *comparing) done(r *audit.Result) *TopicReport {
	out := c.report
	out.Expected, out.Found, out.Counts, out.Unsettled = r.Expected, r.Found, r.Counts, r.Unsettled
	out.Alike, out.Repeated, out.Excused = r.Alike, r.Repeated, r.Excused
	out.Differences = append(out.Differences, r.Differences...)
	out.Equal = r.Equal() && out.Undecoded == 0
	return out
}

// lenience allows for messages of former structures where there were any.
func (c *comparing) lenience() audit.Lenience {
	for _, s := range c.spans {
		if s.Captured.Table.Version > 1 {
			return audit.Lenience{Schema: true, Columns: true}
		}
	}
	return audit.Lenience{}
}

// twice tells which changes may be in the topic more than once: all with delivery at_least_once, and those that a person let be published again.
func (c *comparing) twice() func(place string) bool {
	if c.survey.task.Delivery == config.AtLeastOnce {
		return func(string) bool { return true }
	}
	var again []window
	for _, id := range c.tables {
		for _, r := range c.survey.table(id).Resets.Done {
			if r.Note == "" && r.Became < r.From {
				again = append(again, window{after: r.Became, upto: r.From, lsn: c.given})
			}
		}
	}
	return func(place string) bool {
		return slices.ContainsFunc(again, func(w window) bool { in, _ := w.has(place); return in })
	}
}

// window is a range of positions: above after, up to upto.
type window struct {
	after, upto change.Position
	lsn         bool // places tell the commit LSN alone, and what stands behind it does not order them
}

const lsnDigits = 20

// has tells whether a change lies in the window; at an edge it may, or may not.
func (w window) has(place string) (in, edge bool) {
	p := change.Position(place)
	if !w.lsn {
		return p > w.after && p <= w.upto, false
	}
	lsn := cut(p)
	edge = lsn == cut(w.after) || lsn == cut(w.upto)
	return lsn >= cut(w.after) && lsn <= cut(w.upto), edge
}

func cut(p change.Position) change.Position { return p[:min(len(p), lsnDigits)] }

// behind is a position above everything at a place.
func (w window) behind(place string) change.Position {
	if w.lsn {
		return cut(change.Position(place)) + ":ffffffff:ffffffffffffffffffff:4"
	}
	return change.Position(place)
}

// schemaBook stands for a schema registry that nobody else knows.
type schemaBook struct{ texts []string }

// Register gives the next id.
func (b *schemaBook) Register(_ context.Context, _, text string) (int, error) {
	b.texts = append(b.texts, text)
	return len(b.texts), nil
}

// ByID gives the text of a schema.
func (b *schemaBook) ByID(_ context.Context, id int) (string, error) {
	if id < 1 || id > len(b.texts) {
		return "", fmt.Errorf("no schema has the id %d", id)
	}
	return b.texts[id-1], nil
}

// copyOf keeps the checkpoint's own state of a table as it is.
func copyOf(t *checkpoint.Table) *checkpoint.Table {
	out := *t
	out.Structures = slices.Clone(t.Structures)
	for i, s := range out.Structures {
		own := *s
		out.Structures[i] = &own
	}
	return &out
}

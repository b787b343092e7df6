package bridge

import (
	"context"
	"errors"
	"fmt"

	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/deadletter"
	"ctbridge/bridge/fault"
	"ctbridge/bridge/values"
)

// ReplayOptions say how dead letters are published again.
type ReplayOptions struct {
	Topic  string // of the letters
	Header string // of replayed records, with the id of their letter; empty = none
	Again  bool   // also those that were replayed before
	DryRun bool   // render only
	// Known is what was replayed before, for a dry run: it opens no sink.
	Known map[string][]byte
	// Drop tells columns that are left out now; nil = none are.
	Drop func(change.TableID, string) bool
	// Told hears what became of every letter: nil, or why it stays. It is called once the letter's records are committed.
	Told func(l *Replayed, err error)
}

// Replayed is a letter with its place in its topic.
type Replayed struct {
	*deadletter.Letter
	Partition int32
	Offset    int64
	Before    bool // it was replayed before, and is left alone
}

// Replayer renders dead letters with the present configuration and publishes them. Their records and the note that they were replayed become durable
// in one commit (I5), so that whatever ends a replay, the next one goes on behind it.
//
// Replayed rows take no part in the counters of their transactions, which have long gone on: their counters are 0 and they have no last flag.
type Replayer struct {
	runner   *Runner
	options  ReplayOptions
	progress *deadletter.Progress
	tables   map[string]*replayTable // by table and structure
	batch    []*Replayed
}

type replayTable struct {
	table    *table
	renderer *renderer
	told     bool // its metadata is out
}

// NewReplayer builds a replayer; it starts nothing. Of the runner's options it needs what renders and what limits a commit.
func NewReplayer(sink Sink, o Options, p ReplayOptions) *Replayer {
	out := &Replayer{runner: New(nil, sink, o), options: p, tables: make(map[string]*replayTable)}
	out.runner.unnumbered = true
	return out
}

// Open fences any other replay of the task and takes over what was replayed.
func (p *Replayer) Open(ctx context.Context) error {
	entries := p.options.Known
	if !p.options.DryRun {
		var err error
		if entries, err = p.runner.sink.Open(ctx); err != nil {
			return err
		}
	}
	var err error
	if p.progress, err = deadletter.ReadProgress(p.options.Topic, entries); err != nil {
		return fault.New(fault.Fatal, "replay", err, "")
	}
	return nil
}

// Add replays a letter. Its error ends the replay; what is wrong with the letter alone is told.
func (p *Replayer) Add(ctx context.Context, l *Replayed) error {
	if l.Before = p.progress.Has(l.Partition, l.Offset) && !p.options.Again; l.Before {
		p.options.Told(l, nil)
		return nil
	}
	fine, err := p.try(ctx, l)
	if err != nil || !fine {
		return err
	}
	p.batch = append(p.batch, l)
	if p.runner.batch.full(p.runner.options) {
		return p.Flush(ctx)
	}
	return nil
}

// try renders a letter and hands its records over. What the sink refuses of one letter undoes the batch, which is begun anew without it.
func (p *Replayer) try(ctx context.Context, l *Replayed) (fine bool, err error) {
	err = p.publish(ctx, l)
	switch {
	case err == nil:
		return true, nil
	case p.own(err):
		return p.blame(ctx, l, err)
	case lasting(err):
		return false, err
	}
	p.options.Told(l, err)
	return false, nil
}

// blame begins anew without the letter that the sink has refused. A refusal comes when it comes: it may be that of a letter that was handed over
// before l, which is then tried again.
func (p *Replayer) blame(ctx context.Context, l *Replayed, err error) (fine bool, _ error) {
	refused := p.refusedBy(err)
	switch {
	case refused != nil:
		if err := p.without(ctx, refused, err); err != nil {
			return false, err
		}
		return p.try(ctx, l)
	case originOfRefusal(err) == l.place():
		return false, p.without(ctx, l, err)
	}
	return false, err
}

// refusedBy finds the letter of the batch that an error is about; nil where it is none of them.
func (p *Replayer) refusedBy(err error) *Replayed {
	for _, l := range p.batch {
		if l.place() == originOfRefusal(err) {
			return l
		}
	}
	return nil
}

func originOfRefusal(err error) string {
	var table *change.TableError
	if !errors.As(err, &table) {
		return ""
	}
	return table.Origin
}

// own reports an error by which the sink refuses a record.
func (p *Replayer) own(err error) bool { return originOfRefusal(err) != "" }

// lasting reports an error that no other letter would escape.
func lasting(err error) bool {
	var known *fault.Error
	return errors.As(err, &known) && (known.Class == fault.Retry || known.Class == fault.Fatal) || errors.Is(err, context.Canceled)
}

func (p *Replayer) publish(ctx context.Context, l *Replayed) error {
	ev, err := p.event(l)
	if err != nil {
		return err
	}
	t, err := p.tableOf(ctx, ev.Table, l.Told)
	if err != nil {
		return err
	}
	r := p.runner
	r.batch.origin = l.place()
	if err := r.renderRow(ctx, t.table, t.renderer, ev, false); err != nil {
		return err
	}
	if p.options.DryRun {
		return nil
	}
	if err := p.announce(ctx, t); err != nil {
		return err
	}
	for i := range r.batch.pending {
		record := &r.batch.pending[i]
		if p.options.Header != "" {
			record.Headers = append(record.Headers[:len(record.Headers):len(record.Headers)], change.Header{Name: p.options.Header, Value: []byte(l.ID())})
		}
		if err := r.send(ctx, record); err != nil {
			return err
		}
	}
	r.batch.touch(r.options.Now())
	return nil
}

// announce publishes the metadata of a table's structure before its first record (I9): it need not be that of today.
func (p *Replayer) announce(ctx context.Context, t *replayTable) error {
	if t.told {
		return nil
	}
	for i := range t.renderer.outputs {
		for j := range t.renderer.outputs[i].notices {
			if err := p.runner.send(ctx, &t.renderer.outputs[i].notices[j]); err != nil {
				return err
			}
		}
	}
	t.told = true
	return nil
}

// place names a letter to the sink.
func (l *Replayed) place() string {
	return fmt.Sprintf("letter %d of partition %d", l.Offset, l.Partition)
}

// event gives the row of a letter without the columns that are left out now, if it can be rendered at all.
func (p *Replayer) event(l *Replayed) (*change.Event, error) {
	ev := *l.Event
	if l.Reason == deadletter.Header || ev.Op == 0 {
		return nil, letterFault("the change table does not tell what happened to the row", l)
	}
	if l.Omitted > 0 {
		return nil, letterFault(fmt.Sprintf("%d values are not in the letter", l.Omitted), l)
	}
	if p.options.Drop != nil {
		ev = *without(&ev, p.options.Drop)
	}
	if column := (&deadletter.Letter{Event: &ev}).Undecoded(); column != "" {
		return nil, letterFault(fmt.Sprintf("the value of column %q could not be decoded", column), l)
	}
	ev.Counter, ev.TableCounter, ev.Last = 0, 0, false
	return &ev, nil
}

func letterFault(why string, l *Replayed) error {
	return fault.New(fault.Poison, "letter "+l.ID(), errors.New(why), "publish the row as it is now with ctbridge snapshot --where")
}

// without drops columns from an event and its table.
func without(ev *change.Event, drop func(change.TableID, string) bool) *change.Event {
	out := *ev
	var columns []change.Column
	var places []int
	for i, c := range ev.Table.Columns {
		if !drop(ev.Table.ID, c.Name) {
			columns, places = append(columns, c), append(places, i)
		}
	}
	if len(places) == len(ev.Table.Columns) {
		return ev
	}
	image := func(values []change.Value) (kept []change.Value) {
		if values == nil {
			return nil
		}
		kept = make([]change.Value, len(places))
		for i, place := range places {
			kept[i] = values[place]
		}
		return kept
	}
	out.Table = change.NewTable(ev.Table.ID, ev.Table.Version, columns)
	out.After, out.Before = image(ev.After), image(ev.Before)
	out.Changed = make(change.Mask, change.MaskBytes(len(places)))
	for i, place := range places {
		if ev.Changed.Has(place) {
			out.Changed.Set(i)
		}
	}
	return &out
}

// tableOf compiles a table's structure once. The same version may have different columns in letters of before and after a change of the configuration.
func (p *Replayer) tableOf(ctx context.Context, version *change.Table, told bool) (*replayTable, error) {
	key := fmt.Sprintf("%v %q %+v", told, version.ID, version.Columns)
	if t := p.tables[key]; t != nil {
		return t, nil
	}
	own := &table{id: version.ID, plans: make(map[int]*values.Plan)}
	if told {
		own.plans[version.Version] = nil // the rules of columns have been applied
	}
	n, err := p.runner.compile(ctx, own, version)
	if err != nil {
		return nil, err
	}
	t := &replayTable{table: own, renderer: n}
	p.tables[key] = t
	return t, nil
}

// Flush commits what was added.
func (p *Replayer) Flush(ctx context.Context) error {
	if p.options.DryRun {
		p.done()
		return nil
	}
	for _, l := range p.batch {
		p.progress.Add(l.Partition, l.Offset)
	}
	var entries []checkpoint.Entry
	for key, value := range p.progress.Entries() {
		entries = append(entries, checkpoint.Entry{Key: key, Value: value})
	}
	err := p.runner.sink.Commit(ctx, entries)
	if err == nil {
		p.done()
		return nil
	}
	refused := p.refusedBy(err)
	if refused == nil {
		return err
	}
	if err := p.without(ctx, refused, err); err != nil {
		return err
	}
	return p.Flush(ctx)
}

func (p *Replayer) done() {
	for _, l := range p.batch {
		p.options.Told(l, nil)
	}
	p.batch = p.batch[:0]
	p.runner.batch.reset()
}

// without begins the batch anew without a letter that the sink has refused: that ended the transaction (I11).
func (p *Replayer) without(ctx context.Context, refused *Replayed, why error) error {
	p.options.Told(refused, why)
	p.runner.batch.reset()
	err := p.runner.sink.Abort(ctx)
	if err == nil {
		err = p.Open(ctx)
	}
	again := p.batch
	p.batch = nil
	for _, t := range p.tables {
		t.told = false
	}
	for i := 0; err == nil && i < len(again); i++ {
		if again[i] == refused {
			continue
		}
		var fine bool
		if fine, err = p.try(ctx, again[i]); fine {
			p.batch = append(p.batch, again[i])
		}
	}
	return err
}

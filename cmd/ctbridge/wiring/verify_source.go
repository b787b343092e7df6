package wiring

import (
	"context"
	"fmt"
	"io"
	"strings"

	"ctbridge/bridge"
	"ctbridge/bridge/audit"
	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/config"
	"ctbridge/cmd/ctbridge/internal/show"
)

// prepare finds out what can be compared: from where the table was published, and what change table and topic still hold, up to what the
// checkpoint says.
func (c *comparing) prepare(ctx context.Context) error {
	c.window = window{upto: "~", lsn: c.given}
	unsure := false
	for _, id := range c.tables {
		captured := c.survey.Found[id]
		state := copyOf(c.survey.table(id))
		span, err := c.expectation.Span(captured, state)
		if err != nil {
			return err
		}
		began, known := beginning(state)
		unsure = unsure || !known
		oldest, err := c.survey.poller.Oldest(ctx, captured)
		if err != nil {
			return err
		}
		span.After = max(began, oldest.JustBelow())
		c.window.after, c.window.upto = max(c.window.after, span.After), min(c.window.upto, span.Upto)
		c.spans = append(c.spans, span)
	}
	if err := c.limit(ctx); err != nil {
		return err
	}
	declared, err := c.output.Envelope.Declare(c.spans[0].Captured.Table)
	if err != nil {
		return err
	}
	c.shape = audit.NewShape(declared.Value, c.config.Format == config.FormatAvro, c.given)
	if err := c.topicBegins(ctx, unsure); err != nil {
		return err
	}
	return c.share(ctx)
}

// beginning is where a table's published changes begin; known is false where a later load has taken the place of that knowledge.
func beginning(t *checkpoint.Table) (after change.Position, known bool) {
	switch load := t.Load; {
	case load == nil:
		return "", true
	case load.Fresh || load.State == checkpoint.LoadNone:
		return load.Fence, true
	}
	return "", false
}

// limit applies the window that was asked for.
func (c *comparing) limit(ctx context.Context) error {
	from, err := c.end(ctx, c.options.From)
	if err != nil {
		return err
	}
	to, err := c.end(ctx, c.options.To)
	if err != nil {
		return err
	}
	c.window.after = max(c.window.after, from)
	if to != "" {
		c.window.upto = min(c.window.upto, to)
	}
	return nil
}

// end gives an end of the window as a position: of a moment, the one below what was changed then.
func (c *comparing) end(ctx context.Context, at config.Start) (change.Position, error) {
	start := startAt(at)
	if start.Time.IsZero() {
		return start.After, nil
	}
	return c.survey.poller.Since(ctx, c.spans[0].Captured, start.Time)
}

// share gives every table of the topic the same window, and tells it.
func (c *comparing) share(ctx context.Context) error {
	for i := range c.spans {
		s := &c.spans[i]
		s.After, s.Upto = c.window.after, c.window.upto
		w := TableWindow{Table: s.Captured.Table.ID.String(), From: s.After, To: s.Upto}
		if s.After < s.Upto {
			var err error
			if w.Rows, err = c.survey.poller.Count(ctx, s.Captured, s.After, s.Upto); err != nil {
				return err
			}
		}
		c.report.Tables = append(c.report.Tables, w)
	}
	return nil
}

// expect gives what the topic should hold.
func (c *comparing) expect(ctx context.Context, yield func(*audit.Item) error) error {
	c.expected, c.report.Left = 0, map[string]int64{}
	for i := range c.spans {
		if err := c.expectTable(ctx, i, yield); err != nil {
			return err
		}
	}
	return nil
}

func (c *comparing) expectTable(ctx context.Context, table int, yield func(*audit.Item) error) error {
	events := c.survey.poller.ReadSpans(ctx, c.spans[table:table+1])
	defer events.Close()
	told := make(map[int]bool)
	for {
		ev, err := events.Next()
		if failures := events.Failures(); len(failures) > 0 {
			return failures[0]
		}
		if err != nil {
			return err
		}
		if ev == nil {
			break
		}
		if !told[ev.Table.Version] {
			told[ev.Table.Version] = true
			if err := c.learn(ctx, ev.Table); err != nil {
				return err
			}
		}
		if err := c.expectEvent(ctx, ev, yield); err != nil {
			return err
		}
	}
	for _, policies := range events.Skipped() {
		for policy, n := range policies {
			c.report.Left[policy] += int64(n)
		}
	}
	return nil
}

// learn lets the decoder see the metadata that data messages may need.
func (c *comparing) learn(ctx context.Context, version *change.Table) error {
	notices, err := c.expectation.Metadata(ctx, version)
	for i := 0; err == nil && i < len(notices); i++ {
		_, err = c.rendered.Decode(ctx, notices[i].Value)
	}
	return err
}

func (c *comparing) expectEvent(ctx context.Context, ev *change.Event, yield func(*audit.Item) error) error {
	timed := ev.Timestamp.Kind == change.KindInstant
	records, left, err := c.expectation.Records(ctx, ev)
	if err != nil {
		return err
	}
	switch left {
	case "":
	case bridge.LeftBad, bridge.LeftUnrenderable: // a dead letter must account for it
		blank := audit.Blank(c.placeOf(ev))
		return yield(&blank)
	default:
		c.report.Left[left]++
	}
	var last audit.Item
	for i := range records {
		r := &records[i]
		item, err := c.item(ctx, c.rendered, r.Key, r.Value, r.Headers, &last)
		if err != nil {
			return fmt.Errorf("position %s: %w", ev.Position, err)
		}
		item.Timed = timed
		c.expected++
		c.tick()
		if err := yield(&item); err != nil {
			return err
		}
		last = item
	}
	return nil
}

// placeOf is where the messages of the output say that an event stands.
func (c *comparing) placeOf(ev *change.Event) string {
	if !c.given {
		return string(ev.ChangeSequence)
	}
	stream := strings.ReplaceAll(string(ev.StreamPosition), ":", "")
	if c.config.Envelope != config.EnvelopeQlik { // the others tell the commit LSN alone
		return string(cut(change.Position(stream)))
	}
	return stream
}

// item decodes one record; a tombstone belongs to the change of the record before it.
func (c *comparing) item(ctx context.Context, d *show.Decoder, key, value []byte, headers []change.Header, last *audit.Item) (audit.Item, error) {
	m := audit.Message{Headers: headers}
	if key != nil {
		m.Key = []byte(show.New(io.Discard, d, show.Options{}).KeyText(ctx, key))
	}
	if value == nil {
		return c.shape.Tombstone(&m, last)
	}
	var err error
	if m.Value, err = d.Decode(ctx, value); err != nil {
		return audit.Item{}, err
	}
	return c.shape.Item(&m)
}

// progressEach is how many messages pass between two reports of progress.
const progressEach = 1 << 12

func (c *comparing) tick() {
	if c.options.Progress != nil && (c.expected+c.found)%progressEach == 0 {
		c.options.Progress(c.topic, c.expected, c.found)
	}
}

package wiring

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"ctbridge/bridge/audit"
	"ctbridge/bridge/change"
	"ctbridge/bridge/config"
	"ctbridge/bridge/deadletter"
	"ctbridge/sink/kafka"
)

// topicBegins finds out what the topic no longer holds, and moves the window behind that: what retention has removed is not missing.
func (c *comparing) topicBegins(ctx context.Context, unsure bool) error {
	if err := c.readMetadata(ctx); err != nil {
		return err
	}
	look, err := kafka.Look(ctx, c.kafka, c.topic)
	if err != nil {
		return err
	}
	c.report.Compacted, c.report.NoTopic = look.Compacted, look.Missing
	begins, lowest := change.Position(""), change.Position("")
	for partition, start := range look.Partitions {
		if start == 0 && !unsure {
			continue
		}
		first, err := c.firstOf(ctx, partition)
		if err != nil {
			return err
		}
		at := c.window.behind(first)
		if first != "" && (lowest == "" || at < lowest) {
			lowest = at
		}
		switch {
		case start > 0 && first == "": // nothing is left of what was there: nobody knows up to where
			begins = max(begins, c.window.upto)
		case start > 0:
			begins = max(begins, at)
		}
	}
	if unsure {
		begins = max(begins, lowest)
	}
	return c.beginAt(ctx, begins)
}

// beginAt moves the beginning of the window up, and counts what lies before it.
func (c *comparing) beginAt(ctx context.Context, begins change.Position) error {
	if begins <= c.window.after {
		return nil
	}
	begins = min(begins, c.window.upto)
	for i := range c.spans {
		if c.window.after < begins {
			n, err := c.survey.poller.Count(ctx, c.spans[i].Captured, c.window.after, begins)
			if err != nil {
				return err
			}
			c.report.BeforeThat += n
		}
	}
	c.report.BeginsAt = string(begins)
	c.window.after = begins
	return nil
}

// errEnough ends a reading.
var errEnough = errors.New("enough")

// firstOf gives the place of the first change in a partition; "" where there is none.
func (c *comparing) firstOf(ctx context.Context, partition int32) (place string, err error) {
	o := kafka.TailOptions{Topics: []string{c.topic}, From: kafka.FromStart, Partition: &partition, Exit: true}
	err = kafka.Tail(ctx, c.kafka, o, func(m *kafka.Message) error {
		if m.Value == nil || audit.Replayed(m.Headers) {
			return nil
		}
		item, err := c.item(ctx, c.stored, m.Key, m.Value, m.Headers, nil)
		if err != nil || item.Place == "" {
			return nil // it counts as undecoded when everything is read
		}
		place = item.Place
		return errEnough
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return place, err
}

// readMetadata lets the decoder learn the schemas of plain Avro.
func (c *comparing) readMetadata(ctx context.Context) error {
	topic := c.output.MetadataTopic
	if topic == "" || c.config.Format != config.FormatAvro || c.survey.task.UsesRegistry(c.config) {
		return nil
	}
	there, err := kafka.Exists(ctx, c.kafka, topic)
	if err != nil || !there {
		return err
	}
	return kafka.Tail(ctx, c.kafka, kafka.TailOptions{Topics: []string{topic}, From: kafka.FromStart, Exit: true}, func(m *kafka.Message) error {
		if m.Value == nil || bytes.HasPrefix(m.Value, []byte("{")) { // a marker is JSON
			return nil
		}
		if _, err := c.stored.Decode(ctx, m.Value); err != nil {
			return fmt.Errorf("metadata message %s[%d]@%d: %w", m.Topic, m.Partition, m.Offset, err)
		}
		return nil
	})
}

// find gives what the topic holds of the window.
func (c *comparing) find(ctx context.Context, yield func(*audit.Item) error) error {
	r := c.report
	c.found, r.Loaded, r.Outside, r.Undecoded = 0, 0, 0, 0
	if r.NoTopic {
		return nil
	}
	last := make(map[int32]*finding)
	return kafka.Tail(ctx, c.kafka, kafka.TailOptions{Topics: []string{c.topic}, From: kafka.FromStart, Exit: true}, func(m *kafka.Message) error {
		c.found++
		c.tick()
		f := c.take(ctx, m, last[m.Partition])
		if m.Value != nil {
			last[m.Partition] = f
		}
		if !f.in {
			return nil
		}
		f.item.At = fmt.Sprintf("%d@%d", m.Partition, m.Offset)
		return yield(&f.item)
	})
}

// finding is a record of the topic that was looked at.
type finding struct {
	item audit.Item
	key  []byte
	in   bool // it is to be compared
}

// take reads a record. A tombstone goes where the record went that it follows.
func (c *comparing) take(ctx context.Context, m *kafka.Message, before *finding) *finding {
	f := &finding{key: m.Key}
	if m.Value == nil && (before == nil || !bytes.Equal(before.key, m.Key)) {
		c.report.Outside++
		return f
	}
	var last *audit.Item
	if before != nil {
		last = &before.item
	}
	var err error
	if f.item, err = c.item(ctx, c.stored, m.Key, m.Value, m.Headers, last); err != nil {
		c.report.Undecoded++
		return f
	}
	if m.Value == nil {
		f.in = before.in
		return f
	}
	if f.item.Place == "" {
		c.report.Loaded++
		return f
	}
	f.item.Replayed = audit.Replayed(m.Headers)
	if f.in, f.item.Edge = c.window.has(f.item.Place); !f.in {
		c.report.Outside++
	}
	return f
}

// The reasons for which messages may be missing.
const (
	excusedLetter    = "dead letter"
	excusedCompacted = "may be compacted away"
)

// excuse accounts for missing messages: a compacted topic forgets, and a bad row is a dead letter.
func (c *comparing) excuse(ctx context.Context, places []string) (map[string]string, error) {
	out := make(map[string]string)
	wanted := make(map[string]bool, len(places))
	for _, place := range places {
		wanted[place] = true
		if c.report.Compacted {
			out[place] = excusedCompacted
		}
	}
	topic := c.survey.task.BadRecords.Topic
	there, err := kafka.Exists(ctx, c.kafka, topic)
	if err != nil || !there || c.report.Compacted {
		return out, err
	}
	err = kafka.Tail(ctx, c.kafka, kafka.TailOptions{Topics: []string{topic}, From: kafka.FromStart, Exit: true}, func(m *kafka.Message) error {
		letter, err := deadletter.Decode(m.Value)
		if err != nil {
			return nil // not one of ours
		}
		for _, place := range placesOf(letter.Event) {
			if wanted[place] {
				out[place] = excusedLetter
			}
		}
		return nil
	})
	return out, err
}

// placesOf lists how the envelopes may name the place of an event.
func placesOf(ev *change.Event) []string {
	stream := strings.ReplaceAll(string(ev.StreamPosition), ":", "")
	return []string{string(ev.ChangeSequence), stream, string(cut(change.Position(stream)))}
}

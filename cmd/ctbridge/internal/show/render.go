package show

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"ctbridge/bridge/change"
)

// Rendered is what one output makes of an event.
type Rendered struct {
	Output, Envelope, Format string

	Metadata []change.Record // that would come first: what the decoder learns from
	Records  []change.Record
	Schemas  []Schema
}

// RenderOptions say how records look.
type RenderOptions struct {
	JSON bool // one JSON line each
	All  bool // metadata messages and schemas, too
}

// Schema is a schema under its subject.
type Schema struct {
	Subject string `json:"subject"`
	ID      int    `json:"id"`
	Text    string `json:"schema"`
}

// renderedLine is one record for programs. Avro is decoded; bytes is how long the value is on the wire.
type renderedLine struct {
	Output   string          `json:"output"`
	Envelope string          `json:"envelope"`
	Format   string          `json:"format"`
	Kind     string          `json:"kind"` // "data" or "metadata"
	Topic    string          `json:"topic"`
	Key      *string         `json:"key"`
	Headers  []renderedText  `json:"headers,omitempty"`
	Value    json.RawMessage `json:"value"` // null = a tombstone
	Bytes    int             `json:"bytes"`
}

type renderedText struct {
	Name  string          `json:"name"`
	Value json.RawMessage `json:"value"`
}

// Render shows the records of one output: for people, with a heading, or for programs.
func Render(ctx context.Context, w io.Writer, d *Decoder, r *Rendered, o RenderOptions) error {
	var b bytes.Buffer
	out := json.NewEncoder(&b) // a buffer takes everything
	out.SetEscapeHTML(false)
	if !o.JSON {
		fmt.Fprintf(&b, "── %s, format %s\n\n", r.Envelope, r.Format)
	}
	for i := range r.Schemas {
		switch {
		case o.All && o.JSON:
			_ = out.Encode(&r.Schemas[i])
		case o.All:
			r.Schemas[i].pretty(&b)
		}
	}
	lines, err := r.lines(ctx, d)
	if err != nil {
		return err
	}
	for _, line := range lines {
		switch {
		case line.Kind != dataLine && !o.All:
		case o.JSON:
			_ = out.Encode(line)
		default:
			line.pretty(&b)
		}
	}
	_, err = w.Write(b.Bytes())
	return err
}

// The kinds of lines.
const (
	dataLine     = "data"
	metadataLine = "metadata"
)

// lines decodes the records, metadata first.
func (r *Rendered) lines(ctx context.Context, d *Decoder) (out []*renderedLine, err error) {
	add := func(kind string, records []change.Record) {
		for i := range records {
			line, problem := r.line(ctx, d, kind, &records[i])
			out, err = append(out, line), errors.Join(err, problem)
		}
	}
	add(metadataLine, r.Metadata)
	add(dataLine, r.Records)
	return out, err
}

func (s *Schema) pretty(b *bytes.Buffer) {
	fmt.Fprintf(b, "subject  %s (id %d)\n%s\n\n", safe(s.Subject), s.ID, indented([]byte(s.Text)))
}

func (r *Rendered) line(ctx context.Context, d *Decoder, kind string, record *change.Record) (*renderedLine, error) {
	l := &renderedLine{Output: r.Output, Envelope: r.Envelope, Format: r.Format, Kind: kind, Topic: record.Topic, Bytes: len(record.Value)}
	if record.Key != nil {
		key := (&Printer{decoder: d}).KeyText(ctx, record.Key)
		l.Key = &key
	}
	for _, h := range record.Headers {
		l.Headers = append(l.Headers, renderedText{h.Name, h.Value})
	}
	if record.Value == nil {
		return l, nil
	}
	document, err := d.Decode(ctx, record.Value)
	if err != nil {
		return nil, fmt.Errorf("record for topic %s: %w", record.Topic, err)
	}
	l.Value = document
	return l, nil
}

func (l *renderedLine) pretty(b *bytes.Buffer) {
	fmt.Fprintf(b, "topic    %s\n", safe(l.Topic))
	key := "none"
	if l.Key != nil {
		key = *l.Key
	}
	fmt.Fprintf(b, "key      %s\n", safe(key))
	for _, h := range l.Headers {
		fmt.Fprintf(b, "header   %s: %s\n", safe(h.Name), safe(string(h.Value)))
	}
	if l.Value == nil {
		b.WriteString("value    none: a tombstone\n\n")
		return
	}
	fmt.Fprintf(b, "value    %d bytes\n%s\n\n", l.Bytes, indented(l.Value))
}

// indented is JSON on several lines. JSON holds no control characters but in escapes, so that it is safe to show.
func indented(document []byte) []byte {
	var b bytes.Buffer
	if err := json.Indent(&b, document, "", "  "); err != nil {
		return document
	}
	return b.Bytes()
}

package show

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"ctbridge/schema"
)

// Message is one record of a topic.
type Message struct {
	Topic     string
	Partition int32
	Offset    int64
	Key       []byte // nil = none
	Value     []byte // nil = tombstone
	Timestamp time.Time
}

// Options say how messages look.
type Options struct {
	JSON  bool // one JSON line a message, instead of text for people
	Color bool // with terminal colours
}

// Printer prints messages. One goroutine uses it.
type Printer struct {
	w         io.Writer
	decoder   *Decoder
	options   Options
	line      bytes.Buffer
	undecoded int
}

// New builds a printer.
func New(w io.Writer, d *Decoder, o Options) *Printer { return &Printer{w: w, decoder: d, options: o} }

// Undecoded is how many messages could not be decoded.
func (p *Printer) Undecoded() int { return p.undecoded }

// Print writes one message; its only errors are those of the writer and the end of ctx.
func (p *Printer) Print(ctx context.Context, m *Message) error {
	var document []byte
	var err error
	if m.Value != nil {
		if document, err = p.decoder.Decode(ctx, m.Value); err != nil {
			p.undecoded++
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	p.line.Reset()
	if p.options.JSON {
		p.json(ctx, m, document, err)
	} else {
		p.pretty(ctx, m, document, err)
	}
	_, err = p.w.Write(p.line.Bytes())
	return err
}

// KeyText is the key as it is shown: text as it is, Avro as JSON, other bytes as hex.
func (p *Printer) KeyText(ctx context.Context, key []byte) string {
	if _, _, ok := schema.ReadFrame(key); ok {
		if document, err := p.decoder.Decode(ctx, key); err == nil {
			return string(document)
		}
	}
	if utf8.Valid(key) {
		return string(key)
	}
	return "0x" + hex.EncodeToString(key)
}

// jsonLine is one message for programs.
type jsonLine struct {
	Topic     string          `json:"topic"`
	Partition int32           `json:"partition"`
	Offset    int64           `json:"offset"`
	Timestamp time.Time       `json:"timestamp"`
	Key       *string         `json:"key"`
	Value     json.RawMessage `json:"value"`
	ValueHex  string          `json:"valueHex,omitempty"`
	Error     string          `json:"error,omitempty"`
}

func (p *Printer) json(ctx context.Context, m *Message, document []byte, err error) {
	line := jsonLine{Topic: m.Topic, Partition: m.Partition, Offset: m.Offset, Timestamp: m.Timestamp.UTC(), Value: document}
	if m.Key != nil {
		key := p.KeyText(ctx, m.Key)
		line.Key = &key
	}
	if err != nil {
		line.Error, line.ValueHex = err.Error(), hex.EncodeToString(m.Value)
	}
	out := json.NewEncoder(&p.line)
	out.SetEscapeHTML(false)
	_ = out.Encode(line) // a buffer takes everything, and the document is valid
}

// The colours of the summary.
const (
	plain   = ""
	dim     = "2"
	red     = "31"
	green   = "32"
	yellow  = "33"
	magenta = "35"
	cyan    = "36"
)

var operationColors = map[string]string{"INSERT": green, "UPDATE": yellow, "DELETE": red, "REFRESH": cyan}

// add appends a text, in a colour if there are colours.
func (p *Printer) add(color, text string) {
	text = safe(text)
	if color == plain || !p.options.Color {
		p.line.WriteString(text)
		return
	}
	fmt.Fprintf(&p.line, "\x1b[%sm%s\x1b[0m", color, text)
}

func (p *Printer) pretty(ctx context.Context, m *Message, document []byte, err error) {
	p.add(dim, m.Timestamp.UTC().Format("15:04:05.000")+" ")
	p.add(plain, fmt.Sprintf("%s[%d]@%d ", m.Topic, m.Partition, m.Offset))
	if m.Key != nil {
		p.add(plain, "key "+clip(p.KeyText(ctx, m.Key))+" ")
	}
	switch {
	case err != nil:
		p.add(red, fmt.Sprintf("cannot be decoded: %v (%d bytes: %s)", err, len(m.Value), clip(hex.EncodeToString(m.Value))))
		p.line.WriteByte('\n')
	case m.Value == nil:
		p.add(dim, "TOMBSTONE\n")
	default:
		p.document(document)
	}
}

func (p *Printer) document(document []byte) {
	if o, err := parseObject(document); err == nil {
		body := unwrap(o)
		if e, isEvent := parseEvent(body); isEvent {
			p.event(e)
			return
		}
		if m, isMetadata := parseMetadata(body); isMetadata {
			p.add(magenta, "METADATA ")
			p.add(plain, fmt.Sprintf("%s version %s: %s\n", m.table, m.version, clip(strings.Join(m.columns, ", "))))
			return
		}
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, document); err != nil {
		compact.Write(document)
	}
	p.add(plain, clip(compact.String())+"\n")
}

func (p *Printer) event(e *event) {
	operation := e.headers.text("operation")
	p.add(operationColors[operation], operation)
	if sequence := e.headers.text("changeSequence"); sequence != "" {
		p.add(dim, " seq "+sequence)
	}
	if counter := e.headers.text("transactionEventCounter"); counter != "" {
		p.add(plain, " tx "+strings.TrimLeft(e.headers.text("transactionId"), "0")+" #"+counter)
	}
	if e.headers.text("transactionLastEvent") == "true" {
		p.add(plain, " last")
	}
	p.line.WriteByte('\n')
	if operation == "UPDATE" && e.hasData {
		for _, f := range e.changes() {
			p.change(f)
		}
		return
	}
	p.line.WriteString("   ")
	for _, f := range e.row() {
		p.add(dim, " "+f.name+"=")
		p.add(plain, clip(string(f.after)))
	}
	p.line.WriteByte('\n')
}

func (p *Printer) change(f field) {
	p.add(dim, "    "+f.name+" ")
	if f.before != nil {
		p.add(plain, clip(string(f.before))+" ")
	}
	p.add(plain, "→ "+clip(string(f.after))+"\n")
}

// clip shortens a text to what fits a line.
func clip(s string) string {
	const most = 100
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most]) + "…"
}

// safe writes control characters as escapes: content must not move the cursor or colour the screen. Line ends are ours.
func safe(s string) string {
	body, end := strings.CutSuffix(s, "\n")
	if strings.IndexFunc(body, unicode.IsControl) >= 0 {
		quoted := strconv.QuoteToGraphic(body)
		body = strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
	}
	if end {
		return body + "\n"
	}
	return body
}

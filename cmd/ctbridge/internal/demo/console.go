package demo

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"ctbridge/cmd/ctbridge/internal/show"
)

// console writes what people see. Its methods may be called from anywhere.
type console struct {
	mu      sync.Mutex
	w       io.Writer // commands to copy are written as they are
	color   bool
	wrapped io.Writer // all else is broken where the terminal ends
	printer *show.Printer
	pending map[string][]pendingLine // by transaction, until it is complete
	held    int                      // messages in pending
	second  time.Time                // the second that is being filled with messages
	shown   int                      // messages shown in it
	hidden  int                      // messages not shown since
}

// pendingLine is a message that waits for the rest of its transaction.
type pendingLine struct {
	counter int64
	message *show.Message
}

const (
	perSecond = 20   // messages shown in a second; the others are counted: people cannot read more
	mostHeld  = 1000 // messages held back; a larger transaction is shown as it comes
)

func newConsole(w io.Writer, decoder *show.Decoder, color bool, width func() int) *console {
	lines := &wrapper{w: w, width: width}
	return &console{w: w, wrapped: lines, color: color, printer: show.New(lines, decoder, show.Options{Color: color}), pending: map[string][]pendingLine{}}
}

func (c *console) style(code, text string) string {
	if !c.color {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "1;33"
)

func (c *console) print(format string, args ...any) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := fmt.Fprintf(c.w, format, args...)
	return err
}

// message takes one message and shows its transaction when that is complete, in the order of the source: its tables were read side by side.
func (c *console) message(ctx context.Context, a *arrival, m *show.Message, s standing) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending[a.tx] = append(c.pending[a.tx], pendingLine{a.counter, m})
	c.held++
	if !s.complete && c.held < mostHeld {
		return nil
	}
	return c.flush(ctx, a.tx, s.foreign)
}

// flush shows what has come of a transaction. The user's own changes are marked, and shown however much else there is.
func (c *console) flush(ctx context.Context, tx string, foreign bool) error {
	lines := c.pending[tx]
	delete(c.pending, tx)
	c.held -= len(lines)
	slices.SortFunc(lines, func(a, b pendingLine) int { return cmp.Compare(a.counter, b.counter) })
	if foreign {
		if _, err := fmt.Fprintln(c.wrapped, c.style(yellow, "▶ changed by hand")); err != nil {
			return err
		}
	}
	for i, line := range lines {
		if !c.room() && !(foreign && i < perSecond) {
			c.hidden++
			continue
		}
		if err := c.tellHidden(); err != nil {
			return err
		}
		if err := c.printer.Print(ctx, line.message); err != nil {
			return err
		}
	}
	return nil
}

// room tells whether one more message may be shown in this second.
func (c *console) room() bool {
	if now := time.Now().Truncate(time.Second); now != c.second {
		c.second, c.shown = now, 0
	}
	c.shown++
	return c.shown <= perSecond
}

func (c *console) tellHidden() error {
	if c.hidden == 0 {
		return nil
	}
	_, err := fmt.Fprintln(c.wrapped, c.style(dim, fmt.Sprintf("… %d more, too fast to be shown", c.hidden)))
	c.hidden = 0
	return err
}

// flushAll shows what is still held back in the end: transactions that did not become complete.
func (c *console) flushAll(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for tx := range c.pending {
		if err := c.flush(ctx, tx, false); err != nil {
			return err
		}
	}
	return c.tellHidden()
}

// addresses are where everything of a demo is.
type addresses struct {
	place    *place
	brokers  string
	registry string // empty = none
	metrics  string
}

func topics() string {
	var names []string
	for _, t := range tables() {
		names = append(names, t.name)
	}
	return strings.Join(names, ", ")
}

// intro tells where everything is, before the first message.
func (c *console) intro(a *addresses) error {
	var b strings.Builder
	row := func(name, value, more string) {
		fmt.Fprintf(&b, "  %-9s %s", name, value)
		if more != "" {
			b.WriteString("  " + c.style(dim, more))
		}
		b.WriteByte('\n')
	}
	b.WriteString(c.style(bold, "ctbridge demo: changes in SQLite become Kafka messages") + "\n\n")
	row("database", a.place.database(), "")
	row("config", a.place.config(), "")
	row("kafka", a.brokers, "topics "+topics())
	if a.registry != "" {
		row("registry", a.registry, "Avro")
	}
	row("status", "http://"+a.metrics+"/", "page; metrics at /metrics")
	b.WriteString("\n" + c.tries(a) + "\n")
	return c.print("%s", b.String())
}

// tries are the lines to try next.
func (c *console) tries(a *addresses) string {
	var b strings.Builder
	try := func(what string, lines ...string) {
		b.WriteString(what + "\n")
		for i, line := range lines {
			if i < len(lines)-1 {
				line += ` \`
			}
			b.WriteString(strings.Repeat(" ", 2+2*min(i, 1)) + c.style(bold, line) + "\n")
		}
	}
	try("Change a row yourself and see it arrive:", "sqlite3 "+shellWord(a.place.database()), byHand)
	kcat, tail := []string{"kcat -C -e -o beginning -b " + a.brokers + " -t orders"}, []string{"ctbridge tail --brokers " + a.brokers}
	if a.registry != "" {
		kcat, tail = append(kcat, `-f 'offset %o, key %k, %S bytes of Avro\n'`), append(tail, "--registry "+a.registry)
	}
	try("Read a topic with kcat, or decoded by ctbridge itself:", kcat...)
	try("", append(tail, "--topic orders --from beginning")...)
	try("Look at its metrics:", "curl -s http://"+a.metrics+"/metrics | grep ^ctbridge_")
	return strings.ReplaceAll(b.String(), "\n\n", "\n")
}

// byHand is a change that a user can type.
const byHand = `"UPDATE customers SET credit = credit + 1 WHERE id = 1"`

// shellWord quotes a path where a shell would see more in it.
func shellWord(path string) string {
	if strings.Trim(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+:@") == "" {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// status is a line between messages: how it stands, and how to join in.
func (c *console) status(a *addresses, l *ledger) error {
	messages, transactions := l.counts()
	head := fmt.Sprintf("── %d messages in %d transactions, p50 %s; Ctrl-C ends it. Join in:", messages, transactions, l.median())
	return c.print("%s\n%s\n", c.style(bold, head), "sqlite3 "+shellWord(a.place.database())+" "+byHand)
}

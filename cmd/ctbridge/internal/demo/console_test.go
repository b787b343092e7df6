package demo

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"ctbridge/cmd/ctbridge/internal/show"
)

func wrapped(text string, width int) string {
	var out bytes.Buffer
	_, _ = (&wrapper{w: &out, width: func() int { return width }}).Write([]byte(text))
	return out.String()
}

func TestWrap(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, want string }{
		{"short\n", "short\n"},
		{"exactly twenty wide \n", "exactly twenty wide \n"},
		{"exactly twenty widee next\n", "exactly twenty widee\n      next\n"},
		{"one two three four tx 5\n", "one two three four\n      tx 5\n"},
		{"    indented andwithaverylongwordthatfitsnowhere x\n", "    indented\n      andwithaverylongwordthatfitsnowhere\n      x\n"},
		{"\x1b[31mred words take some\x1b[0m room\n", "\x1b[31mred words take some\x1b[0m\n      room\n"},
		{"éééééééééé éééééééééé\n", "éééééééééé\n      éééééééééé\n"},
	} {
		if got := wrapped(tt.text, 20); got != tt.want {
			t.Errorf("%q\ngot  %q\nwant %q", tt.text, got, tt.want)
		}
		if got := wrapped(tt.text, 0); got != tt.text {
			t.Errorf("without a width %q became %q", tt.text, got)
		}
	}
}

// Wrapping changes nothing but spaces, and keeps lines short unless a single word is long.
func TestWrapKeepsTheText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.StringMatching(`[a-zé=]{0,12}`)).Draw(t, "words"), " ") + "\n"
		width := rapid.IntRange(len(hanging)+shortWord+12, 60).Draw(t, "width")
		got := wrapped(text, width)
		if strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(text), " ") {
			t.Fatalf("%q became %q", text, got)
		}
		for line := range strings.Lines(got) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, " \n")); n > width && len(strings.TrimSpace(text)) > 0 && !strings.HasPrefix(text, " ") {
				t.Fatalf("a line of %d in %q", n, got)
			}
		}
	})
}

// show1 hands one message to a console.
func show1(t *testing.T, c *console, tx string, counter int64, s standing) {
	t.Helper()
	value := fmt.Sprintf(`{"data":{"id":%d},"beforeData":null,"headers":{"operation":"INSERT"}}`, counter)
	if err := c.message(context.Background(), &arrival{tx: tx, counter: counter}, &show.Message{Topic: tx, Value: []byte(value)}, s); err != nil {
		t.Fatal(err)
	}
}

func newTestConsole() (*console, *bytes.Buffer) {
	var out bytes.Buffer
	return newConsole(&out, show.NewDecoder(nil), false, func() int { return 0 }), &out
}

// A transaction is shown when it is complete, in the order of its counters.
func TestTransactionsAreShownWhole(t *testing.T) {
	t.Parallel()
	c, out := newTestConsole()
	show1(t, c, "a", 2, standing{})
	show1(t, c, "b", 1, standing{complete: true, foreign: true})
	show1(t, c, "a", 3, standing{})
	show1(t, c, "a", 1, standing{complete: true})
	show1(t, c, "c", 1, standing{})
	got := regexp.MustCompile(`▶|[abc]\[0\]|id=\d`).FindAllString(out.String(), -1)
	if want := "▶ b[0] id=1 a[0] id=1 a[0] id=2 a[0] id=3"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
	if err := c.flushAll(t.Context()); err != nil || !strings.Contains(out.String(), "c[0]") {
		t.Errorf("%v\n%s", err, out)
	}
}

// What comes too fast is counted, except what the user changed himself.
func TestFloodIsCounted(t *testing.T) {
	t.Parallel()
	c, out := newTestConsole()
	const n = 500
	for i := range n {
		show1(t, c, "flood", int64(i), standing{complete: true})
	}
	show1(t, c, "mine", 1, standing{complete: true, foreign: true})
	if err := c.flushAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	shown, told := strings.Count(out.String(), "flood"), 0
	for _, m := range regexp.MustCompile(`… (\d+) more`).FindAllStringSubmatch(out.String(), -1) {
		var hidden int
		_, _ = fmt.Sscan(m[1], &hidden)
		told += hidden
	}
	if shown+told != n || told == 0 || !strings.Contains(out.String(), "mine[0]") {
		t.Errorf("%d shown, %d told\n%s", shown, told, out)
	}
}

// A transaction that is too large to be held back is shown as it comes.
func TestLargeTransactionIsNotHeldBack(t *testing.T) {
	t.Parallel()
	c, _ := newTestConsole()
	for i := range 5 * mostHeld {
		show1(t, c, "large", int64(i), standing{})
		if c.held > mostHeld || len(c.pending["large"]) != c.held {
			t.Fatalf("%d held", c.held)
		}
	}
}

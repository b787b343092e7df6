package live

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"ctbridge/bridge/deadletter"
	"ctbridge/test/qlikwriter"
)

// note is the fixture of case 71: a table whose text can be larger than any limit.
func note() qlikwriter.Shape {
	return qlikwriter.Shape{Table: "note", Columns: []string{"id int NOT NULL", "body text", "fee decimal(10,2)"}, Key: []string{"id"}}
}

// noteRow is row n: every seventh is bad, in turn by a value that does not decode, by the task's limit, and by that of the topic alone.
func noteRow(n int) (values []any, reason deadletter.Reason) {
	switch {
	case n%21 == 7:
		return []any{n, "x", "NaN"}, deadletter.Undecodable
	case n%21 == 14:
		return []any{n, strings.Repeat("x", 1_600_000), nil}, deadletter.TooLarge
	case n%21 == 0:
		noise := make([]byte, 150_000)
		random := rand.New(rand.NewPCG(uint64(n), 1))
		for i := range noise {
			noise[i] = byte(random.Uint32())
		}
		return []any{n, hex.EncodeToString(noise), nil}, deadletter.TooLarge
	}
	return []any{n, "x", nil}, ""
}

const notesPerTx = 20

func addNotes(t *testing.T, db database, from, to int) {
	t.Helper()
	for n := from; n <= to; {
		tx, err := db.DB.Begin()
		if err != nil {
			t.Fatal(err)
		}
		for end := n + notesPerTx; n < end && n <= to; n++ {
			values, _ := noteRow(n)
			db.Add(t, tx, note(), qlikwriter.Row{Seq: qlikwriter.Seq(n), Oper: "I", Tx: fmt.Sprint("tx", (n-1)/notesPerTx), Values: values})
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
	}
}

// badUpTo counts the bad rows up to n, and those that only the topic's limit refuses.
func badUpTo(n int) (bad, byTopic, undecodable int) { return n / 7, n / 21, (n + 14) / 21 }

// Case 71 on real servers, with kill -9 in between: bad rows leave as letters, in order and once; good ones as if the bad ones were not there; a
// replay publishes what it can, once, however often it is killed.
func TestCase71_DeadLetters(t *testing.T) {
	t.Parallel()
	db := postgres(t)
	db.Create(t, note())
	b := newBridge(t, db, "commit: {max_records: 30}\nbad_records: {policy: dead_letter}\n")
	b.edit("data: {partitions: 3}", `data: {partitions: 1, config: {max.message.bytes: "100000"}}`)
	const rows, more = 420, 63
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	addNotes(t, db, 1, rows)
	for range 6 {
		b.start()
		<-time.After(time.Duration(300+random.IntN(1200)) * time.Millisecond)
		b.kill()
	}
	bad, _, _ := badUpTo(rows)
	b.start()
	b.until(rows-bad, "note")
	b.checkLetters(b.until(bad, "dead_letters"), bad)
	b.stop()

	b.log.reset()
	addNotes(t, db, rows+1, rows+more)
	b.start()
	all, byTopic, undecodable := badUpTo(rows + more)
	b.until(rows+more-all, "note")
	b.checkLetters(b.until(all, "dead_letters"), all)
	if got := b.metric("ctbridge_dead_letters_total"); got != float64(all-bad) {
		t.Errorf("%v letters counted, want %d", got, all-bad)
	}
	if got := b.metric("ctbridge_events_published_total"); got != float64(more-(all-bad)) {
		t.Errorf("%v events counted, want %d", got, more-(all-bad))
	}
	b.stop()
	b.checkNotes(b.consume("note"), rows+more)
	b.checkReplay(random, rows+more-all, all, byTopic, undecodable)
}

// edit changes the configuration.
func (b *bridge) edit(old, text string) {
	b.Helper()
	data, err := os.ReadFile(b.config)
	if err != nil || !bytes.Contains(data, []byte(old)) {
		b.Fatalf("%q is not in the configuration: %v", old, err)
	}
	if err := os.WriteFile(b.config, bytes.Replace(data, []byte(old), []byte(text), 1), 0o600); err != nil {
		b.Fatal(err)
	}
}

func (b *bridge) checkLetters(got []message, want int) {
	b.Helper()
	n := 0
	for _, m := range got {
		l, err := deadletter.Decode(m.Value)
		if err != nil {
			b.Fatal(err)
		}
		n += 7
		_, reason := noteRow(n)
		if string(l.Event.Position) != qlikwriter.Seq(n) || l.Reason != reason || l.Omitted > 0 {
			b.Fatalf("letter of %s with reason %s, %d values left out; want row %d, %s", l.Event.Position, l.Reason, l.Omitted, n, reason)
		}
	}
	if len(got) != want {
		b.Fatalf("%d letters, want %d", len(got), want)
	}
}

// checkNotes wants the good rows in order with gap-free counters. Each transaction has its last flag, unless rows that only the topic refused
// stand at its end.
func (b *bridge) checkNotes(got []message, rows int) {
	b.Helper()
	events := decode(b.TB.(*testing.T), got)
	i, counter := 0, int64(0)
	for n := 1; n <= rows; n++ {
		if (n-1)%notesPerTx == 0 {
			counter = 0
		}
		if _, reason := noteRow(n); reason != "" {
			continue
		}
		counter++
		if i == len(events) || events[i].Headers.ChangeSequence != qlikwriter.Seq(n) || events[i].Headers.Counter != counter {
			b.Fatalf("message %d is not row %d with counter %d", i, n, counter)
		}
		last := n%notesPerTx == 0 || n == rows || n%notesPerTx == notesPerTx-1 && (n+1)%7 == 0
		if refused := (n + 1) % 21; events[i].Headers.Last != last && !(last && n%notesPerTx != 0 && refused == 0) && n < rows-notesPerTx {
			b.Fatalf("row %d has the last flag %v, want %v", n, events[i].Headers.Last, last)
		}
		i++
	}
	if i != len(events) {
		b.Fatalf("%d messages, want %d", len(events), i)
	}
}

// checkReplay replays with a configuration that lets the bad column go, and kills it some times. What only the topic refuses stays.
func (b *bridge) checkReplay(random *rand.Rand, good, letters, byTopic, undecodable int) {
	b.Helper()
	b.edit("  on_reset:", "  qlik: {ignore_columns: [fee]}\n  on_reset:")
	for range 3 {
		p := exec.Command(binary, "replay", b.config)
		if err := p.Start(); err != nil {
			b.Fatal(err)
		}
		<-time.After(time.Duration(50+random.IntN(400)) * time.Millisecond)
		_ = p.Process.Kill()
		_ = p.Wait()
	}
	out, code := b.replay()
	tooLarge := letters - undecodable
	if code != 1 || !strings.Contains(out, fmt.Sprintf("%d stay\n", tooLarge)) {
		b.Fatalf("exit code %d, want 1 and %d letters (%d of them refused by the topic alone) that stay:\n%s", code, tooLarge, byTopic, out[max(0, len(out)-4000):])
	}
	got := b.consume("note")
	var replayed []string
	for _, e := range decode(b.TB.(*testing.T), got[good:]) {
		replayed = append(replayed, e.Headers.ChangeSequence)
	}
	if len(replayed) != undecodable || !slices.IsSorted(replayed) || len(slices.Compact(slices.Clone(replayed))) != undecodable {
		b.Fatalf("%d rows were replayed, want %d, each once and in order: %v", len(replayed), undecodable, replayed)
	}
	if out, _ := b.replay(); !strings.Contains(out, fmt.Sprintf(" 0 published, %d replayed before, %d stay\n", undecodable, tooLarge)) {
		b.Errorf("a second replay: %s", out[max(0, len(out)-4000):])
	}
}

func (b *bridge) replay() (out string, code int) {
	b.Helper()
	text, err := exec.Command(binary, "replay", b.config).Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		return string(text), failed.ExitCode()
	} else if err != nil {
		b.Fatal(err)
	}
	return string(text), 0
}

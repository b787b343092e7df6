package bridge_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"ctbridge/bridge"
	"ctbridge/bridge/change"
	"ctbridge/bridge/deadletter"
	"ctbridge/bridge/fault"
	"ctbridge/test/qlikwriter"
)

// letterOf is the letter of an INSERT.
func letterOf(offset int, status string) *bridge.Replayed {
	columns := []change.Column{{Name: "id", KeyPosition: 1, Type: change.Type{Kind: change.Int4}}, {Name: "status", Type: change.Type{Kind: change.String}}}
	ev := &change.Event{Table: change.NewTable(change.TableID{Name: "t"}, 2, columns), Op: change.OpInsert, Position: change.Position(qlikwriter.Seq(offset)),
		TransactionID: []byte("tx"), After: []change.Value{change.IntValue(int64(offset)), change.TextValue([]byte(status))}}
	return &bridge.Replayed{Offset: int64(offset), Letter: &deadletter.Letter{Event: ev, Stage: "render", Reason: deadletter.Unrenderable, At: time.Unix(0, 0)}}
}

// replay replays letters and lists what became of them.
func (w *world) replay(o bridge.ReplayOptions, letters ...*bridge.Replayed) (told []string, err error) {
	o.Topic = "dead"
	o.Told = func(l *bridge.Replayed, err error) {
		told = append(told, fmt.Sprint(l.Offset, map[bool]string{true: " before"}[l.Before], map[bool]string{true: " stays"}[err != nil]))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	p := bridge.NewReplayer(w.ledger, w.options, o)
	if err := p.Open(ctx); err != nil {
		return told, err
	}
	for _, l := range letters {
		if err := p.Add(ctx, l); err != nil {
			return told, err
		}
	}
	return told, p.Flush(ctx)
}

// I5: what was replayed is remembered with its records, what could not be stays, and a refused letter takes no other with it.
func TestReplay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ledger.onPublish = refuseHuge
	incomplete, undecoded, header := letterOf(6, "x"), letterOf(7, "x"), letterOf(8, "x")
	incomplete.Omitted, header.Reason = 1, deadletter.Header
	undecoded.Event.After[1] = change.UndecodedValue([]byte("?"))
	letters := []*bridge.Replayed{letterOf(1, "a"), letterOf(2, "poison"), letterOf(3, "b"), letterOf(4, "huge"), letterOf(5, "c"), incomplete, undecoded, header}
	told, err := w.replay(bridge.ReplayOptions{DryRun: true}, letters...)
	if err != nil || len(w.ledger.records) > 0 || len(w.ledger.entries) > 0 {
		t.Fatalf("a dry run: %v %v", err, w.ledger.records)
	}
	w.want(told, "2 stays", "6 stays", "7 stays", "8 stays", "1", "3", "4", "5")
	if told, err = w.replay(bridge.ReplayOptions{}, letters...); err != nil {
		t.Fatal(err)
	}
	w.want(told, "2 stays", "4 stays", "6 stays", "7 stays", "8 stays", "1", "3", "5")
	want := []string{"t 1 1 INSERT +(1,a) #0 false v2", "t 3 3 INSERT +(3,b) #0 false v2", "t 5 5 INSERT +(5,c) #0 false v2"}
	w.want(w.ledger.records, want...)
	if told, err = w.replay(bridge.ReplayOptions{}, letters[0], letters[2], letters[4], letterOf(9, "d")); err != nil {
		t.Fatal(err)
	}
	w.want(told, "1 before", "3 before", "5 before", "9")
	if told, err = w.replay(bridge.ReplayOptions{Again: true}, letters[0]); err != nil {
		t.Fatal(err)
	}
	w.want(told, "1")
	w.want(w.ledger.records, append(want, "t 9 9 INSERT +(9,d) #0 false v2", want[0])...)
}

// The sink may refuse a letter when it is handed the next one, or the one after that: the refused one stays, not the one in hand.
func TestReplayRefusedLate(t *testing.T) {
	t.Parallel()
	for _, after := range []int{1, 2} {
		w := newWorld(t)
		var waiting []error
		w.ledger.onPublish = func(_ int, r *change.Record) error {
			waiting = append(waiting, refuseHuge(0, r))
			if len(waiting) <= after {
				return nil
			}
			err := waiting[0]
			if waiting = waiting[1:]; err != nil {
				waiting = nil
			}
			return err
		}
		told, err := w.replay(bridge.ReplayOptions{}, letterOf(1, "a"), letterOf(2, "huge"), letterOf(3, "b"), letterOf(4, "huge"), letterOf(5, "c"), letterOf(6, "d"))
		if err != nil {
			t.Fatal(err)
		}
		w.want(told, "2 stays", "4 stays", "1", "3", "5", "6")
		w.want(w.ledger.records, "t 1 1 INSERT +(1,a) #0 false v2", "t 3 3 INSERT +(3,b) #0 false v2", "t 5 5 INSERT +(5,c) #0 false v2", "t 6 6 INSERT +(6,d) #0 false v2")
	}
}

// A replay that is interrupted goes on: no letter is published twice.
func TestReplayInterrupted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.options.CommitRecords = 3
	w.ledger.onPublish = func(n int, _ *change.Record) error { return failAt(n, []int{5, 9}) }
	w.ledger.onCommit = func(n int) error { return failAt(n, []int{2}) }
	var letters []*bridge.Replayed
	for n := range 12 {
		letters = append(letters, letterOf(n, "x"))
	}
	failures := 0
	for range 10 {
		if _, err := w.replay(bridge.ReplayOptions{}, letters...); err == nil {
			break
		} else if !errors.Is(err, errWeather) {
			t.Fatal(err)
		}
		failures++
	}
	if failures != 3 || len(w.ledger.records) != 12 {
		t.Errorf("%d failures, %d records:\n%s", failures, len(w.ledger.records), strings.Join(w.ledger.records, "\n"))
	}
}

// Columns that are left out now need not have been decoded; metadata comes before the first record of its structure.
func TestReplayWithoutAColumn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.options.Outputs[0].MetadataTopic = "meta"
	l := letterOf(1, "x")
	l.Event.After[1] = change.UndecodedValue([]byte("?"))
	told, err := w.replay(bridge.ReplayOptions{Drop: func(_ change.TableID, column string) bool { return column == "status" }}, l)
	if err != nil {
		t.Fatal(err)
	}
	w.want(told, "1")
	w.want(w.ledger.records, "meta t metadata v2", "t 1 1 INSERT +(1) #0 false v2")
}

// A fenced or lost sink ends a replay.
func TestReplayThatMustEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ledger.onCommit = func(int) error { return fault.New(fault.Fatal, "", errors.New("fenced"), "") }
	if _, err := w.replay(bridge.ReplayOptions{}, letterOf(1, "x")); fault.ClassOf(err) != fault.Fatal {
		t.Errorf("got %v", err)
	}
	w.ledger.entries["replayed/dead/0"] = []byte("?")
	if _, err := w.replay(bridge.ReplayOptions{}, letterOf(1, "x")); fault.ClassOf(err) != fault.Fatal {
		t.Errorf("a damaged note: %v", err)
	}
}

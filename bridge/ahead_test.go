package bridge_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"ctbridge/bridge"
	"ctbridge/bridge/envelope"
	"ctbridge/bridge/fault"
)

// together is a format whose first schemas are registered only once so many are asked for at the same time.
type together struct {
	subjects
	mu      sync.Mutex
	waiting int // how many more must ask
	all     chan struct{}
	asked   map[string]int
	fail    map[string]error // by topic
}

func newTogether(n int) *together {
	return &together{subjects: subjects{of: func(topic string) string { return topic }}, waiting: n, all: make(chan struct{}), asked: make(map[string]int)}
}

func (f *together) Value(ctx context.Context, topic string, n *envelope.Node) (bridge.Encoder, error) {
	f.mu.Lock()
	f.asked[topic]++
	if f.waiting--; f.waiting == 0 {
		close(f.all)
	}
	err := f.fail[topic]
	f.mu.Unlock()
	select {
	case <-f.all:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-time.After(20 * time.Second):
		return nil, fault.New(fault.Table, "", errors.New("nobody else asked"), "")
	}
	if err != nil {
		return nil, err
	}
	return f.subjects.Value(ctx, topic, n)
}

// The schemas of many tables are registered side by side, and the rows still leave in order, each after its schema (I4, I9).
func TestSchemasOfManyTablesAreRegisteredSideBySide(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	format := newTogether(4)
	w.output().Format = format
	w.create("a", "b", "c", "d", "idle")
	for i, table := range []string{"d", "c", "b", "a"} {
		w.add(table, "I", i+1, "t"+table, 1, "x")
	}
	w.start()
	got := w.ledger.wait(t, "four rows", count(4))
	w.want(got, "d 1 00001 INSERT td 1/1 true", "c 1 00002 INSERT tc 1/1 true", "b 1 00003 INSERT tb 1/1 true", "a 1 00004 INSERT ta 1/1 true")
	format.mu.Lock()
	defer format.mu.Unlock()
	if format.asked["idle"] > 0 {
		t.Error("a schema was registered for a table without rows")
	}
}

// A schema that is refused stops its table alone; a registry that is away stops each as its first row comes.
func TestSchemaThatIsRefusedAheadStopsItsTable(t *testing.T) {
	t.Parallel()
	for _, class := range []fault.Class{fault.Table, fault.Retry} {
		w := newWorld(t)
		format := newTogether(1)
		format.fail = map[string]error{"b": fault.New(class, "register", errors.New("not this one"), "")}
		w.output().Format = format
		w.create("a", "b", "c")
		for i, table := range []string{"b", "a", "c"} {
			w.add(table, "I", i+1, "t"+table, 1, "x")
		}
		stop := w.start()
		w.want(w.ledger.wait(t, "two rows", count(2)), "a 1 00002 INSERT ta 1/1 true", "c 1 00003 INSERT tc 1/1 true")
		if err := w.observed.waitState(t, "b", bridge.TableFailed); !strings.Contains(err, "not this one") {
			t.Errorf("error %q", err)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	}
}

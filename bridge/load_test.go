package bridge_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/source"
)

// counting is an engine that notes every question to the server.
type counting struct {
	source.Engine
	mu    sync.Mutex
	asked []string // texts of statements, names of catalog questions
}

func (c *counting) note(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, text)
}

// since gives what was asked behind the first n questions.
func (c *counting) since(n int) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.asked[n:])
}

func (c *counting) Tables(ctx context.Context) ([]change.TableID, error) {
	c.note("tables")
	return c.Engine.Tables(ctx)
}

func (c *counting) Describe(ctx context.Context, ids []change.TableID) ([]source.Relation, error) {
	c.note("describe")
	return c.Engine.Describe(ctx, ids)
}

func (c *counting) Fence(ctx context.Context) (source.Fence, error) {
	return c.Engine.(source.Fencer).Fence(ctx) // SQLite knows the answer without asking
}

func (c *counting) Prepare(text string, columns []change.Column) source.Statement {
	return &countedStatement{c.Engine.Prepare(text, columns), c, text}
}

type countedStatement struct {
	source.Statement
	engine *counting
	text   string
}

func (s *countedStatement) Query(ctx context.Context, args ...any) (source.Rows, error) {
	s.engine.note(s.text)
	return s.Statement.Query(ctx, args...)
}

// ticking counts polls.
type ticking struct {
	*observed
	polls chan struct{}
}

func (t *ticking) Polled(time.Duration) {
	select {
	case t.polls <- struct{}{}:
	default:
	}
}

// wait lets n polls pass.
func (t *ticking) wait(tb testing.TB, n int) {
	tb.Helper()
	deadline := time.After(30 * time.Second)
	for range n {
		select {
		case <-t.polls:
		case <-deadline:
			tb.Fatal("the polls have stopped")
		}
	}
}

// Case 85: whatever the number of tables, an idle tick asks one question of one text, and while rows are looked back at, one more.
func TestCase85_PollingLoad(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tables   int
		rows     int // in so many tables
		lookback time.Duration
		kinds    int // of questions
	}{
		"one table had rows":                       {520, 1, time.Minute, 2},
		"every table had rows, the look-back over": {60, 60, time.Millisecond, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			engine := &counting{Engine: w.engine}
			w.engine = engine
			observer := &ticking{w.observed, make(chan struct{}, 1)}
			w.options.Observer, w.options.CommitRecords = observer, 1000
			w.options.LookbackFor, w.source.CheckEach = c.lookback, 0
			w.manyTables(c.tables)
			for n := range c.rows {
				w.add(fmt.Sprintf("t%03d", n), "I", n+1, "t1", n, "x")
			}
			w.start()
			w.ledger.wait(t, "the rows", count(c.rows))
			observer.wait(t, 5)
			begin := len(engine.since(0))
			observer.wait(t, 100)
			asked := engine.since(begin)
			texts := map[string]int{}
			for _, text := range asked {
				texts[text]++
			}
			if len(asked) > 200 || len(texts) > c.kinds {
				t.Errorf("%d questions of %d texts in 100 idle ticks", len(asked), len(texts))
			}
		})
	}
}

// manyTables makes tables t000, t001, … in one transaction.
func (w *world) manyTables(n int) {
	w.Helper()
	texts := make([]string, n)
	for i := range texts {
		texts[i] = fmt.Sprintf(`CREATE TABLE t%03[1]d (id int PRIMARY KEY, status varchar(20), fee decimal(10,2));
			CREATE TABLE t%03[1]d__ct (header__change_seq varchar(35), header__change_oper varchar(1), header__change_mask varbinary(128), header__stream_position varchar(128),
				header__operation varchar(12), header__transaction_id varchar(32), header__timestamp timestamp, id int, status varchar(20), fee decimal(10,2));
			CREATE INDEX t%03[1]d_seq ON t%03[1]d__ct (header__change_seq);`, i)
	}
	w.writer.Exec(w, "BEGIN; %s COMMIT;", strings.Join(texts, "\n"))
}

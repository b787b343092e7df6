package chaos

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ctbridge/test/qlikwriter"
)

// workload commits transactions of the ledger, each row once, until it is stopped. The database may go away under it.
type workload struct {
	testing.TB
	*ledger
	db        *qlikwriter.Writer
	random    *rand.Rand
	lateShare atomic.Int32       // one transaction in so many is in the late table, which is there; 0 = none
	quiet     atomic.Bool        // nothing is written
	pace      time.Duration      // between transactions
	size      func() int         // of the next transaction
	room      func() bool        // nil, or whether more may be written now
	stamp     func(n int) string // header__timestamp of an event
	stop      chan struct{}
	done      chan struct{}
}

func newWorkload(t testing.TB, db *qlikwriter.Writer, seed uint64) *workload {
	w := &workload{TB: t, ledger: &ledger{seed: seed}, db: db, random: rand.New(rand.NewPCG(seed, 2)), pace: 10 * time.Millisecond,
		stamp: func(int) string { return "2023-09-11 03:23:25" }, stop: make(chan struct{}), done: make(chan struct{})}
	w.size = func() int { return 1 + w.random.IntN(20) }
	return w
}

func (w *workload) run() {
	defer close(w.done)
	pace := time.NewTicker(w.pace)
	defer pace.Stop()
	for {
		select {
		case <-w.stop:
			return
		case <-pace.C:
		}
		if !w.quiet.Load() && (w.room == nil || w.room()) {
			w.step()
		}
	}
}

// halt stops the workload and settles what became of transactions whose answer was lost.
func (w *workload) halt() {
	w.Helper()
	close(w.stop)
	<-w.done
	w.settle()
}

func (w *workload) settle() {
	w.Helper()
	w.each(func(i int, t transaction) {
		if t.outcome == unknown {
			w.end(i, w.askFor(t))
		}
	})
}

// askFor looks whether the first event of a transaction is there.
func (w *workload) askFor(t transaction) byte {
	w.Helper()
	e, n := w.at(t.first, t), 0
	text := fmt.Sprintf("SELECT count(*) FROM %s WHERE header__change_seq = '%s'", w.db.Name(e.table+"__ct"), sequence(e.n))
	var err error
	eventually(w, 60*time.Second, func() bool {
		err = w.db.DB.QueryRow(text).Scan(&n)
		return err == nil
	}, func() string { return fmt.Sprintf("what became of %s: %v", e.tx, err) })
	if n > 0 {
		return committed
	}
	return aborted
}

// step writes one transaction; one in twenty is rolled back.
func (w *workload) step() {
	index, t := w.begin(w.size(), w.isLate())
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	tx, err := w.db.DB.BeginTx(ctx, nil)
	if err != nil {
		w.end(index, aborted)
		return
	}
	if err := w.write(ctx, tx, t); err != nil || w.random.IntN(20) == 0 {
		_ = tx.Rollback()
		w.end(index, aborted)
		return
	}
	if tx.Commit() == nil {
		w.end(index, committed)
	}
}

// write inserts the rows of a transaction, one statement a table and a thousand rows.
func (w *workload) write(ctx context.Context, tx *sql.Tx, t transaction) error {
	rows := make(map[string][]string)
	flush := func(table string) error {
		text := "INSERT INTO " + w.db.Name(table+"__ct") + " VALUES " + strings.Join(rows[table], ", ")
		rows[table] = rows[table][:0]
		_, err := tx.ExecContext(ctx, text)
		return err
	}
	for n := t.first; n < t.first+t.size; n++ {
		e := w.at(n, t)
		rows[e.table] = append(rows[e.table], w.rows(e)...)
		if len(rows[e.table]) >= 1000 {
			if err := flush(e.table); err != nil {
				return err
			}
		}
	}
	for table, left := range rows {
		if len(left) > 0 {
			if err := flush(table); err != nil {
				return err
			}
		}
	}
	return nil
}

// rows are the rows of an event as SQL: an update has its before-image in front.
func (w *workload) rows(e event) []string {
	row := func(oper, long, status string) string {
		return fmt.Sprintf("('%s', '%s', NULL, 'pos:%s', '%s', '%s', '%s', %d, '%s', %s)", sequence(e.n), oper, sequence(e.n), long, e.tx, w.stamp(e.n), e.id, status, e.fee)
	}
	switch e.oper {
	case "U":
		return []string{row("B", "BEFOREIMAGE", e.before), row("U", "UPDATE", e.status)}
	case "D":
		return []string{row("D", "DELETE", e.status)}
	}
	return []string{row("I", "INSERT", e.status)}
}

// eventually looks again and again until a fact is there.
func eventually(t testing.TB, patience time.Duration, fact func() bool, otherwise func() string) {
	t.Helper()
	deadline := time.After(patience)
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for !fact() {
		select {
		case <-deadline:
			t.Fatalf("not within %v: %s", patience, otherwise())
		case <-look.C:
		}
	}
}

func (w *workload) isLate() bool {
	share := int(w.lateShare.Load())
	return share > 0 && w.random.IntN(share) == 0
}

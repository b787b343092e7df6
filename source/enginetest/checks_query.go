package enginetest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/source"
)

// sequence writes the change sequence of row n.
func sequence(n int) string { return fmt.Sprintf("2031051016000100%019d", n) }

// sequences makes a table like a change table, with n rows.
func (f *fixture) sequences(name string, n int) (change.TableID, []change.Column) {
	f.Helper()
	id := f.create(name, [][2]string{{"seq", "varchar(35) NOT NULL"}, {"oper", "varchar(1)"}, {"note", "varchar(200)"}})
	f.exec("CREATE INDEX %s ON %s (seq)", "i_"+name, f.engine.Table(id))
	tx := f.begin()
	for i := 1; i <= n; i += 50 {
		var rows []string
		for k := i; k < min(i+50, n+1); k++ {
			rows = append(rows, fmt.Sprintf("('%s', 'I', '%0200d')", sequence(k), k))
		}
		f.execTx(tx, "INSERT INTO %s VALUES %s", f.engine.Table(id), strings.Join(rows, ", "))
	}
	f.commit(tx)
	return id, f.describe(id).Columns
}

func checkParamLimit(t *testing.T, h Harness) {
	f := newFixture(t, h)
	id, columns := f.sequences("param_limit", 300)
	e := f.engine
	tail := "WHERE t.seq > " + e.Param(1, source.ArgText) + " AND t.seq <= " + e.Param(2, source.ArgText) +
		" ORDER BY t.seq " + e.Limit(e.Param(3, source.ArgInt))
	statement := f.selectAll(id, columns, tail)
	for range 3 { // the same statement again and again, as a poller does
		got := f.rows(statement, 3, sequence(100), sequence(290), int64(7))
		if len(got) != 7 || string(got[0][0].Raw) != sequence(101) || string(got[6][0].Raw) != sequence(107) {
			t.Fatalf("page of %d rows from %s", len(got), got[0][0].Raw)
		}
	}
	if got := f.rows(statement, 3, sequence(285), sequence(290), int64(7)); len(got) != 5 {
		t.Errorf("short page of %d rows, want 5", len(got))
	}
	if got := f.rows(statement, 3, sequence(999), sequence(999), int64(7)); len(got) != 0 {
		t.Errorf("empty page of %d rows", len(got))
	}
	if h.Indexed != nil && !h.Indexed(t, selectText(e, id, columns, tail), sequence(100), sequence(101), int64(7)) {
		t.Errorf("a bound text argument does not use the index")
	}
	f.bytesArgument()
}

// bytesArgument finds rows by the values of a binary column.
func (f *fixture) bytesArgument() {
	f.Helper()
	i := slices.IndexFunc(f.h.Types, func(typ Type) bool { return typ.Want.Kind == change.Bytes && typ.Want.Length > 8 })
	if i < 0 {
		return
	}
	typ := f.h.Types[i]
	id := f.typeTable("bytes_argument", typ)
	statement := f.selectAll(id, f.describe(id).Columns[:1], "WHERE t.v = "+f.engine.Param(1, source.ArgBytes))
	for n, v := range typ.Values {
		if got := f.rows(statement, 1, v.Want.Raw); len(got) != 1 || got[0][0].Num != int64(n) {
			f.Errorf("bound bytes %x found %v, want row %d", v.Want.Raw, got, n)
		}
	}
}

// arms is how many tables one detection query must serve.
const arms = 1200

func checkUnion(t *testing.T, h Harness) {
	f := newFixture(t, h)
	id, columns := f.sequences("union_arms", 3)
	e := f.engine
	index := change.Column{Name: "arm", Type: change.Type{Kind: change.Int4}, Native: "int"}
	var selects []string
	for i := range arms {
		selects = append(selects, fmt.Sprintf("SELECT %d AS arm, MAX(t.seq) AS seq FROM %s t WHERE t.seq > %s", i, e.Table(id), e.Param(i+1, source.ArgText)))
	}
	args := make([]any, arms)
	for i := range args {
		args[i] = sequence(i % 5)
	}
	got := f.rows(e.Prepare(e.Union(selects), []change.Column{index, columns[0]}), 2, args...)
	f.checkArms(got)
	f.orderedArms(id, columns)
}

// checkArms expects one row for every arm: the newest sequence, NULL where the arm's argument lies at or above it.
func (f *fixture) checkArms(got [][]change.Value) {
	f.Helper()
	seen := map[int64]bool{}
	for _, row := range got {
		arm := row[0].Num
		seen[arm] = true
		want := sequence(3)
		if arm%5 >= 3 {
			want = ""
		}
		if string(row[1].Raw) != want {
			f.Errorf("arm %d gave %q, want %q", arm, row[1].Raw, want)
		}
	}
	if len(got) != arms || len(seen) != arms {
		f.Errorf("%d rows of %d arms, want %d", len(got), len(seen), arms)
	}
}

// orderedArms joins arms that have their own ORDER BY and limit.
func (f *fixture) orderedArms(id change.TableID, columns []change.Column) {
	f.Helper()
	e := f.engine
	arm := func(n int) string {
		return fmt.Sprintf("SELECT t.seq AS seq FROM %s t WHERE t.seq > %s ORDER BY t.seq %s", e.Table(id),
			e.Param(2*n+1, source.ArgText), e.Limit(e.Param(2*n+2, source.ArgInt)))
	}
	for _, n := range []int{1, 2, 3} {
		var selects []string
		var args []any
		for i := range n {
			selects = append(selects, arm(i))
			args = append(args, sequence(1), int64(1))
		}
		got := f.rows(e.Prepare(e.Union(selects), columns[:1]), 1, args...)
		if len(got) != n || string(got[0][0].Raw) != sequence(2) {
			f.Errorf("%d ordered arms gave %d rows: %v", n, len(got), got)
		}
	}
}

// checkFreshSnapshot: a committed row is in the next read, an uncommitted one in none (case 29).
func checkFreshSnapshot(t *testing.T, h Harness) {
	f := newFixture(t, h)
	id, columns := f.sequences("fresh_snapshot", 1)
	statement := f.selectAll(id, columns, "ORDER BY t.seq")
	for n := 1; n <= 3; n++ {
		if got := f.rows(statement, 3); len(got) != n {
			t.Fatalf("%d rows, want %d", len(got), n)
		}
		tx := f.begin()
		f.execTx(tx, "INSERT INTO %s VALUES ('%s', 'I', NULL)", f.engine.Table(id), sequence(n+1))
		f.neverSees(statement, n)
		f.commit(tx)
	}
	tx := f.begin()
	f.execTx(tx, "INSERT INTO %s VALUES ('%s', 'I', NULL)", f.engine.Table(id), sequence(9))
	f.neverSees(statement, 4)
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if got := f.rows(statement, 3); len(got) != 4 {
		t.Errorf("%d rows after a rollback, want 4", len(got))
	}
}

func (f *fixture) begin() *sql.Tx {
	f.Helper()
	tx, err := f.h.Admin.BeginTx(f.ctx, nil)
	if err != nil {
		f.Fatal(err)
	}
	return tx
}

func (f *fixture) commit(tx *sql.Tx) {
	f.Helper()
	if err := tx.Commit(); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) execTx(tx *sql.Tx, format string, args ...any) {
	f.Helper()
	if _, err := tx.ExecContext(f.ctx, fmt.Sprintf(format, args...)); err != nil {
		f.Fatal(err)
	}
}

// neverSees reads while a writer's transaction is open. A product whose readers wait for writers may fail with a retry instead.
func (f *fixture) neverSees(statement source.Statement, want int) {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.ctx, 3*time.Second)
	defer cancel()
	got, err := read(ctx, statement, 3)
	if err != nil {
		wantClass(f.T, err, fault.Retry)
		return
	}
	if len(got) != want {
		f.Errorf("%d rows while a writer is at work, want %d", len(got), want)
	}
}

func checkMissingTable(t *testing.T, h Harness) {
	f := newFixture(t, h)
	id, columns := f.sequences("missing_column", 1)
	_, err := read(f.ctx, f.selectAll(f.id("no such table"), columns, ""), 3)
	wantClass(t, err, fault.Table)
	gone := change.Column{Name: "gone", Type: columns[0].Type, Native: columns[0].Native}
	_, err = read(f.ctx, f.selectAll(id, []change.Column{gone}, ""), 1)
	wantClass(t, err, fault.Table)
	f.droppedUnderStatement()
}

// droppedUnderStatement drops a table that a statement has read before.
func (f *fixture) droppedUnderStatement() {
	f.Helper()
	id, columns := f.sequences("dropped_later", 1)
	statement := f.selectAll(id, columns, "")
	if got := f.rows(statement, 3); len(got) != 1 {
		f.Fatalf("%d rows", len(got))
	}
	f.exec("DROP TABLE %s", f.engine.Table(id))
	_, err := read(f.ctx, statement, 3)
	wantClass(f.T, err, fault.Table)
}

// prompt is how long a call may take to notice that its context or its patience has ended.
const prompt = 3 * time.Second

func wantPrompt(t *testing.T, start time.Time) {
	t.Helper()
	if took := time.Since(start); took > prompt {
		t.Errorf("took %v", took)
	}
}

func checkCancel(t *testing.T, h Harness) {
	f := newFixture(t, h)
	column := change.Column{Name: "x", Type: change.Type{Kind: change.Int8}, Native: "int"}
	statement := f.engine.Prepare(h.Slow, []change.Column{column})
	ctx, cancel := context.WithTimeout(f.ctx, 300*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := read(ctx, statement, 1)
	wantClass(t, err, fault.Retry)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the error does not tell the deadline: %v", err)
	}
	wantPrompt(t, start)
	ended, cancel := context.WithCancel(f.ctx)
	cancel()
	if err := f.engine.Ping(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("ping with an ended context gave %v", err)
	}
	if err := f.engine.Ping(f.ctx); err != nil {
		t.Errorf("ping after a cancellation: %v", err)
	}
}

package mssql

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/test/tdspeer"
)

var oneInt = []change.Column{{Name: "v", Type: change.Type{Kind: change.Int4}, Native: "int"}}

// ints is a result of n rows.
func ints(n int) tdspeer.Result {
	r := tdspeer.Result{Columns: []tdspeer.Column{{Name: "v", Type: "int"}}}
	for i := range n {
		r.Rows = append(r.Rows, []any{i + 1})
	}
	return r
}

func answerWith(r tdspeer.Result) tdspeer.Handler {
	return func(string, []any) tdspeer.Result { return r }
}

const prompt = 3 * time.Second

func wantRetry(t *testing.T, err error, start time.Time) {
	t.Helper()
	if err == nil || fault.ClassOf(err) != fault.Retry {
		t.Errorf("got %v, want a retry", err)
	}
	if took := time.Since(start); took > prompt {
		t.Errorf("took %v", took)
	}
}

// TestCase82_SilentWhileConnecting: the server accepts and never answers. The engine's own limit ends it, and so does the context (the
// driver alone would hang for ever).
func TestCase82_SilentWhileConnecting(t *testing.T) {
	t.Parallel()
	for _, phase := range []tdspeer.Phase{tdspeer.Prelogin, tdspeer.LoggingIn} {
		peer := tdspeer.Start(t, nil)
		peer.At(phase, tdspeer.Silence)
		limited := openPeer(t, peer, Config{ConnectTimeout: 200 * time.Millisecond})
		start := time.Now()
		wantRetry(t, limited.Ping(context.Background()), start)
		patient := openPeer(t, peer, Config{ConnectTimeout: time.Hour})
		ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
		start = time.Now()
		err := patient.Ping(ctx)
		cancel()
		wantRetry(t, err, start)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("phase %d: the error does not tell the deadline: %v", phase, err)
		}
		peer.At(phase, tdspeer.Answer)
		for _, e := range []*Engine{limited, patient} {
			if err := e.Ping(context.Background()); err != nil {
				t.Errorf("phase %d: ping once the server answers: %v", phase, err)
			}
		}
	}
}

// TestCase82_CutWhileConnecting: the connection ends in the middle of the handshake.
func TestCase82_CutWhileConnecting(t *testing.T) {
	t.Parallel()
	for _, phase := range []tdspeer.Phase{tdspeer.Prelogin, tdspeer.LoggingIn} {
		peer := tdspeer.Start(t, nil)
		peer.At(phase, tdspeer.Cut)
		start := time.Now()
		wantRetry(t, openPeer(t, peer, Config{}).Ping(context.Background()), start)
	}
}

// TestConnectionOutlivesItsConnect: the context and the limit of a connect must not close the connection afterwards.
func TestConnectionOutlivesItsConnect(t *testing.T) {
	t.Parallel()
	peer := tdspeer.Start(t, answerWith(ints(3)))
	e := openPeer(t, peer, Config{ConnectTimeout: 300 * time.Millisecond, MaxConns: 1})
	ctx, cancel := context.WithCancel(context.Background())
	if err := e.Ping(ctx); err != nil {
		t.Fatal(err)
	}
	cancel()
	limit := time.NewTimer(400 * time.Millisecond)
	<-limit.C
	for range 3 {
		ctx, cancel := context.WithCancel(context.Background())
		got, err := readAll(ctx, e.Prepare("SELECT v", oneInt), 1)
		cancel()
		if err != nil || len(got) != 3 {
			t.Fatalf("%d rows, %v", len(got), err)
		}
	}
	if n := len(peer.Logins()); n != 1 {
		t.Errorf("%d logins, want 1", n)
	}
}

// TestCase82_SilentInAQuery: before the first token and between rows, without and with a confirmed cancellation.
func TestCase82_SilentInAQuery(t *testing.T) {
	t.Parallel()
	for _, then := range []tdspeer.Fault{tdspeer.Silence, tdspeer.Hang} {
		for _, rows := range []int{0, 3000} {
			t.Run(fmt.Sprintf("fault %d after %d rows", then, rows), func(t *testing.T) {
				t.Parallel()
				silent := ints(rows)
				silent.Then = then
				if rows == 0 {
					silent.Columns = nil
				}
				peer := tdspeer.Start(t, answerWith(silent))
				cancelledQuery(t, openPeer(t, peer, Config{MaxConns: 1}))
				impatientQuery(t, openPeer(t, peer, Config{MaxConns: 1, ReadTimeout: 200 * time.Millisecond}))
			})
		}
	}
}

// cancelledQuery ends by its context; the same engine works on.
func cancelledQuery(t *testing.T, e *Engine) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := readAll(ctx, e.Prepare("SELECT v", oneInt), 1)
	wantRetry(t, err, start)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the error does not tell the deadline: %v", err)
	}
	recovers(t, e)
}

// impatientQuery ends by the engine's own limit.
func impatientQuery(t *testing.T, e *Engine) {
	t.Helper()
	start := time.Now()
	_, err := readAll(context.Background(), e.Prepare("SELECT v", oneInt), 1)
	wantRetry(t, err, start)
	recovers(t, e)
}

func recovers(t *testing.T, e *Engine) {
	t.Helper()
	if err := e.Ping(context.Background()); err != nil {
		t.Errorf("ping after a broken query: %v", err)
	}
}

// TestCase80_CutInAResult: a result that ends in the middle of a row is an error, not a short result.
func TestCase80_CutInAResult(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 5, 3000} {
		broken := ints(n)
		broken.Then = tdspeer.Cut
		peer := tdspeer.Start(t, answerWith(broken))
		e := openPeer(t, peer, Config{})
		start := time.Now()
		got, err := readAll(context.Background(), e.Prepare("SELECT v", oneInt), 1)
		wantRetry(t, err, start)
		if len(got) >= n {
			t.Errorf("%d rows of %d although the last was cut", len(got), n)
		}
		for i, row := range got {
			if row[0].Num != int64(i+1) {
				t.Fatalf("row %d holds %d", i, row[0].Num)
			}
		}
		recovers(t, e)
	}
}

// TestCase80_ErrorAfterRows: an error behind the rows is an error.
func TestCase80_ErrorAfterRows(t *testing.T) {
	t.Parallel()
	late := ints(5)
	late.Err = &tdspeer.Error{Number: 1205, Class: 13, Message: "chosen as the deadlock victim"}
	peer := tdspeer.Start(t, answerWith(late))
	e := openPeer(t, peer, Config{})
	for _, args := range [][]any{nil, {"a"}} { // batch and call
		if got, err := readAll(context.Background(), e.Prepare("SELECT v", oneInt), 1, args...); err == nil {
			t.Errorf("%d rows and no error", len(got))
		}
	}
}

// TestCase79_DeadlockOnFirstTry: the class says retry, and the same statement works the second time on the same connection.
func TestCase79_DeadlockOnFirstTry(t *testing.T) {
	t.Parallel()
	for _, number := range []int32{1205, 1222} {
		tries := 0
		peer := tdspeer.Start(t, func(string, []any) tdspeer.Result {
			if tries++; tries == 1 {
				return tdspeer.Fail(number, "not this time")
			}
			return ints(2)
		})
		s := openPeer(t, peer, Config{MaxConns: 1}).Prepare("SELECT v", oneInt)
		if _, err := readAll(context.Background(), s, 1); fault.ClassOf(err) != fault.Retry || err == nil {
			t.Fatalf("%d: %v", number, err)
		}
		if got, err := readAll(context.Background(), s, 1); err != nil || len(got) != 2 {
			t.Fatalf("%d: second try: %d rows, %v", number, len(got), err)
		}
		if n := len(peer.Logins()); n != 1 {
			t.Errorf("%d: %d logins, want 1", number, n)
		}
	}
}

// TestErrorsByNumber: every number that the table knows and one that it does not, as error of a query.
func TestErrorsByNumber(t *testing.T) {
	t.Parallel()
	var number int32
	peer := tdspeer.Start(t, func(string, []any) tdspeer.Result { return tdspeer.Fail(number, "as told") })
	s := openPeer(t, peer, Config{MaxConns: 1}).Prepare("SELECT v", oneInt)
	want := map[int32]fault.Class{
		208: fault.Table, 207: fault.Table, 229: fault.Table, 230: fault.Table, 245: fault.Table, 8114: fault.Table, 916: fault.Table, 33557097: fault.Table,
		1205: fault.Retry, 1222: fault.Retry, 40613: fault.Retry, 40197: fault.Retry, 40501: fault.Retry, 49918: fault.Retry, 49919: fault.Retry, 49920: fault.Retry,
		596: fault.Retry, 6005: fault.Retry, 10054: fault.Retry, 976: fault.Retry, 987654: fault.Retry,
	}
	for n, class := range want {
		number = n
		if _, err := readAll(context.Background(), s, 1); err == nil || fault.ClassOf(err) != class {
			t.Errorf("%d gave %v (%s), want %s", n, err, fault.ClassOf(err), class)
		}
	}
	number = 229
	if _, err := readAll(context.Background(), s, 1); !strings.Contains(fault.HintOf(err), "GRANT") {
		t.Errorf("a missing right without a hint: %v", err)
	}
}

// TestRefusedLogin: wrong password, unknown database: fatal, and the error shows no secret. A server that is starting passes.
func TestRefusedLogin(t *testing.T) {
	t.Parallel()
	for number, class := range map[int32]fault.Class{18456: fault.Fatal, 4060: fault.Fatal, 18401: fault.Retry} {
		peer := tdspeer.Start(t, nil)
		peer.RefuseLogins(&tdspeer.Error{Number: number, Class: 14, Message: "Login failed for user 'peer'."})
		err := openPeer(t, peer, Config{}).Ping(context.Background())
		if err == nil || fault.ClassOf(err) != class || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%d gave %v (%s), want %s", number, err, fault.ClassOf(err), class)
		}
	}
}

// TestServerGoesDown: pooled connections are dead; the engine needs no restart.
func TestServerGoesDown(t *testing.T) {
	t.Parallel()
	peer := tdspeer.Start(t, answerWith(ints(2)))
	e := openPeer(t, peer, Config{MaxConns: 2})
	s := e.Prepare("SELECT v", oneInt)
	if _, err := readAll(context.Background(), s, 1); err != nil {
		t.Fatal(err)
	}
	peer.Disconnect()
	for range 3 {
		got, err := readAll(context.Background(), s, 1)
		if err == nil && len(got) == 2 {
			return
		}
		if fault.ClassOf(err) != fault.Retry {
			t.Fatal(err)
		}
	}
	t.Error("does not recover")
}

// TestEarlyCloseKeepsTheConnection: a result that is left early is cancelled and the connection used again.
func TestEarlyCloseKeepsTheConnection(t *testing.T) {
	t.Parallel()
	peer := tdspeer.Start(t, answerWith(ints(5000)))
	e := openPeer(t, peer, Config{MaxConns: 1})
	s := e.Prepare("SELECT v", oneInt)
	for range 3 {
		rows, err := s.Query(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if !rows.Next() {
			t.Fatal(rows.Err())
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := readAll(context.Background(), s, 1); err != nil || len(got) != 5000 {
		t.Errorf("%d rows, %v", len(got), err)
	}
	if n := len(peer.Logins()); n != 1 {
		t.Errorf("%d logins, want 1", n)
	}
}

// TestNothingStaysBehind counts goroutines after engines that met every fault are closed.
func TestNothingStaysBehind(t *testing.T) {
	before := goleak.IgnoreCurrent()
	t.Run("faults", func(t *testing.T) {
		broken := ints(100)
		broken.Then = tdspeer.Cut
		for _, r := range []tdspeer.Result{ints(10), broken, tdspeer.Fail(1205, "x"), {Then: tdspeer.Silence}} {
			peer := tdspeer.Start(t, answerWith(r))
			e := openPeer(t, peer, Config{ReadTimeout: 100 * time.Millisecond})
			readAll(context.Background(), e.Prepare("SELECT v", oneInt), 1)
		}
	})
	goleak.VerifyNone(t, before)
}

// A server that falls silent takes the other connections of the pool with it: each would cost the same wait.
func TestSilenceEmptiesThePool(t *testing.T) {
	t.Parallel()
	var both sync.WaitGroup
	both.Add(2)
	peer := tdspeer.Start(t, func(string, []any) tdspeer.Result {
		both.Done()
		both.Wait()
		return tdspeer.Result{}
	})
	e, err := Open(Config{DSN: peer.DSN(), ReadTimeout: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	var group errgroup.Group
	for range 2 {
		group.Go(func() error {
			return e.Each(context.Background(), "wait", "SELECT 7", nil, func(func(...any) error) error { return nil })
		})
	}
	if err := group.Wait(); err != nil || len(peer.Logins()) != 2 {
		t.Fatalf("%d connections: %v", len(peer.Logins()), err)
	}
	peer.At(tdspeer.Querying, tdspeer.Silence)
	if err := e.Ping(context.Background()); err == nil {
		t.Error("a silent server answers")
	}
	peer.At(tdspeer.Querying, tdspeer.Answer)
	if err := e.Ping(context.Background()); err != nil || len(peer.Logins()) != 3 {
		t.Errorf("%d logins, want a third: %v", len(peer.Logins()), err)
	}
}

package patience_test

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"ctbridge/source/patience"
)

func pipe(t *testing.T, limit time.Duration) (*patience.Conn, net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	near, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	far, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close(); far.Close() })
	return patience.Wrap(near, limit), far
}

func wantTimeout(t *testing.T, err error, start time.Time, most time.Duration) {
	t.Helper()
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %v, want a time-out", err)
	}
	if took := time.Since(start); took > most {
		t.Errorf("took %v", took)
	}
}

func TestSilenceEndsARead(t *testing.T) {
	t.Parallel()
	c, far := pipe(t, 200*time.Millisecond)
	buf := make([]byte, 4)
	for range 3 { // the limit counts from each read
		if _, err := far.Write([]byte("word")); err != nil {
			t.Fatal(err)
		}
		if n, err := c.Read(buf); n != 4 || err != nil {
			t.Fatalf("read gave %d, %v", n, err)
		}
	}
	start := time.Now()
	_, err := c.Read(buf)
	wantTimeout(t, err, start, 5*time.Second)
}

func TestFullWindowEndsAWrite(t *testing.T) {
	t.Parallel()
	c, _ := pipe(t, 200*time.Millisecond)
	start := time.Now()
	_, err := c.Write(make([]byte, 64<<20))
	wantTimeout(t, err, start, 10*time.Second)
}

func TestDeadlineFromOutsideWakesARead(t *testing.T) {
	t.Parallel()
	c, _ := pipe(t, time.Hour)
	timer := time.AfterFunc(50*time.Millisecond, func() { c.SetReadDeadline(time.Unix(1, 0)) })
	defer timer.Stop()
	start := time.Now()
	_, err := c.Read(make([]byte, 1))
	wantTimeout(t, err, start, 5*time.Second)
	_, err = c.Read(make([]byte, 1)) // and it stays in force
	wantTimeout(t, err, start, 5*time.Second)
	if err := c.SetDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	c.SetWriteDeadline(time.Unix(1, 0))
	_, err = c.Write([]byte("x"))
	wantTimeout(t, err, start, 5*time.Second)
}

func TestNoLimit(t *testing.T) {
	t.Parallel()
	c, far := pipe(t, 0)
	timer := time.AfterFunc(100*time.Millisecond, func() { far.Write([]byte("late")) })
	defer timer.Stop()
	if n, err := c.Read(make([]byte, 4)); n != 4 || err != nil {
		t.Errorf("read gave %d, %v", n, err)
	}
}

// Silence is the peer's alone: a deadline from outside is none.
func TestSilence(t *testing.T) {
	t.Parallel()
	c, far := pipe(t, 100*time.Millisecond)
	silences := 0
	c.Silence = func() { silences++ }
	if _, err := far.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); err != nil || silences != 0 {
		t.Errorf("a word: %v, %d silences", err, silences)
	}
	start := time.Now()
	_, err := c.Read(make([]byte, 1))
	wantTimeout(t, err, start, 10*time.Second)
	if silences != 1 {
		t.Errorf("%d silences after one", silences)
	}
	if _, err := far.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the silent peer reads %v, want the end", err)
	}
	c, _ = pipe(t, time.Hour)
	c.Silence = func() { silences++ }
	c.SetReadDeadline(time.Unix(1, 0))
	_, err = c.Read(make([]byte, 1))
	wantTimeout(t, err, start, 10*time.Second)
	if silences != 1 {
		t.Errorf("%d silences after a deadline from outside", silences)
	}
}

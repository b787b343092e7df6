package patience_test

import (
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"ctbridge/source/patience"
)

func ahead(t *testing.T) (net.Conn, net.Conn) {
	t.Helper()
	near, far := pipe(t, 0)
	return patience.ReadAhead(near.Conn), far
}

// TestAheadKeepsTheStream: pieces of any size are written and read, and nothing is lost, doubled or moved.
func TestAheadKeepsTheStream(t *testing.T) {
	t.Parallel()
	near, far := ahead(t)
	const total = 4 << 20
	go func() {
		defer far.Close()
		random := rand.New(rand.NewPCG(1, 1))
		for n := 0; n < total; {
			piece := make([]byte, min(total-n, 1+random.IntN(70_000)))
			for i := range piece {
				piece[i] = byte((n + i) % 251)
			}
			if _, err := far.Write(piece); err != nil {
				return
			}
			n += len(piece)
		}
	}()
	random, buf, n := rand.New(rand.NewPCG(2, 2)), make([]byte, 100_000), 0
	for {
		got, err := near.Read(buf[:1+random.IntN([]int{10, 5000, 100_000}[random.IntN(3)])])
		for i := range got {
			if buf[i] != byte((n+i)%251) {
				t.Fatalf("byte %d is %d", n+i, buf[i])
			}
		}
		if n += got; err != nil {
			if !errors.Is(err, io.EOF) || n != total {
				t.Fatalf("%d bytes, then %v", n, err)
			}
			return
		}
	}
}

// TestAheadTellsUnreadBytes to those who look whether an idle connection is good.
func TestAheadTellsUnreadBytes(t *testing.T) {
	t.Parallel()
	near, far := ahead(t)
	if _, err := near.(syscall.Conn).SyscallConn(); err != nil {
		t.Error(err)
	}
	if _, err := far.Write([]byte("word")); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 3)
	if _, err := io.ReadFull(near, buf); err != nil || string(buf) != "wor" {
		t.Fatalf("%q, %v", buf, err)
	}
	if _, err := near.(syscall.Conn).SyscallConn(); err == nil {
		t.Error("an unread byte does not tell")
	}
	if n, err := near.Read(buf); n != 1 || err != nil || buf[0] != 'd' {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := near.(syscall.Conn).SyscallConn(); err != nil {
		t.Error(err)
	}
}

// TestAheadHasTheDeadlines of its connection, and gives what it has whatever they say.
func TestAheadHasTheDeadlines(t *testing.T) {
	t.Parallel()
	near, far := ahead(t)
	if _, err := far.Write([]byte("word")); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 2)
	if _, err := near.Read(buf); err != nil {
		t.Fatal(err)
	}
	if err := near.SetReadDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := io.ReadFull(near, buf); n != 2 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if _, err := near.Read(buf); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %v, want a time-out", err)
	}
}

// TestOnlySocketsAreReadAhead: what cannot be looked at stays as it is.
func TestOnlySocketsAreReadAhead(t *testing.T) {
	t.Parallel()
	near, far := net.Pipe()
	defer near.Close()
	defer far.Close()
	if patience.ReadAhead(near) != near {
		t.Error("a pipe was wrapped")
	}
}

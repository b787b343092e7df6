package enginetest

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// talker is a server that sends 1,000 bytes for every byte it gets.
func talker(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go talk(conn)
		}
	}()
	return listener.Addr().String()
}

func talk(conn net.Conn) {
	defer conn.Close()
	for one := make([]byte, 1); ; {
		if _, err := conn.Read(one); err != nil {
			return
		}
		if _, err := conn.Write(bytes.Repeat(one, 1000)); err != nil {
			return
		}
	}
}

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// ask sends a byte and reads the answer for at most 200 ms.
func ask(t *testing.T, conn net.Conn) (int, error) {
	t.Helper()
	if err := conn.SetDeadline(time.Now().Add(200 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte("x")); err != nil {
		return 0, err
	}
	return io.ReadFull(conn, make([]byte, 1000))
}

func TestProxy(t *testing.T) {
	p := NewProxy(t, talker(t))
	conn := dial(t, p.Addr())
	if n, err := ask(t, conn); n != 1000 || err != nil {
		t.Fatalf("passing: %d bytes, %v", n, err)
	}
	p.StallAfter(100)
	if n, err := ask(t, conn); n != 100 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("stalling: %d bytes, %v", n, err)
	}
	p.Pass()
	if n, err := io.ReadFull(extend(t, conn), make([]byte, 900)); n != 900 || err != nil {
		t.Errorf("passing again: %d bytes, %v", n, err)
	}
	p.CutAfter(300)
	if n, err := ask(t, conn); n > 300 || err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("cutting: %d bytes, %v", n, err)
	}
	p.Pass()
	second := dial(t, p.Addr())
	if n, err := ask(t, second); n != 1000 || err != nil {
		t.Errorf("a new connection: %d bytes, %v", n, err)
	}
	p.Refuse()
	refused := []net.Conn{second}
	if third, err := net.Dial("tcp", p.Addr()); err == nil { // or it is reset before it is there
		t.Cleanup(func() { third.Close() })
		refused = append(refused, third)
	}
	for _, conn := range refused {
		if n, err := ask(t, conn); n != 0 || err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("refusing: %d bytes, %v", n, err)
		}
	}
}

func extend(t *testing.T, conn net.Conn) net.Conn {
	t.Helper()
	if err := conn.SetDeadline(time.Now().Add(2 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return conn
}

func TestSilentAndRefused(t *testing.T) {
	if n, err := ask(t, dial(t, Silent(t))); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("silent: %d bytes, %v", n, err)
	}
	if conn, err := net.Dial("tcp", Refused(t)); err == nil {
		conn.Close()
		t.Error("somebody listens")
	}
}

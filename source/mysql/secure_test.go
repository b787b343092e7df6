package mysql

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"strings"
	"testing"

	vendor "github.com/go-sql-driver/mysql"

	"ctbridge/bridge/fault"
	"ctbridge/test/certs"
)

// front takes connections as a server does and refuses every login: that far a handshake has to come.
func front(t *testing.T, secure *tls.Config) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	t.Cleanup(func() { listener.Close(); <-ended })
	go func() {
		defer close(ended)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			refuse(conn, secure)
		}
	}()
	return listener.Addr().String()
}

// refuse speaks the protocol as far as a refused login (MySQL internals, "Connection phase").
func refuse(conn net.Conn, secure *tls.Config) {
	defer conn.Close()
	capabilities := uint32(0x00080000 | 0x00008000 | 0x00000200) // PLUGIN_AUTH, SECURE_CONNECTION, PROTOCOL_41
	if secure != nil {
		capabilities |= 0x00000800 // SSL
	}
	greeting := append([]byte{10}, "8.0.0\x00\x01\x00\x00\x00abcdefgh\x00"...)
	greeting = append(greeting, byte(capabilities), byte(capabilities>>8), 45, 2, 0, byte(capabilities>>16), byte(capabilities>>24), 21)
	greeting = append(greeting, make([]byte, 10)...)
	greeting = append(greeting, "ijklmnopqrst\x00mysql_native_password\x00"...)
	send(conn, 0, greeting)
	if receive(conn) != nil { // SSLRequest, or the login
		return
	}
	number := byte(2)
	if secure != nil {
		conn = tls.Server(conn, secure)
		if receive(conn) != nil {
			return
		}
		number = 3
	}
	send(conn, number, append([]byte{0xff, 0x15, 0x04}, "#28000no such login"...)) // 1045
}

func send(w io.Writer, number byte, body []byte) {
	w.Write(append([]byte{byte(len(body)), byte(len(body) >> 8), 0, number}, body...))
}

func receive(r io.Reader) error {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	_, err := io.CopyN(io.Discard, r, int64(head[0])|int64(head[1])<<8)
	return err
}

func TestCertificates(t *testing.T) {
	t.Parallel()
	for _, c := range certs.Cases(t) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			err := pingOf(t, Config{DSN: "bridge:s3cret@tcp(" + front(t, c.Server) + ")/shop", TLS: c.Config()})
			want := c.Hint
			if want == "" {
				want = "check user, password" // the login was refused, after the handshake
			}
			if fault.ClassOf(err) != fault.Fatal || !strings.Contains(fault.HintOf(err), want) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("class %v, want a hint about %q: %v", fault.ClassOf(err), want, err)
			}
		})
	}
	err := pingOf(t, Config{DSN: "bridge:s3cret@tcp(" + front(t, nil) + ")/shop", TLS: &tls.Config{}})
	if fault.ClassOf(err) != fault.Fatal || !strings.Contains(fault.HintOf(err), "tls=false") {
		t.Errorf("a server without TLS: %v", err)
	}
}

func pingOf(t *testing.T, c Config) error {
	t.Helper()
	e, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	return e.Ping(context.Background())
}

// What the DSN says holds; where it is silent, only this machine is reached in plain text.
func TestSecured(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string]bool{
		"u:p@tcp(db.example.com)/shop":            true,
		"u:p/@w?x@tcp(10.0.0.7:3306)/":            true,
		"u:p@tcp(db.example.com)/shop?timeout=1s": true,
		"u:p@tcp(db.example.com)/shop?tls=false":  false,
		"u:p@tcp(db.example.com)/?tls=preferred":  false,
		"u:p@tcp(127.0.0.1:3306)/shop":            false,
		"u:p@tcp([::1]:3306)/shop":                false,
		"u:p@tcp(localhost)/shop":                 false,
		"u:p@unix(/run/mysqld.sock)/shop":         false,
		"not a dsn":                               false,
	} {
		got := Secured(dsn)
		s, err := vendor.ParseDSN(got)
		if !want {
			if got != dsn {
				t.Errorf("%s becomes %s", dsn, got)
			}
			continue
		}
		if err != nil || s.TLS == nil || s.TLS.InsecureSkipVerify || s.TLS.ServerName == "" || s.AllowFallbackToPlaintext {
			t.Errorf("%s becomes %s: %+v %v", dsn, got, s, err)
		}
	}
	if !bytes.Contains([]byte(Secured("u:p@tcp(h)/d")), []byte("tls=true")) {
		t.Error("tls=true is missing")
	}
}

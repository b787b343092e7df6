package main

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"ctbridge/test/tdspeer"
)

// The engine "peer" is the SQL Server engine against the small server of test/tdspeer, which runs as a process of its own, so that its CPU time is
// not that of the bench. It speaks the protocol and reads its rows from SQLite: the bridge's side of the wire is real, the server's speed is not.

// peerVerb makes this program the peer.
const peerVerb = "peer"

// openPeer starts the peer. Statements go to it as lines of JSON on its input, since it takes no writers over the wire.
func openPeer(ctx context.Context, _ *place, d *database) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	child := exec.CommandContext(ctx, self, peerVerb)
	child.Stderr = os.Stderr
	in, err := child.StdinPipe()
	if err != nil {
		return err
	}
	out, err := child.StdoutPipe()
	if err != nil {
		return err
	}
	if err := child.Start(); err != nil {
		return err
	}
	d.drop = func() { in.Close(); _ = child.Wait() }
	remote := &peerConn{in: json.NewEncoder(in), out: json.NewDecoder(bufio.NewReader(out))}
	d.flavour, d.source, d.driver, d.pid, d.server = flavours["sqlserver"], "sqlserver", "sqlserver", child.Process.Pid, "the peer of test/tdspeer, no SQL Server"
	d.remote = remote
	d.load = func(ctx context.Context, d *database, s shape) error { return insertLiterals(ctx, remote, d, s) }
	return remote.out.Decode(&d.dsn)
}

// peerConn sends statements to the peer.
type peerConn struct {
	in  *json.Encoder
	out *json.Decoder
}

// ExecContext runs one statement.
func (c *peerConn) ExecContext(_ context.Context, query string, _ ...any) (sql.Result, error) {
	var answer string
	if err := errors.Join(c.in.Encode(query), c.out.Decode(&answer)); err != nil {
		return nil, err
	}
	if answer != "" {
		return nil, errors.New(answer)
	}
	return nil, nil
}

// servePeer is the peer: it prints its DSN, then runs statements until its input ends.
func servePeer(in io.Reader, out io.Writer) (err error) {
	life := &peerLife{}
	defer func() { err = errors.Join(err, life.end()) }()
	d := tdspeer.NewDatabase(life, "dbo")
	server := tdspeer.Start(life, d.Answer)
	admin := d.Admin()
	defer admin.Close()
	encode, decode := json.NewEncoder(out), json.NewDecoder(in)
	if err := encode.Encode(server.DSN()); err != nil {
		return err
	}
	for {
		var statement, answer string
		if err := decode.Decode(&statement); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if _, err := admin.Exec(statement); err != nil {
			answer = err.Error()
		}
		if err := encode.Encode(answer); err != nil {
			return err
		}
	}
}

// peerLife is what the peer needs of a test: something that ends.
type peerLife struct {
	testing.TB // nil: other methods are not called
	ends       []func()
	dirs       []string
}

func (l *peerLife) Helper()           {}
func (l *peerLife) Cleanup(f func())  { l.ends = append(l.ends, f) }
func (l *peerLife) Fatal(args ...any) { panic(strings.TrimSpace(fmt.Sprintln(args...))) }

// TempDir makes a folder that goes with the peer.
func (l *peerLife) TempDir() string {
	dir, err := os.MkdirTemp("", "ctbridge-bench-peer-")
	if err != nil {
		l.Fatal(err)
	}
	l.dirs = append(l.dirs, dir)
	return dir
}

func (l *peerLife) end() (err error) {
	for i := len(l.ends) - 1; i >= 0; i-- {
		l.ends[i]()
	}
	for _, dir := range l.dirs {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return err
}

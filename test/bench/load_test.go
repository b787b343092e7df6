package main

import (
	"context"
	"io"
	"testing"

	"ctbridge/test/tdspeer"
)

func TestForms(t *testing.T) {
	t.Parallel()
	row := []any{"it's", nil, []byte{0x80, 0x01}, int64(-7), 1.5}
	for engine, want := range map[string]string{
		"sqlite": `('it''s', NULL, x'8001', -7, 1.5)`, "postgres": `('it''s', NULL, '\x8001', -7, 1.5)`, "sqlserver": `('it''s', NULL, 0x8001, -7, 1.5)`,
	} {
		if got := string(flavours[engine].appendLiterals(nil, row)); got != want {
			t.Errorf("%s: %s, want %s", engine, got, want)
		}
	}
	if got, want := string(appendTabbed(nil, row, `\\x`)), "it's\t\\N\t\\\\x8001\t-7\t1.5\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	lines, err := io.ReadAll(tabbed(shape{columns: standard(300), events: 3}, ""))
	if err != nil || len(lines) < 900 || lines[len(lines)-1] != '\n' {
		t.Errorf("%q, %v", lines, err)
	}
}

// What is filled in can be read, all of it, over pages.
func TestSQLite(t *testing.T) {
	t.Parallel()
	p := &place{dir: t.TempDir(), servers: map[string]string{}}
	d, err := openDatabase(t.Context(), p, "sqlite")
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	readsAll(t, d, 2*pageRows+10)
	if p.servers["sqlite"] == "" {
		t.Error("no version")
	}
}

// The same over the wire of SQL Server; what the peer process does is done here.
func TestPeer(t *testing.T) {
	t.Parallel()
	server := tdspeer.NewDatabase(t, "dbo")
	admin := server.Admin()
	t.Cleanup(func() { admin.Close() })
	d := &database{flavour: flavours["sqlserver"], source: "sqlserver", driver: "sqlserver", remote: admin, dsn: tdspeer.Start(t, server.Answer).DSN()}
	d.load = func(ctx context.Context, d *database, s shape) error { return insertLiterals(ctx, admin, d, s) }
	readsAll(t, d, pageRows+10)
}

func readsAll(t *testing.T, d *database, events int) {
	t.Helper()
	s := shape{table: "orders", columns: standard(300), events: events, updates: true, transaction: 10}
	if err := d.fill(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	read, done, err := d.reader(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	if err := readPages(read, s); err != nil {
		t.Error(err)
	}
	s.events--
	if err := readPages(read, s); err == nil {
		t.Error("a row too many is not seen")
	}
	if err := d.remove(t.Context(), s); err != nil {
		t.Error(err)
	}
}

package mssql

import (
	"database/sql"
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"ctbridge/bridge/change"
	"ctbridge/source"
	"ctbridge/source/enginetest"
	"ctbridge/test/tdspeer"
)

// TestConformance runs the suite against the peer's in-memory database: the wire, the driver and the engine are real, the server is not.
// TestConformanceOnAServer does the same against one that is.
func TestConformance(t *testing.T) {
	const schema = `ops-main "x" ]]`
	d := tdspeer.NewDatabase(t, schema)
	peer := tdspeer.Start(t, d.Answer)
	admin := d.Admin()
	t.Cleanup(func() { admin.Close() })
	h := harness(schema, admin, peer.DSN())
	h.Types = enginetypes()
	h.Server.Denied = nil // the peer knows no rights
	h.Skip = map[string]string{"facts of the server": "the peer has no SERVERPROPERTY: TestFacts scripts it", "facts of collations": "the peer's catalog has none", "facts of rows": "the peer has no sys.partitions: TestFacts scripts it", "Case55_Keyset": "the peer's database knows no CONVERT with styles: TestKeySQL compares the texts, TestConformanceOnAServer runs them"}
	enginetest.Run(t, h)
}

func harness(schema string, admin *sql.DB, dsn string) enginetest.Harness {
	u, err := url.Parse(dsn)
	if err != nil {
		panic("the test's own DSN is no URL")
	}
	password, _ := u.User.Password()
	return enginetest.Harness{
		Schema:   schema,
		Open:     func(t *testing.T) source.Engine { return openDSN(t, Config{DSN: dsn}) },
		Admin:    admin,
		Computed: "AS (a + 1)",
		Slow:     "WAITFOR DELAY '00:00:30'; SELECT CAST(1 AS bigint) AS x",
		Server: &enginetest.Server{
			Addr:     u.Host,
			Password: password,
			OpenAt: func(t *testing.T, way enginetest.Way) (source.Engine, error) {
				moved := *u
				moved.Host, moved.User = way.Addr, url.UserPassword(u.User.Username(), way.Password)
				return openDSN(t, Config{DSN: moved.String(), ConnectTimeout: way.Patience, ReadTimeout: way.Patience}), nil
			},
		},
	}
}

func openDSN(t *testing.T, cfg Config) *Engine {
	t.Helper()
	e, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// enginetypes are the wire types as T-SQL literals, and types without decoder.
func enginetypes() []enginetest.Type {
	var all []enginetest.Type
	for _, w := range wireTypes() {
		typ := enginetest.Type{DDL: w.ddl, Want: w.want}
		if w.ddl != "timestamp" { // the server fills it
			for i, v := range w.sent {
				typ.Values = append(typ.Values, enginetest.Value{Literal: literal(v), Want: w.read[i]})
			}
		}
		all = append(all, typ)
	}
	return all
}

// literal writes a value in T-SQL.
func literal(v any) string {
	switch v := v.(type) {
	case bool:
		if v {
			return "1"
		}
		return "0"
	case []byte:
		return "0x" + hex.EncodeToString(v)
	case string:
		return "N'" + strings.ReplaceAll(v, "'", "''") + "'"
	}
	return fmt.Sprint(v)
}

// TestDescribe: what the catalog's queries make of tables, on the peer's database.
func TestDescribe(t *testing.T) {
	d := tdspeer.NewDatabase(t, "dbo")
	admin := d.Admin()
	defer admin.Close()
	for _, text := range []string{
		"CREATE TABLE [dbo].[parcel] ([id] int NOT NULL, [code] nvarchar(5) NOT NULL, [total] AS (id + 1), [spot] geography, PRIMARY KEY ([code], [id]))",
		"CREATE TABLE [dbo].[by name] ([a] int NOT NULL, [b] int NOT NULL, [c] int)",
		"CREATE UNIQUE INDEX [z1] ON [dbo].[by name] ([a])",
		"CREATE UNIQUE INDEX [a1] ON [dbo].[by name] ([b])",
		"CREATE UNIQUE INDEX [a0] ON [dbo].[by name] ([c])",
		"CREATE UNIQUE INDEX [a00] ON [dbo].[by name] ([a]) WHERE a > 3",
	} {
		if _, err := admin.Exec(text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	e := openPeer(t, tdspeer.Start(t, d.Answer), Config{})
	ids := []change.TableID{{Schema: "dbo", Name: "parcel"}, {Schema: "dbo", Name: "by name"}}
	for i := range 300 { // more than one pair of queries takes
		ids = append(ids, change.TableID{Schema: "dbo", Name: fmt.Sprint("missing", i)})
	}
	found, err := e.Describe(t.Context(), ids)
	if err != nil || len(found) != 2 {
		t.Fatalf("%+v, %v", found, err)
	}
	want := [][]change.Column{
		{{Name: "a", Native: "int", Type: change.Type{Kind: change.Int4}}, {Name: "b", Native: "int", Type: change.Type{Kind: change.Int4}, KeyPosition: 1},
			{Name: "c", Native: "int", Type: change.Type{Kind: change.Int4}, Nullable: true}},
		{{Name: "id", Native: "int", Type: change.Type{Kind: change.Int4}, KeyPosition: 2},
			{Name: "code", Native: "nvarchar(5)", Type: change.Type{Kind: change.WString, Length: 10}, KeyPosition: 1},
			{Name: "total", Native: "int", Type: change.Type{Kind: change.Int4}, Nullable: true},
			{Name: "spot", Native: "geography", Nullable: true}},
	}
	for i := range want {
		if fmt.Sprint(found[i].Columns) != fmt.Sprint(want[i]) || found[i].Identity == "" {
			t.Errorf("%s: %+v identity %q", found[i].ID, found[i].Columns, found[i].Identity)
		}
	}
	if fmt.Sprint(found[1].Computed) != "[total]" {
		t.Errorf("computed %v", found[1].Computed)
	}
}

package mssql

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/source"
	"ctbridge/test/tdspeer"
)

// TestOpenRefuses bad DSNs, and never shows a password.
func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	const secret = "s3cret"
	for _, dsn := range []string{
		"",
		"sqlserver://u:" + secret + "@host:port/",
		"sqlserver://u:p@" + secret + "/w@host/%zz",
		"sqlserver://u:" + secret + "@host?encrypt=perhaps",
		"sqlserver://u:" + secret + "@host?connection+timeout=soon",
		"server=host;user id=u;password=" + secret + ";port=none",
		"user id=u;password=" + secret,
		"postgres://u:" + secret + "@host/db",
	} {
		_, err := Open(Config{DSN: dsn})
		if err == nil {
			t.Errorf("%q is accepted", dsn)
			continue
		}
		if fault.ClassOf(err) != fault.Config || strings.Contains(fmt.Sprintf("%v %+v", err, errors.Unwrap(err)), secret) {
			t.Errorf("%q gave %v", dsn, err)
		}
	}
}

// TestEncryptionDefault: a DSN that is silent about encryption means encryption with a checked certificate.
func TestEncryptionDefault(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string][3]bool{ // required, trusted without check, off
		"sqlserver://u:p%40ss@host?database=d":                          {true, false, false},
		"sqlserver://u:p@host":                                          {true, false, false},
		"server=host;user id=u;password=p;database=d":                   {true, false, false},
		"server=host;user id=u;password=p; ":                            {true, false, false},
		"odbc:server=host;user id=u;password={p;x};database=d":          {true, false, false},
		"sqlserver://u:p@host?TrustServerCertificate=true":              {true, true, false},
		"server=host;user id=u;password=p;encrypt=disable":              {false, false, true},
		"sqlserver://u:p@host?encrypt=true&TrustServerCertificate=true": {true, true, false},
	} {
		c, err := parseDSN(dsn)
		if err != nil {
			t.Errorf("%s: %v", dsn, err)
			continue
		}
		if got := [3]bool{c.Encryption == 1, c.TrustServerCertificate, c.Encryption == 3}; got != want {
			t.Errorf("%s: required, trusted, off = %v, want %v", dsn, got, want)
		}
		if c.User != "u" || c.Host != "host" || c.AppName != "ctbridge" || c.Password == "" {
			t.Errorf("%s lost something: %q %q %q", dsn, c.User, c.Host, c.AppName)
		}
	}
	c, err := parseDSN("sqlserver://u:p%40ss@host?app+name=mine&guid+conversion=true&timezone=Asia/Tokyo")
	if err != nil || c.AppName != "mine" || c.Password != "p@ss" || c.Encoding.GuidConversion || c.Encoding.Timezone != time.UTC {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestServerWithoutEncryption is refused unless the DSN says so.
func TestServerWithoutEncryption(t *testing.T) {
	t.Parallel()
	peer := tdspeer.Start(t, nil)
	e := openPeer(t, peer, Config{DSN: strings.Replace(peer.DSN(), "encrypt=disable&", "", 1)})
	err := e.Ping(context.Background())
	if err == nil || !strings.Contains(fault.HintOf(err), "encrypt") {
		t.Errorf("got %v", err)
	}
	if n := len(peer.Logins()); n != 0 {
		t.Errorf("%d logins in clear", n)
	}
}

// TestSession: what a new connection says about itself and how it sets itself up, once.
func TestSession(t *testing.T) {
	t.Parallel()
	peer := tdspeer.Start(t, answerWith(ints(1)))
	e := openPeer(t, peer, Config{DSN: peer.DSN("packet+size=8192"), LockTimeout: 1500 * time.Millisecond, MaxConns: 1})
	for range 3 {
		if _, err := readAll(context.Background(), e.Prepare("SELECT v", oneInt), 1); err != nil {
			t.Fatal(err)
		}
	}
	login := peer.Logins()[0]
	if login.User != "peer" || login.Password != "s3cret" || login.Database != "main" || login.App != "ctbridge" || login.PacketSize != 8192 {
		t.Errorf("login %+v", login)
	}
	want := []string{"SET QUOTED_IDENTIFIER ON; SET LOCK_TIMEOUT 1500; SET DEADLOCK_PRIORITY LOW; SET TRANSACTION ISOLATION LEVEL READ COMMITTED; SET LANGUAGE us_english",
		"SELECT v", "SELECT v", "SELECT v"}
	if got := peer.Queries(); !slices.Equal(got, want) {
		t.Errorf("queries %q", got)
	}
}

// TestArguments: how arguments reach the server.
func TestArguments(t *testing.T) {
	t.Parallel()
	var got []any
	peer := tdspeer.Start(t, func(_ string, args []any) tdspeer.Result {
		got = args
		return ints(0)
	})
	e := openPeer(t, peer, Config{})
	long := strings.Repeat("x", 9000)
	sent := []any{"20310510160001000000000000000000001", "", "größe", long, int64(-5), []byte{0, 255}, []byte{}}
	want := []any{tdspeer.VarChar("20310510160001000000000000000000001"), tdspeer.VarChar(""), "größe", tdspeer.VarChar(long), int64(-5), []byte{0, 255}, []byte{}}
	if _, err := readAll(context.Background(), e.Prepare("SELECT v", oneInt), 1, sent...); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", want) {
		t.Errorf("arguments %#v, want %#v", got, want)
	}
}

func TestDialect(t *testing.T) {
	t.Parallel()
	var d dialect
	for got, want := range map[string]string{
		d.Quote("a[b"):      "[a[b]",
		d.Quote("odd]name"): `"odd]name"`,
		d.Quote(`[a]."b`):   `"[a].""b"`,
		d.Table(change.TableID{Schema: "dbo", Name: "Acme Ltd$Item Ledger$4f2a"}): "[dbo].[Acme Ltd$Item Ledger$4f2a]",
		d.Table(change.TableID{Name: "t"}):                                        "[t]",
		d.Param(3, source.ArgText):                                                "@p3",
		d.Limit("@p3"):                                                            "OFFSET 0 ROWS FETCH NEXT @p3 ROWS ONLY",
		d.Column("l", change.Column{Name: "Unit, Price", Native: "money"}):        "l.[Unit, Price]",
		d.Column("", change.Column{Name: "a", Native: "int"}):                     "[a]",
		d.Column("l", change.Column{Name: "route", Native: "hierarchyid"}):        "l.[route].ToString()",
		d.Column("l", change.Column{Name: "doc", Native: "json"}):                 "CAST(l.[doc] AS nvarchar(max))",
		d.Union([]string{"SELECT 1 AS a", "SELECT 2 AS a"}):                       "SELECT * FROM (SELECT 1 AS a) AS u0 UNION ALL SELECT * FROM (SELECT 2 AS a) AS u1",
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestUnionStaysFlat: no level of a large union has more than unionWidth members, and none is lost.
func TestUnionStaysFlat(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 100, 101, 1200, 10_001} {
		var selects []string
		for i := range n {
			selects = append(selects, fmt.Sprintf("SELECT %d AS n", i))
		}
		text := dialect{}.Union(selects)
		depth, members, most := 0, map[int]int{}, 0
		for i := range text {
			switch {
			case text[i] == '(':
				depth++
				members[depth] = 0
			case text[i] == ')':
				depth--
			case strings.HasPrefix(text[i:], "UNION ALL"):
				members[depth]++
				most = max(most, members[depth]+1)
			}
		}
		if most > unionWidth || depth != 0 || strings.Count(text, "SELECT ") < 2*n {
			t.Errorf("%d selects: %d side by side, depth %d", n, most, depth)
		}
	}
}

// TestUnsupported: types without decoder are named, and stop their table only (case 58).
func TestCase58_UnsupportedTypes(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"sql_variant", "geometry", "geography", "vector"} {
		typ, native := typeOf(catalogType{name: name})
		if typ.Kind != change.Unsupported || native != name {
			t.Errorf("%s is %+v %q", name, typ, native)
		}
		peer := tdspeer.Start(t, answerWith(ints(1)))
		_, err := openPeer(t, peer, Config{}).Prepare("SELECT v", []change.Column{{Name: "spot", Type: typ, Native: native}}).Query(context.Background())
		if fault.ClassOf(err) != fault.Table || err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	typ, native := typeOf(catalogType{name: "hierarchyid", length: 892})
	if typ != (change.Type{Kind: change.String, Length: 4000}) || native != "hierarchyid" {
		t.Errorf("hierarchyid is %+v %q", typ, native)
	}
}

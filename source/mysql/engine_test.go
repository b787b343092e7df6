package mysql_test

import (
	"crypto/rand"
	"database/sql"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	vendor "github.com/go-sql-driver/mysql"

	"ctbridge/bridge/change"
	"ctbridge/source"
	"ctbridge/source/enginetest"
	"ctbridge/source/mysql"
)

// scratch is a database of its own on the test server, dropped at the end.
type scratch struct {
	settings *vendor.Config
	name     string
	admin    *sql.DB
}

func newScratch(t testing.TB) *scratch {
	t.Helper()
	dsn := os.Getenv("CTBRIDGE_TEST_MARIADB")
	if dsn == "" {
		t.Skip("CTBRIDGE_TEST_MARIADB is not set")
	}
	settings, err := vendor.ParseDSN(dsn)
	if err != nil {
		t.Fatal("CTBRIDGE_TEST_MARIADB is not a DSN")
	}
	s := &scratch{settings: settings, name: "ops-main-" + rand.Text()[:8]}
	root := pool(t, settings)
	exec(t, root, "CREATE DATABASE `"+s.name+"` CHARACTER SET utf8mb4")
	t.Cleanup(func() { exec(t, root, "DROP DATABASE `"+s.name+"`") })
	settings.DBName = s.name
	settings.Params = map[string]string{"sql_mode": "''", "time_zone": "'+00:00'"} // lets the administrator store zero dates
	s.admin = pool(t, settings)
	return s
}

func pool(t testing.TB, settings *vendor.Config) *sql.DB {
	t.Helper()
	connector, err := vendor.NewConnector(settings)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	t.Cleanup(func() { db.Close() })
	return db
}

func exec(t testing.TB, db *sql.DB, text string) {
	t.Helper()
	if _, err := db.Exec(text); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

func (s *scratch) open(t testing.TB, change func(*vendor.Config), cfg mysql.Config) *mysql.Engine {
	t.Helper()
	settings := s.settings.Clone()
	if change != nil {
		change(settings)
	}
	cfg.DSN = settings.FormatDSN()
	e, err := mysql.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestEngine(t *testing.T) {
	s := newScratch(t)
	enginetest.Run(t, enginetest.Harness{
		Schema:   s.name,
		Open:     func(t *testing.T) source.Engine { return s.open(t, nil, mysql.Config{}) },
		Admin:    s.admin,
		Computed: "int GENERATED ALWAYS AS (a + 1) STORED",
		Slow:     "SELECT SLEEP(30)",
		Types:    types(),
		Keysets:  keysets(),
		Indexed:  s.indexed,
		Server: &enginetest.Server{
			Addr:     s.settings.Addr,
			Password: s.settings.Passwd,
			OpenAt: func(t *testing.T, way enginetest.Way) (source.Engine, error) {
				return s.open(t, func(c *vendor.Config) { c.Addr, c.Passwd = way.Addr, way.Password },
					mysql.Config{ConnectTimeout: way.Patience, ReadTimeout: way.Patience}), nil
			},
			Denied: s.denied,
		},
	})
}

// indexed reads the plan: access types "range" and "ref" look up, "ALL" and "index" scan.
func (s *scratch) indexed(t *testing.T, query string, args ...any) bool {
	t.Helper()
	rows, err := s.admin.Query("EXPLAIN "+query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil || !rows.Next() {
		t.Fatal(err)
	}
	cells := make([]sql.NullString, len(columns))
	dst := make([]any, len(columns))
	for i := range cells {
		dst[i] = &cells[i]
	}
	if err := rows.Scan(dst...); err != nil {
		t.Fatal(err)
	}
	for i, name := range columns {
		if name == "type" {
			return cells[i].String == "range" || cells[i].String == "ref"
		}
	}
	return false
}

// denied makes a user who may see another table of the database only.
func (s *scratch) denied(t *testing.T, id change.TableID) source.Engine {
	t.Helper()
	user, password := "u"+strings.ToLower(rand.Text()[:8]), rand.Text()
	exec(t, s.admin, "CREATE TABLE allowed (a int)")
	exec(t, s.admin, "CREATE USER '"+user+"'@'%' IDENTIFIED BY '"+password+"'")
	t.Cleanup(func() { exec(t, s.admin, "DROP USER '"+user+"'@'%'") })
	exec(t, s.admin, "GRANT SELECT ON `"+s.name+"`.allowed TO '"+user+"'@'%'")
	return s.open(t, func(c *vendor.Config) { c.User, c.Passwd = user, password }, mysql.Config{})
}

func text(s string) change.Value  { return change.TextValue([]byte(s)) }
func dec(s string) change.Value   { return change.DecimalValue([]byte(s)) }
func bytes(s string) change.Value { return change.BytesValue([]byte(s)) }

func types() []enginetest.Type {
	var all []enginetest.Type
	all = append(all, integerTypes()...)
	all = append(all, numberTypes()...)
	all = append(all, textTypes()...)
	all = append(all, bytesTypes()...)
	all = append(all, momentTypes()...)
	return append(all, enginetest.Type{DDL: "point", Want: change.Type{}}, enginetest.Type{DDL: "geometry", Want: change.Type{}})
}

func integers(ddl string, kind change.Kind, literals ...int64) enginetest.Type {
	typ := enginetest.Type{DDL: ddl, Want: change.Type{Kind: kind}}
	for _, n := range literals {
		typ.Values = append(typ.Values, enginetest.Value{Literal: strconv.FormatInt(n, 10), Want: change.IntValue(n)})
	}
	return typ
}

func integerTypes() []enginetest.Type {
	return []enginetest.Type{
		integers("tinyint", change.Int1, -128, 0, 127), integers("tinyint(1)", change.Int1, 0, 1, 7), integers("boolean", change.Int1, 0, 1),
		integers("tinyint unsigned", change.Uint1, 0, 255), // case 57
		integers("smallint", change.Int2, -32768, 32767), integers("smallint unsigned", change.Uint2, 0, 65535),
		integers("mediumint", change.Int4, -8388608, 8388607), integers("mediumint unsigned", change.Uint4, 0, 16777215),
		integers("int", change.Int4, math.MinInt32, math.MaxInt32), integers("int(10) unsigned zerofill", change.Uint4, 0, math.MaxUint32),
		integers("bigint", change.Int8, math.MinInt64, math.MaxInt64), integers("year", change.Int2, 0, 1901, 2155),
		{DDL: "bigint unsigned", Want: change.Type{Kind: change.Uint8}, Values: []enginetest.Value{
			{Literal: "0", Want: change.UintValue(0)}, {Literal: "9223372036854775807", Want: change.UintValue(math.MaxInt64)},
			{Literal: "9223372036854775808", Want: change.UintValue(1 << 63)}, {Literal: "18446744073709551615", Want: change.UintValue(math.MaxUint64)},
		}},
	}
}

func numberTypes() []enginetest.Type {
	nines := strings.Repeat("9", 35)
	return []enginetest.Type{
		{DDL: "decimal(10,2)", Want: change.Type{Kind: change.Numeric, Precision: 10, Scale: 2}, Values: []enginetest.Value{
			{Literal: "12.3", Want: dec("12.30")}, {Literal: "-0.05", Want: dec("-0.05")}, {Literal: "99999999.99", Want: dec("99999999.99")}, {Literal: "0", Want: dec("0.00")},
		}},
		{DDL: "decimal(65,30)", Want: change.Type{Kind: change.Numeric, Precision: 65, Scale: 30}, Values: []enginetest.Value{
			{Literal: nines + "." + nines[:30], Want: dec(nines + "." + nines[:30])}, {Literal: "-" + nines + ".5", Want: dec("-" + nines + ".5" + strings.Repeat("0", 29))},
		}},
		{DDL: "decimal(4,4)", Want: change.Type{Kind: change.Numeric, Precision: 4, Scale: 4}, Values: []enginetest.Value{{Literal: "0.2346", Want: dec("0.2346")}}},
		{DDL: "decimal(6,0) unsigned zerofill", Want: change.Type{Kind: change.Numeric, Precision: 6}, Values: []enginetest.Value{{Literal: "42", Want: dec("42")}}},
		{DDL: "float", Want: change.Type{Kind: change.Real4}, Values: []enginetest.Value{
			{Literal: "0.1", Want: change.Float32Value(0.1)}, {Literal: "16777215", Want: change.Float32Value(16777215)}, {Literal: "-3.402823e38", Want: change.Float32Value(-3.402823e38)},
		}},
		{DDL: "double", Want: change.Type{Kind: change.Real8}, Values: []enginetest.Value{
			{Literal: "0.1e0", Want: change.Float64Value(0.1)}, {Literal: "0.1e0 + 0.2e0", Want: change.Float64Value(0.30000000000000004)},
			{Literal: "1.7976931348623157e308", Want: change.Float64Value(math.MaxFloat64)}, {Literal: "-2.2250738585072014e-308", Want: change.Float64Value(-2.2250738585072014e-308)},
		}},
	}
}

func textTypes() []enginetest.Type {
	unicode := []enginetest.Value{
		{Literal: "'größe 名前 \U0001F4E6'", Want: text("größe 名前 \U0001F4E6")}, {Literal: "''", Want: text("")}, {Literal: "'a\\nb\\0'", Want: text("a\nb\x00")},
	}
	latin := []enginetest.Value{{Literal: "'größe €'", Want: text("größe €")}}
	return []enginetest.Type{
		{DDL: "char(20)", Want: change.Type{Kind: change.String, Length: 80}, Values: unicode},
		{DDL: "varchar(20)", Want: change.Type{Kind: change.String, Length: 80}, Values: append(unicode, enginetest.Value{Literal: "' a '", Want: text(" a ")})},
		{DDL: "varchar(20) character set latin1", Want: change.Type{Kind: change.String, Length: 20}, Values: latin},
		{DDL: "varchar(20) character set ucs2", Want: change.Type{Kind: change.String, Length: 40}, Values: latin},
		{DDL: "text", Want: change.Type{Kind: change.Clob}, Values: unicode}, {DDL: "tinytext", Want: change.Type{Kind: change.Clob}, Values: unicode},
		{DDL: "mediumtext", Want: change.Type{Kind: change.Clob}, Values: unicode}, {DDL: "longtext", Want: change.Type{Kind: change.Clob}, Values: unicode},
		{DDL: "json", Want: change.Type{Kind: change.Clob}, Values: []enginetest.Value{{Literal: `'{"a": 1.10}'`, Want: text(`{"a": 1.10}`)}}},
		{DDL: "enum('new','a,b','größe')", Want: change.Type{Kind: change.String, Length: 20}, Values: []enginetest.Value{
			{Literal: "'new'", Want: text("new")}, {Literal: "'a,b'", Want: text("a,b")}, {Literal: "3", Want: text("größe")}, {Literal: "'no such'", Want: text("")},
		}},
		{DDL: "set('x','y','z')", Want: change.Type{Kind: change.String, Length: 20}, Values: []enginetest.Value{
			{Literal: "'x,z'", Want: text("x,z")}, {Literal: "''", Want: text("")},
		}},
		{DDL: "uuid", Want: change.Type{Kind: change.UUID}, Values: []enginetest.Value{
			{Literal: "'00112233-4455-6677-8899-AABBCCDDEEFF'", Want: text("00112233-4455-6677-8899-aabbccddeeff")},
		}},
		{DDL: "inet6", Want: change.Type{Kind: change.String}, Values: []enginetest.Value{{Literal: "'2001:db8::1'", Want: text("2001:db8::1")}}},
	}
}

func bytesTypes() []enginetest.Type {
	raw := []enginetest.Value{{Literal: "x''", Want: bytes("")}, {Literal: "x'00ff10'", Want: bytes("\x00\xff\x10")}}
	return []enginetest.Type{
		{DDL: "varbinary(128)", Want: change.Type{Kind: change.Bytes, Length: 128}, Values: raw},
		{DDL: "binary(4)", Want: change.Type{Kind: change.Bytes, Length: 4}, Values: []enginetest.Value{{Literal: "x'00ff'", Want: bytes("\x00\xff\x00\x00")}}},
		{DDL: "blob", Want: change.Type{Kind: change.Blob}, Values: raw}, {DDL: "tinyblob", Want: change.Type{Kind: change.Blob}, Values: raw},
		{DDL: "mediumblob", Want: change.Type{Kind: change.Blob}, Values: raw}, {DDL: "longblob", Want: change.Type{Kind: change.Blob}, Values: raw},
		{DDL: "bit(1)", Want: change.Type{Kind: change.Bool}, Values: []enginetest.Value{{Literal: "b'0'", Want: change.BoolValue(false)}, {Literal: "b'1'", Want: change.BoolValue(true)}}},
		{DDL: "bit(12)", Want: change.Type{Kind: change.Bytes, Length: 2}, Values: []enginetest.Value{{Literal: "b'100000000001'", Want: bytes("\x08\x01")}, {Literal: "0", Want: bytes("\x00\x00")}}},
		{DDL: "bit(64)", Want: change.Type{Kind: change.Bytes, Length: 8}, Values: []enginetest.Value{{Literal: "x'ff00000000000001'", Want: bytes("\xff\x00\x00\x00\x00\x00\x00\x01")}}},
	}
}

func momentTypes() []enginetest.Type {
	const day = 22409 // 2031-05-10
	const at = day*86400 + 57601
	return []enginetest.Type{
		{DDL: "date", Want: change.Type{Kind: change.Date}, Poison: []string{"'0000-00-00'", "'2026-00-00'", "'2026-02-00'"}, Values: []enginetest.Value{
			{Literal: "'2031-05-10'", Want: change.DateValue(day)}, {Literal: "'1000-01-01'", Want: change.DateValue(-354285)}, {Literal: "'9999-12-31'", Want: change.DateValue(2932896)},
		}},
		{DDL: "datetime", Want: change.Type{Kind: change.DateTime}, Poison: []string{"'0000-00-00 00:00:00'", "'2026-00-10 10:00:00'"}, Values: []enginetest.Value{
			{Literal: "'2031-05-10 16:00:01'", Want: change.DateTimeValue(at, 0)}, {Literal: "'2031-05-10'", Want: change.DateTimeValue(day*86400, 0)},
			{Literal: "'9999-12-31 23:59:59'", Want: change.DateTimeValue(2932896*86400+86399, 0)},
		}},
		{DDL: "datetime(6)", Want: change.Type{Kind: change.DateTime, Scale: 6}, Poison: []string{"'0000-00-00 00:00:00.000000'"}, Values: []enginetest.Value{
			{Literal: "'2031-05-10 16:00:01.604800'", Want: change.DateTimeValue(at, 604800000)}, {Literal: "'1969-12-31 23:59:59.999999'", Want: change.DateTimeValue(-1, 999999000)},
		}},
		{DDL: "datetime(3)", Want: change.Type{Kind: change.DateTime, Scale: 3}, Values: []enginetest.Value{{Literal: "'2031-05-10 16:00:01.600'", Want: change.DateTimeValue(at, 600000000)}}},
		{DDL: "timestamp(3) NULL", Want: change.Type{Kind: change.DateTimeTZ, Scale: 3}, Poison: []string{"'0000-00-00 00:00:00'"}, Values: []enginetest.Value{
			{Literal: "'2031-05-10 16:00:01.250'", Want: change.InstantValue(at, 250000000, 0)}, {Literal: "FROM_UNIXTIME(1)", Want: change.InstantValue(1, 0, 0)},
			{Literal: "'2038-01-19 03:14:07.999'", Want: change.InstantValue(math.MaxInt32, 999000000, 0)},
		}},
		{DDL: "time", Want: change.Type{Kind: change.Time}, Values: []enginetest.Value{
			{Literal: "'838:59:59'", Want: change.TimeValue(3020399, 0)}, {Literal: "'-838:59:59'", Want: change.TimeValue(-3020399, 0)}, {Literal: "'00:00:00'", Want: change.TimeValue(0, 0)},
		}},
		{DDL: "time(6)", Want: change.Type{Kind: change.Time, Scale: 6}, Values: []enginetest.Value{
			{Literal: "'23:59:59.999999'", Want: change.TimeValue(86399, 999999000)}, {Literal: "'-00:00:00.000001'", Want: change.TimeValue(0, -1000)},
		}},
	}
}

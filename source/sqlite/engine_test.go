package sqlite_test

import (
	"database/sql"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"ctbridge/bridge/change"
	"ctbridge/source"
	"ctbridge/source/enginetest"
	"ctbridge/source/sqlite"
)

// newFile makes an empty database file and a writer's pool on it.
func newFile(t testing.TB, journal string) (path string, writer *sql.DB) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "ops-main 100%?#.db")
	escaped := strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path)
	writer, err := sql.Open("sqlite", "file:"+escaped+"?_pragma=busy_timeout(5000)&_pragma=synchronous(0)&_pragma=journal_mode("+journal+")")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { writer.Close() })
	if err := writer.Ping(); err != nil {
		t.Fatal(err)
	}
	return path, writer
}

func open(t testing.TB, path string) *sqlite.Engine {
	t.Helper()
	e, err := sqlite.Open(sqlite.Config{DSN: path})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestEngine(t *testing.T) {
	for _, journal := range []string{"wal", "delete"} {
		t.Run(journal, func(t *testing.T) {
			path, writer := newFile(t, journal)
			enginetest.Run(t, enginetest.Harness{
				Open:     func(t *testing.T) source.Engine { return open(t, path) },
				Admin:    writer,
				Computed: "int GENERATED ALWAYS AS (a + 1) STORED",
				Slow:     "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 1000000000) SELECT max(x) FROM n",
				Types:    types(),
				Keysets:  keysets(),
				Indexed:  func(t *testing.T, query string, args ...any) bool { return indexed(t, writer, query, args...) },
			})
		})
	}
}

func indexed(t *testing.T, db *sql.DB, query string, args ...any) bool {
	t.Helper()
	rows, err := db.Query("EXPLAIN QUERY PLAN "+query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var plan string
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		plan += detail + "\n"
	}
	return strings.Contains(plan, "SEARCH") && !strings.Contains(plan, "SCAN") && !strings.Contains(plan, "TEMP B-TREE")
}

func text(s string) change.Value { return change.TextValue([]byte(s)) }
func dec(s string) change.Value  { return change.DecimalValue([]byte(s)) }

// types are the declared types with the values that they hold exactly and those that they do not.
func types() []enginetest.Type {
	var all []enginetest.Type
	all = append(all, integerTypes()...)
	all = append(all, numberTypes()...)
	all = append(all, textTypes()...)
	all = append(all, momentTypes()...)
	return append(all, enginetest.Type{DDL: "geo", Want: change.Type{}}, enginetest.Type{DDL: "", Want: change.Type{}})
}

func integerType(ddl string, kind change.Kind, poison ...string) enginetest.Type {
	return enginetest.Type{DDL: ddl, Want: change.Type{Kind: kind}, Poison: append(poison, "'n/a'", "1.5", "x'01'"), Values: []enginetest.Value{
		{Literal: "0", Want: change.IntValue(0)}, {Literal: "1", Want: change.IntValue(1)}, {Literal: "'7'", Want: change.IntValue(7)},
	}}
}

func integerTypes() []enginetest.Type {
	big := integerType("INTEGER", change.Int8, "9223372036854775808")
	big.Values = append(big.Values, enginetest.Value{Literal: "9223372036854775807", Want: change.IntValue(math.MaxInt64)},
		enginetest.Value{Literal: "-9223372036854775808", Want: change.IntValue(math.MinInt64)})
	small := integerType("smallint", change.Int2, "32768", "-32769")
	small.Values = append(small.Values, enginetest.Value{Literal: "-32768", Want: change.IntValue(-32768)})
	unsigned := integerType("bigint unsigned", change.Uint8, "-1")
	for i := range unsigned.Values {
		unsigned.Values[i].Want = change.UintValue(unsigned.Values[i].Want.Uint())
	}
	tiny := integerType("TINYINT", change.Int2, "32768") // case 57: 255 from a product where it is unsigned
	tiny.Values = append(tiny.Values, enginetest.Value{Literal: "255", Want: change.IntValue(255)})
	return []enginetest.Type{
		big, small, unsigned, tiny,
		integerType("int", change.Int8), integerType("BIGINT(20)", change.Int8), integerType("int4", change.Int4, "2147483648"),
		integerType("tinyint unsigned", change.Uint1, "256", "-1"), integerType("BIG INT", change.Int8),
		{DDL: "boolean", Want: change.Type{Kind: change.Bool}, Poison: []string{"2", "'true'"}, Values: []enginetest.Value{
			{Literal: "0", Want: change.BoolValue(false)}, {Literal: "1", Want: change.BoolValue(true)}, {Literal: "TRUE", Want: change.BoolValue(true)},
		}},
	}
}

func numberTypes() []enginetest.Type {
	return []enginetest.Type{
		{DDL: "double precision", Want: change.Type{Kind: change.Real8}, Poison: []string{"'n/a'", "x'00'"}, Values: []enginetest.Value{
			{Literal: "0.1", Want: change.Float64Value(0.1)}, {Literal: "3", Want: change.Float64Value(3)},
			{Literal: "1.7976931348623157e308", Want: change.Float64Value(math.MaxFloat64)}, {Literal: "5e-324", Want: change.Float64Value(5e-324)},
			{Literal: "9e999", Want: change.Float64Value(math.Inf(1))}, {Literal: "-9e999", Want: change.Float64Value(math.Inf(-1))},
		}},
		{DDL: "decimal(10,2)", Want: change.Type{Kind: change.Numeric, Precision: 10, Scale: 2},
			// Case 91 is 'n/a'; the fourth is what 0.1 + 0.2 gives.
			Poison: []string{"'n/a'", "1.234", "123456789", "0.1 + 0.2", "1e400", "x'31'"},
			Values: []enginetest.Value{
				{Literal: "'12.30'", Want: dec("12.30")}, {Literal: "12.3", Want: dec("12.30")}, {Literal: "7", Want: dec("7.00")},
				{Literal: "-0.05", Want: dec("-0.05")}, {Literal: "'99999999.99'", Want: dec("99999999.99")}, {Literal: "0.0", Want: dec("0.00")},
			}},
		{DDL: "decimal(4,4)", Want: change.Type{Kind: change.Numeric, Precision: 4, Scale: 4}, Values: []enginetest.Value{
			{Literal: "0.2346", Want: dec("0.2346")}, // case 57
		}},
		{DDL: "numeric", Want: change.Type{Kind: change.Numeric}, Values: []enginetest.Value{
			{Literal: "1.5", Want: dec("1.5")}, {Literal: "1e20", Want: dec("100000000000000000000")}, {Literal: "'1e-7'", Want: dec("0.0000001")},
		}},
		// Affinity TEXT keeps all digits of a decimal, for those who need them.
		{DDL: "MONEY", Want: change.Type{Kind: change.Numeric}, Values: []enginetest.Value{{Literal: "'922337203685.5807'", Want: dec("922337203685.5807")}}},
	}
}

func textTypes() []enginetest.Type {
	values := []enginetest.Value{
		{Literal: "'größe 名前 \U0001F4E6'", Want: text("größe 名前 \U0001F4E6")}, {Literal: "''", Want: text("")}, {Literal: "' a '", Want: text(" a ")},
	}
	bytes := []enginetest.Value{
		{Literal: "x''", Want: change.BytesValue([]byte{})}, {Literal: "x'00ff10'", Want: change.BytesValue([]byte{0, 0xff, 0x10})},
	}
	canonical := text("00112233-4455-6677-8899-aabbccddeeff")
	return []enginetest.Type{
		{DDL: "text", Want: change.Type{Kind: change.String}, Values: values, Poison: []string{"x'ff'", "CAST(x'ff41' AS TEXT)"}},
		{DDL: "character varying(20)", Want: change.Type{Kind: change.String, Length: 20}, Values: values},
		{DDL: "nvarchar(20)", Want: change.Type{Kind: change.WString, Length: 20}, Values: values},
		{DDL: "clob", Want: change.Type{Kind: change.Clob}, Values: values},
		{DDL: "blob", Want: change.Type{Kind: change.Blob}, Values: bytes, Poison: []string{"'text'", "5"}},
		{DDL: "varbinary(128)", Want: change.Type{Kind: change.Bytes, Length: 128}, Values: bytes},
		{DDL: "json", Want: change.Type{Kind: change.JSON}, Poison: []string{"x'00'", "9e999"}, Values: []enginetest.Value{
			{Literal: `'{"a": 1.10}'`, Want: text(`{"a": 1.10}`)}, {Literal: "'17'", Want: text("17")}, {Literal: "'1.5'", Want: text("1.5")},
		}},
		{DDL: "uuid", Want: change.Type{Kind: change.UUID}, Poison: []string{"'00112233445566778899aabbccddeeff'", "x'0011'", "''"}, Values: []enginetest.Value{
			{Literal: "'00112233-4455-6677-8899-AABBCCDDEEFF'", Want: canonical}, {Literal: "x'00112233445566778899aabbccddeeff'", Want: canonical},
		}},
	}
}

func momentTypes() []enginetest.Type {
	const day = 22409 // 2031-05-10
	return []enginetest.Type{
		{DDL: "date", Want: change.Type{Kind: change.Date}, Poison: []string{"'2031-02-30'", "'0000-00-00'", "'10.05.2031'", "2460000.5", "5"},
			Values: []enginetest.Value{
				{Literal: "'2031-05-10'", Want: change.DateValue(day)}, {Literal: "'0001-01-01'", Want: change.DateValue(-719162)},
				{Literal: "'9999-12-31'", Want: change.DateValue(2932896)},
			}},
		{DDL: "time(7)", Want: change.Type{Kind: change.Time, Scale: 7}, Poison: []string{"'24:00:00'", "'-01:00:00'", "'00:00:00.12345678'"},
			Values: []enginetest.Value{
				{Literal: "'23:59:59.9999999'", Want: change.TimeValue(86399, 999999900)}, {Literal: "'00:00'", Want: change.TimeValue(0, 0)},
			}},
		{DDL: "datetime", Want: change.Type{Kind: change.DateTime, Scale: 6},
			Poison: []string{"'2031-05-10T16:00:01Z'", "'2031-05-10 16:00:01.1234567'", "1700000000", "'soon'"},
			Values: []enginetest.Value{
				{Literal: "'2031-05-10 16:00:01.604805'", Want: change.DateTimeValue(day*86400+57601, 604805000)},
				{Literal: "'2031-05-10T16:00:01'", Want: change.DateTimeValue(day*86400+57601, 0)},
				{Literal: "'1969-12-31 23:59:59.5'", Want: change.DateTimeValue(-1, 500000000)},
			}},
		{DDL: "TIMESTAMP(0)", Want: change.Type{Kind: change.DateTime}, Poison: []string{"'2031-05-10 16:00:01.5'"}, Values: []enginetest.Value{
			{Literal: "'2031-05-10 16:00:01'", Want: change.DateTimeValue(day*86400+57601, 0)},
		}},
		{DDL: "datetimeoffset(7)", Want: change.Type{Kind: change.DateTimeTZ, Scale: 7}, Values: []enginetest.Value{ // case 50
			{Literal: "'2031-05-10 16:00:01.6048050 +03:00'", Want: change.InstantValue(day*86400+57601-3*3600, 604805000, 180)},
			{Literal: "'2031-05-10 16:00:01.6048000 +05:45'", Want: change.InstantValue(day*86400+57601-345*60, 604800000, 345)},
			{Literal: "'2031-05-10T16:00:01Z'", Want: change.InstantValue(day*86400+57601, 0, 0)},
		}},
	}
}

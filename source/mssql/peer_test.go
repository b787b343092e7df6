package mssql

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"ctbridge/bridge/change"
	"ctbridge/source"
	"ctbridge/test/tdspeer"
)

func openPeer(tb testing.TB, peer *tdspeer.Server, cfg Config) *Engine {
	tb.Helper()
	if cfg.DSN == "" {
		cfg.DSN = peer.DSN()
	}
	e, err := Open(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { e.Close() })
	return e
}

// readAll reads a result to its end or failure.
func readAll(ctx context.Context, s source.Statement, width int, args ...any) ([][]change.Value, error) {
	rows, err := s.Query(ctx, args...)
	if err != nil {
		return nil, err
	}
	var arena change.Arena
	var result [][]change.Value
	for err == nil && rows.Next() {
		row := arena.Values(width)
		if err = rows.Scan(row, &arena); err == nil {
			result = append(result, row)
		}
	}
	return result, errors.Join(err, rows.Err(), rows.Close())
}

// wireType is one SQL type with values as the peer takes them and as they must be read.
type wireType struct {
	ddl  string
	want change.Type
	sent []any
	read []change.Value
}

func text(s string) change.Value    { return change.TextValue([]byte(s)) }
func decimal(s string) change.Value { return change.DecimalValue([]byte(s)) }
func raw(b ...byte) change.Value    { return change.BytesValue(append([]byte{}, b...)) }

func wireTypes() []wireType {
	var all []wireType
	for _, list := range [][]wireType{numberTypes(), textTypes(), timeTypes()} {
		all = append(all, list...)
	}
	return all
}

func numberTypes() []wireType {
	nines := strings.Repeat("9", 28) + "." + strings.Repeat("9", 10)
	numeric := func(p, s int) change.Type { return change.Type{Kind: change.Numeric, Precision: p, Scale: s} }
	return []wireType{
		{"bit", change.Type{Kind: change.Bool}, []any{true, false}, []change.Value{change.BoolValue(true), change.BoolValue(false)}},
		{"tinyint", change.Type{Kind: change.Uint1}, []any{0, 255}, []change.Value{change.IntValue(0), change.IntValue(255)}},
		{"smallint", change.Type{Kind: change.Int2}, []any{-32768, 32767}, []change.Value{change.IntValue(-32768), change.IntValue(32767)}},
		{"int", change.Type{Kind: change.Int4}, []any{math.MinInt32, math.MaxInt32}, []change.Value{change.IntValue(math.MinInt32), change.IntValue(math.MaxInt32)}},
		{"bigint", change.Type{Kind: change.Int8}, []any{math.MinInt64, math.MaxInt64}, []change.Value{change.IntValue(math.MinInt64), change.IntValue(math.MaxInt64)}},
		{"real", change.Type{Kind: change.Real4}, []any{0.1, math.MaxFloat32}, []change.Value{change.Float32Value(0.1), change.Float32Value(math.MaxFloat32)}},
		{"float", change.Type{Kind: change.Real8}, []any{0.1, -math.MaxFloat64}, []change.Value{change.Float64Value(0.1), change.Float64Value(-math.MaxFloat64)}},
		{"decimal(10,2)", numeric(10, 2), []any{"0", "-0.05", "99999999.99", "1234.5"}, []change.Value{decimal("0.00"), decimal("-0.05"), decimal("99999999.99"), decimal("1234.50")}},
		{"numeric(38,10)", numeric(38, 10), []any{nines, "-" + nines}, []change.Value{decimal(nines), decimal("-" + nines)}},
		{"decimal(4,4)", numeric(4, 4), []any{"0.2346", "-0.0001"}, []change.Value{decimal("0.2346"), decimal("-0.0001")}},
		{"decimal(19,0)", numeric(19, 0), []any{"-1", "9999999999999999999"}, []change.Value{decimal("-1"), decimal("9999999999999999999")}},
		{"money", numeric(19, 4), []any{"922337203685477.5807", "-922337203685477.5808", "12.34", "-0.0005"},
			[]change.Value{decimal("922337203685477.5807"), decimal("-922337203685477.5808"), decimal("12.3400"), decimal("-0.0005")}},
		{"smallmoney", numeric(10, 4), []any{"214748.3647", "-214748.3648", "0"}, []change.Value{decimal("214748.3647"), decimal("-214748.3648"), decimal("0.0000")}},
	}
}

func textTypes() []wireType {
	long := strings.Repeat("x", 100_000)
	limit := func(k change.Kind, n int) change.Type { return change.Type{Kind: k, Length: n} }
	return []wireType{
		{"char(5)", limit(change.String, 5), []any{"ab   "}, []change.Value{text("ab   ")}},
		{"varchar(20)", limit(change.String, 20), []any{"", "größe", "it's"}, []change.Value{text(""), text("größe"), text("it's")}},
		{"varchar(max)", change.Type{Kind: change.Clob}, []any{"", long}, []change.Value{text(""), text(long)}},
		{"text", change.Type{Kind: change.Clob}, []any{"x", "größe"}, []change.Value{text("x"), text("größe")}},
		{"nchar(3)", limit(change.WString, 6), []any{"ab "}, []change.Value{text("ab ")}},
		{"nvarchar(20)", limit(change.WString, 40), []any{"", "größe 名前 🚚"}, []change.Value{text(""), text("größe 名前 🚚")}},
		{"nvarchar(max)", change.Type{Kind: change.NClob}, []any{"名前", long}, []change.Value{text("名前"), text(long)}},
		{"ntext", change.Type{Kind: change.NClob}, []any{"名前"}, []change.Value{text("名前")}},
		{"xml", change.Type{Kind: change.NClob}, []any{"<a>名</a>"}, []change.Value{text("<a>名</a>")}},
		{"binary(3)", limit(change.Bytes, 3), []any{[]byte{0, 1, 255}}, []change.Value{raw(0, 1, 255)}},
		{"varbinary(128)", limit(change.Bytes, 128), []any{[]byte{}, []byte{0x3a, 0}}, []change.Value{raw(), raw(0x3a, 0)}},
		{"varbinary(max)", change.Type{Kind: change.Blob}, []any{[]byte{1}, []byte(long)}, []change.Value{raw(1), raw([]byte(long)...)}},
		{"image", change.Type{Kind: change.Blob}, []any{[]byte{0, 255}}, []change.Value{raw(0, 255)}},
		{"timestamp", limit(change.Bytes, 8), []any{[]byte{0, 0, 0, 0, 0, 0, 7, 0xdf}, []byte("\xff\xff\xff\xff\xff\xff\xff\xff")},
			[]change.Value{raw(0, 0, 0, 0, 0, 0, 7, 0xdf), raw(255, 255, 255, 255, 255, 255, 255, 255)}},
		{"uniqueidentifier", change.Type{Kind: change.UUID}, []any{"00112233-4455-6677-8899-AABBCCDDEEFF"}, []change.Value{text("00112233-4455-6677-8899-aabbccddeeff")}},
	}
}

func timeTypes() []wireType {
	const day = 86400
	scaled := func(k change.Kind, s int) change.Type { return change.Type{Kind: k, Scale: s} }
	return []wireType{
		{"date", scaled(change.Date, 0), []any{"0001-01-01", "1969-12-31", "1970-01-01", "9999-12-31"},
			[]change.Value{change.DateValue(-719162), change.DateValue(-1), change.DateValue(0), change.DateValue(2932896)}},
		{"time(7)", scaled(change.Time, 7), []any{"00:00:00", "23:59:59.9999999"}, []change.Value{change.TimeValue(0, 0), change.TimeValue(day-1, 999999900)}},
		{"time(0)", scaled(change.Time, 0), []any{"16:00:01"}, []change.Value{change.TimeValue(57601, 0)}},
		{"smalldatetime", scaled(change.DateTime, 0), []any{"1900-01-01 00:00:00", "2079-06-06 23:59:00"},
			[]change.Value{change.DateTimeValue(-25567*day, 0), change.DateTimeValue(39968*day+day-60, 0)}},
		{"datetime", scaled(change.DateTime, 3), []any{"1753-01-01 00:00:00", "9999-12-31 23:59:59.997", "2031-05-10 16:00:01.003"},
			[]change.Value{change.DateTimeValue(-79257*day, 0), change.DateTimeValue(2932897*day-1, 997000000), change.DateTimeValue(1936195201, 3000000)}},
		{"datetime2(7)", scaled(change.DateTime, 7), []any{"0001-01-01 00:00:00", "2031-05-10 16:00:01.6048050", "9999-12-31 23:59:59.9999999", "1969-12-31 23:59:59.5"},
			[]change.Value{change.DateTimeValue(-719162*day, 0), change.DateTimeValue(1936195201, 604805000), change.DateTimeValue(2932897*day-1, 999999900), change.DateTimeValue(-1, 500000000)}},
		{"datetime2(0)", scaled(change.DateTime, 0), []any{"2031-05-10 16:00:01"}, []change.Value{change.DateTimeValue(1936195201, 0)}},
		{"datetime2(3)", scaled(change.DateTime, 3), []any{"2031-05-10 16:00:01.604"}, []change.Value{change.DateTimeValue(1936195201, 604000000)}},
		{"datetimeoffset(7)", scaled(change.DateTimeTZ, 7), []any{"2031-05-10 16:00:01.6048050 +03:00", "2031-05-10 16:00:01.0000000 +05:45", "2031-05-10 16:00:01 -11:30"},
			[]change.Value{change.InstantValue(1936195201-3*3600, 604805000, 180), change.InstantValue(1936195201-20700, 0, 345), change.InstantValue(1936195201+41400, 0, -690)}},
	}
}

// catalogOf is how INFORMATION_SCHEMA.COLUMNS shows a type.
func catalogOf(ddl string) catalogType {
	types := tdspeer.Catalog(ddl)
	return catalogType{name: types.Name, length: types.Length, precision: types.Precision, scale: types.Scale, fraction: types.Fraction}
}

// TestWireTypes reads every type in all three forms that a server uses: fixed length, nullable, and rows with a bitmap of NULLs.
func TestWireTypes(t *testing.T) {
	t.Parallel()
	for _, typ := range wireTypes() {
		t.Run(typ.ddl, func(t *testing.T) {
			t.Parallel()
			got, native := typeOf(catalogOf(typ.ddl))
			if got != typ.want {
				t.Errorf("type is %+v, want %+v", got, typ.want)
			}
			column := change.Column{Name: "v", Type: got, Native: native}
			readForms(t, typ, column)
		})
	}
}

func readForms(t *testing.T, typ wireType, column change.Column) {
	t.Helper()
	peer := tdspeer.Start(t, nil)
	statement := openPeer(t, peer, Config{}).Prepare("SELECT t.[v] FROM t", []change.Column{column})
	for _, form := range []string{"fixed", "nullable", "bitmap"} {
		var rows [][]any
		for _, v := range typ.sent {
			rows = append(rows, []any{v})
		}
		want := typ.read
		if form != "fixed" {
			rows, want = append(rows, []any{nil}), append(typ.read[:len(typ.read):len(typ.read)], change.Null)
		}
		peer.Handle(func(string, []any) tdspeer.Result {
			return tdspeer.Result{Columns: []tdspeer.Column{{Name: "v", Type: typ.ddl, NotNull: form == "fixed"}}, Rows: rows, NBC: form == "bitmap"}
		})
		got, err := readAll(context.Background(), statement, 1)
		if err != nil || len(got) != len(want) {
			t.Fatalf("%s: %d rows, %v", form, len(got), err)
		}
		for i := range want {
			if !got[i][0].Equal(want[i]) {
				t.Errorf("%s: %v gave %+v, want %+v", form, rows[i][0], got[i][0], want[i])
			}
		}
	}
}

// TestCase54_UniqueIdentifierBytes: the wire's bytes as the server shows them.
func TestCase54_UniqueIdentifierBytes(t *testing.T) {
	t.Parallel()
	var v change.Value
	var arena change.Arena
	wire := []byte{0x33, 0x22, 0x11, 0x00, 0x55, 0x44, 0x77, 0x66, 0x88, 0x99, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE, 0xFF}
	if err := decodeUUID(&v, wire, &arena); err != nil || string(v.Raw) != "00112233-4455-6677-8899-aabbccddeeff" {
		t.Errorf("%s, %v", v.Raw, err)
	}
	if err := decodeUUID(&v, wire[:15], &arena); err == nil {
		t.Error("15 bytes pass for a UUID")
	}
}

package postgres

import (
	"math"
	"strings"

	"ctbridge/bridge/change"
	"ctbridge/source/enginetest"
)

func text(s string) change.Value                  { return change.TextValue([]byte(s)) }
func decimal(s string) change.Value               { return change.DecimalValue([]byte(s)) }
func raw(b ...byte) change.Value                  { return change.BytesValue(append([]byte{}, b...)) }
func kind(k change.Kind) change.Type              { return change.Type{Kind: k} }
func str(length int) change.Type                  { return change.Type{Kind: change.String, Length: length} }
func scaled(k change.Kind, scale int) change.Type { return change.Type{Kind: k, Scale: scale} }

func values(pairs ...any) (list []enginetest.Value) {
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, enginetest.Value{Literal: pairs[i].(string), Want: pairs[i+1].(change.Value)})
	}
	return list
}

// types are all that the engine decodes, with extremes.
func types() []enginetest.Type {
	var all []enginetest.Type
	for _, list := range [][]enginetest.Type{numberTypes(), textTypes(), timeTypes(), castTypes()} {
		all = append(all, list...)
	}
	return all
}

func numberTypes() []enginetest.Type {
	nines := strings.Repeat("9", 28) + "." + strings.Repeat("9", 10)
	return []enginetest.Type{
		{DDL: "boolean", Want: kind(change.Bool), Values: values("true", change.BoolValue(true), "false", change.BoolValue(false))},
		{DDL: "smallint", Want: kind(change.Int2), Values: values("-32768", change.IntValue(-32768), "32767", change.IntValue(32767))},
		{DDL: "integer", Want: kind(change.Int4), Values: values("-2147483648", change.IntValue(-2147483648), "2147483647", change.IntValue(2147483647))},
		{DDL: "bigint", Want: kind(change.Int8), Values: values("-9223372036854775808", change.IntValue(math.MinInt64), "9223372036854775807", change.IntValue(math.MaxInt64))},
		{DDL: "oid", Want: kind(change.Uint4), Values: values("4294967295", change.IntValue(4294967295), "0", change.IntValue(0))},
		{DDL: "real", Want: kind(change.Real4), Values: values("0.1", change.Float32Value(0.1), "'3.4028235e38'", change.Float32Value(math.MaxFloat32),
			"'1e-45'", change.Float32Value(math.SmallestNonzeroFloat32), "'-Infinity'", change.Float32Value(float32(math.Inf(-1))))},
		{DDL: "double precision", Want: kind(change.Real8), Values: values("0.1", change.Float64Value(0.1), "'1.7976931348623157e308'", change.Float64Value(math.MaxFloat64),
			"'5e-324'", change.Float64Value(math.SmallestNonzeroFloat64), "'-0'", change.Float64Value(math.Copysign(0, -1)), "'Infinity'", change.Float64Value(math.Inf(1)))},
		{DDL: "numeric(10,2)", Want: change.Type{Kind: change.Numeric, Precision: 10, Scale: 2}, Values: values("0", decimal("0.00"), "-0.05", decimal("-0.05"),
			"99999999.99", decimal("99999999.99"), "1234.5", decimal("1234.50"), "10000", decimal("10000.00")), Poison: []string{"'NaN'"}},
		{DDL: "numeric(38,10)", Want: change.Type{Kind: change.Numeric, Precision: 38, Scale: 10}, Values: values(nines, decimal(nines), "-"+nines, decimal("-"+nines))},
		{DDL: "numeric(4,4)", Want: change.Type{Kind: change.Numeric, Precision: 4, Scale: 4}, Values: values("0.2346", decimal("0.2346"), "-0.0001", decimal("-0.0001"))},
		{DDL: "numeric", Want: kind(change.Numeric), Values: values("1.10", decimal("1.10"), "1e-20", decimal("0.00000000000000000001"), "123456789012345678901234567890", decimal("123456789012345678901234567890"),
			"100000000", decimal("100000000"), "0.00012345", decimal("0.00012345")), Poison: []string{"'NaN'", "'Infinity'", "'-Infinity'"}},
		{DDL: "numeric(3,-2)", Want: change.Type{Kind: change.Numeric, Precision: 5}, Values: values("12345", decimal("12300"), "99900", decimal("99900"))},
		{DDL: "numeric(3,5)", Want: change.Type{Kind: change.Numeric, Precision: 5, Scale: 5}, Values: values("0.00999", decimal("0.00999"))},
	}
}

func textTypes() []enginetest.Type {
	everyByte := make([]byte, 256)
	for i := range everyByte {
		everyByte[i] = byte(i)
	}
	hexed := string(change.AppendHex(nil, everyByte, change.LowerHex))
	return []enginetest.Type{
		{DDL: "varchar(20)", Want: str(80), Values: values("''", text(""), "'größe 名前 🚚'", text("größe 名前 🚚"), "'  x  '", text("  x  "), `'a\b''c"'`, text(`a\b'c"`))},
		{DDL: "varchar", Want: str(0), Values: values("repeat('x', 100000)", text(strings.Repeat("x", 100000)))},
		{DDL: "char(5)", Want: str(20), Values: values("'ab'", text("ab   "))},
		{DDL: "char", Want: str(4), Values: values("'a'", text("a"))},
		{DDL: "text", Want: kind(change.Clob), Values: values("'x'", text("x"), "''", text(""))},
		{DDL: "name", Want: str(63), Values: values("'pg_class'", text("pg_class"))},
		{DDL: "bytea", Want: kind(change.Blob), Values: values("''", raw(), `'\x00ff5c'`, raw(0, 0xff, 0x5c), `'\x`+hexed+`'`, raw(everyByte...))},
		{DDL: "uuid", Want: kind(change.UUID), Values: values("'00112233-4455-6677-8899-AABBCCDDEEFF'", text("00112233-4455-6677-8899-aabbccddeeff"))},
		{DDL: "json", Want: kind(change.JSON), Values: values(`'{"a" : 1.10}'`, text(`{"a" : 1.10}`))},
		{DDL: "jsonb", Want: kind(change.JSON), Values: values(`'{"a" : 1.10}'`, text(`{"a": 1.10}`), "'null'", text("null"))},
		{DDL: "public.email", Want: str(80), Values: values("'a@b'", text("a@b"))},
		{DDL: "public.work_email", Want: str(80), Values: values("'a@b'", text("a@b"))},
	}
}

func timeTypes() []enginetest.Type {
	const day = 86400
	return []enginetest.Type{
		{DDL: "date", Want: kind(change.Date), Values: values("'1970-01-01'", change.DateValue(0), "'0001-01-01'", change.DateValue(-719162), "'9999-12-31'", change.DateValue(2932896),
			"'1969-12-31'", change.DateValue(-1), "'2000-02-29'", change.DateValue(11016)), Poison: []string{"'infinity'", "'-infinity'", "'0044-03-15 BC'", "'10000-01-01'"}},
		{DDL: "time", Want: scaled(change.Time, 6), Values: values("'00:00'", change.TimeValue(0, 0), "'23:59:59.999999'", change.TimeValue(day-1, 999999000), "'24:00'", change.TimeValue(day, 0))},
		{DDL: "time(3)", Want: scaled(change.Time, 3), Values: values("'16:00:01.604'", change.TimeValue(57601, 604000000))},
		{DDL: "timestamp", Want: scaled(change.DateTime, 6), Values: values("'1969-12-31 23:59:59.999999'", change.DateTimeValue(-1, 999999000),
			"'0001-01-01 00:00:00'", change.DateTimeValue(-719162*day, 0), "'9999-12-31 23:59:59.999999'", change.DateTimeValue(2932897*day-1, 999999000),
			"'1999-12-31 23:59:59.5'", change.DateTimeValue(946684799, 500000000)), Poison: []string{"'infinity'", "'-infinity'", "'0044-03-15 01:02:03 BC'", "'10000-01-01 00:00:00'"}},
		{DDL: "timestamp(0)", Want: scaled(change.DateTime, 0), Values: values("'2031-05-10 16:00:01'", change.DateTimeValue(1936195201, 0))},
		{DDL: "timestamptz", Want: scaled(change.DateTimeTZ, 6), Values: values("'2031-05-10 16:00:01.604805+05:45'", change.InstantValue(1936174501, 604805000, 0),
			"'1970-01-01 00:00:00-08'", change.InstantValue(8*3600, 0, 0)), Poison: []string{"'infinity'"}},
		{DDL: "timestamptz(3)", Want: scaled(change.DateTimeTZ, 3), Values: values("'2031-05-10 16:00:01.604+00'", change.InstantValue(1936195201, 604000000, 0))},
	}
}

// castTypes are read as the server's own text.
func castTypes() []enginetest.Type {
	return []enginetest.Type{
		{DDL: "interval", Want: str(0), Values: values("'1 year 2 months 3 days 04:05:06.7'", text("1 year 2 mons 3 days 04:05:06.7"))},
		{DDL: "timetz", Want: str(0), Values: values("'04:05:06.7+05:45'", text("04:05:06.7+05:45"))},
		{DDL: "money", Want: str(0), Values: values("'12.34'", text("$12.34"))},
		{DDL: "inet", Want: str(0), Values: values("'192.168.0.1/24'", text("192.168.0.1/24"))},
		{DDL: "bit(3)", Want: str(0), Values: values("B'101'", text("101"))},
		{DDL: "bit varying(5)", Want: str(0), Values: values("B'1'", text("1"), "B''", text(""))},
		{DDL: "integer[]", Want: str(0), Values: values("'{1,NULL,3}'", text("{1,NULL,3}"))},
		{DDL: "varchar(20)[]", Want: str(0), Values: values(`'{"a b",c}'`, text(`{"a b",c}`))},
		{DDL: "text[]", Want: str(0), Values: values("'{x}'", text("{x}"))},
		{DDL: "int4range", Want: str(0), Values: values("'[1,5)'", text("[1,5)"))},
		{DDL: "tstzrange", Want: str(0), Values: values("'[2031-05-10 16:00:01+05:45,)'", text(`["2031-05-10 10:15:01+00",)`))},
		{DDL: "public.mood", Want: str(0), Values: values("'so so'", text("so so"))},
		{DDL: "public.pair", Want: str(0), Values: values("ROW(1, 'x y')", text(`(1,"x y")`))},
		{DDL: "xml", Want: kind(change.Clob), Values: values("'<a>1</a>'", text("<a>1</a>"))},
		{DDL: `"char"`, Want: str(0), Values: values("'x'", text("x"))},
		{DDL: "point", Want: str(0), Values: values("'(1.5,2)'", text("(1.5,2)"))},
		{DDL: "tsvector", Want: str(0), Values: values("'a b'", text("'a' 'b'"))},
		{DDL: "xid", Want: str(0), Values: values("'7'", text("7"))},
	}
}

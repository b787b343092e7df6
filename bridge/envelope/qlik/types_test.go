package qlik

import (
	"encoding/hex"
	"math/big"
	"testing"
	"time"

	"ctbridge/bridge/change"
)

// sample is one column with a value and what the message shows for it.
type sample struct {
	name, native string
	typ          change.Type
	value        change.Value
	json         string // JSON text of the value
	plain        any    // Avro without logical types, as the oracle decodes it
	logical      any    // with logical types; nil = the same
}

func decimal(s string) change.Value { return change.DecimalValue([]byte(s)) }
func words(s string) change.Value   { return change.TextValue([]byte(s)) }

func rat(s string) *big.Rat {
	r, _ := new(big.Rat).SetString(s)
	return r
}

// samples has each kind of column, with the values of cases 50 and 57.
func samples() []sample {
	const seconds = 1935320401 // 2031-04-30 13:00:01 UTC
	day := time.Date(1993, 11, 25, 0, 0, 0, 0, time.UTC)
	moment := time.Date(2031, 4, 30, 13, 0, 1, 604_805_000, time.UTC)
	return []sample{
		{name: "bool", native: "bit", typ: change.Type{Kind: change.Bool}, value: change.BoolValue(true), json: `true`, plain: true},
		{name: "int1", typ: change.Type{Kind: change.Int1}, value: change.IntValue(-128), json: `-128`, plain: int32(-128)},
		{name: "uint1", native: "tinyint", typ: change.Type{Kind: change.Uint1}, value: change.IntValue(255), json: `255`, plain: int32(255)},
		{name: "int4", native: "int", typ: change.Type{Kind: change.Int4}, value: change.IntValue(-1 << 31), json: `-2147483648`, plain: int32(-1 << 31)},
		{name: "int8", native: "bigint", typ: change.Type{Kind: change.Int8}, value: change.IntValue(-1 << 63), json: `-9223372036854775808`, plain: int64(-1 << 63)},
		{name: "uint4", typ: change.Type{Kind: change.Uint4}, value: change.IntValue(1<<32 - 1), json: `4294967295`, plain: int64(1<<32 - 1)},
		{name: "uint8", native: "bigint unsigned", typ: change.Type{Kind: change.Uint8}, value: change.UintValue(1<<64 - 1), json: `"18446744073709551615"`, plain: "18446744073709551615", logical: rat("18446744073709551615")},
		{name: "real4", typ: change.Type{Kind: change.Real4}, value: change.Float32Value(0.1), json: `0.1`, plain: float32(0.1)},
		{name: "real8", typ: change.Type{Kind: change.Real8}, value: change.Float64Value(0.1), json: `0.1`, plain: 0.1},
		{name: "max", native: "decimal(38,10)", typ: change.Type{Kind: change.Numeric, Precision: 38, Scale: 10}, value: decimal("9999999999999999999999999999.9999999999"),
			json: `"9999999999999999999999999999.9999999999"`, plain: "9999999999999999999999999999.9999999999", logical: rat("9999999999999999999999999999.9999999999")},
		{name: "min", native: "decimal(38,10)", typ: change.Type{Kind: change.Numeric, Precision: 38, Scale: 10}, value: decimal("-9999999999999999999999999999.9999999999"),
			json: `"-9999999999999999999999999999.9999999999"`, plain: "-9999999999999999999999999999.9999999999", logical: rat("-9999999999999999999999999999.9999999999")},
		{name: "small", native: "decimal(4,4)", typ: change.Type{Kind: change.Numeric, Precision: 4, Scale: 4}, value: decimal("0.2346"), json: `"0.2346"`, plain: "0.2346", logical: rat("0.2346")},
		{name: "money", native: "money", typ: change.Type{Kind: change.Numeric, Precision: 19, Scale: 4}, value: decimal("922337203685477.5807"), json: `"922337203685477.5807"`, plain: "922337203685477.5807", logical: rat("922337203685477.5807")},
		{name: "whole", native: "decimal(10,0)", typ: change.Type{Kind: change.Numeric, Precision: 10}, value: decimal("2"), json: `"2"`, plain: "2", logical: rat("2")},
		{name: "nothing", native: "decimal(10,2)", typ: change.Type{Kind: change.Numeric, Precision: 10, Scale: 2}, json: `null`},
		{name: "numeric", native: "numeric", typ: change.Type{Kind: change.Numeric}, value: decimal("1.10"), json: `"1.10"`, plain: "1.10"},
		{name: "text", native: "varchar(20)", typ: change.Type{Kind: change.String, Length: 20}, value: words("größe \"1\""), json: `"größe \"1\""`, plain: "größe \"1\""},
		{name: "wide", native: "nvarchar(20)", typ: change.Type{Kind: change.WString, Length: 40}, value: words("名前"), json: `"名前"`, plain: "名前"},
		{name: "bytes", native: "binary(4)", typ: change.Type{Kind: change.Bytes, Length: 4}, value: change.BytesValue([]byte{0, 0xAB, 0xFF, 1}), json: `"00ABFF01"`, plain: []byte{0, 0xAB, 0xFF, 1}},
		{name: "date", native: "date", typ: change.Type{Kind: change.Date}, value: change.DateValue(day.Unix() / 86400), json: `"1993-11-25"`, plain: "1993-11-25", logical: day},
		{name: "time3", native: "time(3)", typ: change.Type{Kind: change.Time, Scale: 3}, value: change.TimeValue(52461, 120_000_000), json: `"14:34:21.120"`, plain: "14:34:21.120", logical: 52461120 * time.Millisecond},
		{name: "time6", native: "time(6)", typ: change.Type{Kind: change.Time, Scale: 6}, value: change.TimeValue(86399, 999_999_000), json: `"23:59:59.999999"`, plain: "23:59:59.999999", logical: 86399999999 * time.Microsecond},
		{name: "stamp", native: "datetime2(6)", typ: change.Type{Kind: change.DateTime, Scale: 6}, value: change.DateTimeValue(seconds, 604_805_000), json: `"2031-04-30 13:00:01.604805"`, plain: "2031-04-30 13:00:01.604805", logical: moment},
		{name: "stamp7", native: "datetime2(7)", typ: change.Type{Kind: change.DateTime, Scale: 7}, value: change.DateTimeValue(seconds, 604_805_000), json: `"2031-04-30 13:00:01.6048050"`, plain: "2031-04-30 13:00:01.6048050", logical: moment},
		{name: "instant", native: "timestamptz", typ: change.Type{Kind: change.DateTimeTZ, Scale: 6}, value: change.InstantValue(seconds, 604_805_000, 0), json: `"2031-04-30 13:00:01.604805"`, plain: "2031-04-30 13:00:01.604805", logical: moment},
		{name: "offset", native: "datetimeoffset(7)", typ: change.Type{Kind: change.DateTimeTZ, Scale: 7}, value: change.InstantValue(seconds, 604_805_000, 345), json: `"2031-04-30 18:45:01.6048050 +05:45"`, plain: "2031-04-30 18:45:01.6048050 +05:45"},
		{name: "uuid", native: "uniqueidentifier", typ: change.Type{Kind: change.UUID}, value: words("00112233-4455-6677-8899-aabbccddeeff"), json: `"00112233-4455-6677-8899-aabbccddeeff"`, plain: "00112233-4455-6677-8899-aabbccddeeff"},
		{name: "json", native: "jsonb", typ: change.Type{Kind: change.JSON}, value: words(`{"a": 1.10}`), json: `"{\"a\": 1.10}"`, plain: `{"a": 1.10}`},
		{name: "clob", native: "text", typ: change.Type{Kind: change.Clob}, value: words("a\nb"), json: `"a\nb"`, plain: "a\nb"},
		{name: "nclob", native: "ntext", typ: change.Type{Kind: change.NClob}, value: change.Absent, json: `null`},
		{name: "blob", native: "image", typ: change.Type{Kind: change.Blob}, value: change.BytesValue([]byte{}), json: `""`, plain: []byte{}},
	}
}

func everyType() *change.Table {
	var columns []change.Column
	for _, s := range samples() {
		columns = append(columns, change.Column{Name: s.name, Native: s.native, Type: s.typ, Nullable: true})
	}
	return change.NewTable(change.TableID{Schema: "dbo", Name: "every_type"}, 1, columns)
}

func everyRow() []change.Value {
	var row []change.Value
	for _, s := range samples() {
		row = append(row, s.value)
	}
	return row
}

func TestCase57_ValuesInAvro(t *testing.T) {
	t.Parallel()
	table := everyType()
	ev := &change.Event{Table: table, Op: change.OpInsert, After: everyRow()}
	for _, logical := range []bool{false, true} {
		value := declare(t, table, withRegistry, func(o *Options) { o.LogicalTypes = logical }).Value
		data := at(decode(t, schemaOf(t, value), avroOf(t, value, ev)), "data")
		for _, s := range samples() {
			want := s.plain
			if logical && s.logical != nil {
				want = s.logical
			}
			if got := at(data, s.name); !alike(got, want) {
				t.Errorf("%s, logical %v: %#v, want %#v", s.name, logical, got, want)
			}
		}
	}
}

// alike compares decoded values; numbers and moments by what they mean.
func alike(got, want any) bool {
	switch w := want.(type) {
	case *big.Rat:
		g, ok := got.(*big.Rat)
		return ok && g.Cmp(w) == 0
	case time.Time:
		g, ok := got.(time.Time)
		return ok && g.Equal(w)
	case []byte:
		g, ok := got.([]byte)
		return ok && hex.EncodeToString(g) == hex.EncodeToString(w)
	}
	return got == want
}

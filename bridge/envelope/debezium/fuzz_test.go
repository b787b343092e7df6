package debezium

import (
	"testing"

	"ctbridge/bridge/change"
)

// Whatever a row holds: both formats refuse it, or both tell the same of it when they are read by libraries that are not ours.
func FuzzFormatsAgree(f *testing.F) {
	f.Add("größe\u2028\"\\", []byte{0, 255}, "-12.50", int64(1935504001), int32(123_456_000), int16(180), uint64(1))
	f.Add("\xff", []byte(nil), "99999999999999999999999999999999999999", int64(-1), int32(1), int16(-570), uint64(1<<63))
	f.Add("", []byte("x"), "0", int64(253402300799), int32(999_999_999), int16(0), uint64(1<<53+1))
	table := change.NewTable(change.TableID{Schema: "s", Name: "t"}, 1, []change.Column{
		{Name: "text", Type: change.Type{Kind: change.String}}, {Name: "raw", Type: change.Type{Kind: change.Blob}},
		{Name: "price", Type: change.Type{Kind: change.Numeric, Precision: 38, Scale: 4}}, {Name: "loose", Type: change.Type{Kind: change.Numeric}},
		{Name: "date", Type: change.Type{Kind: change.Date}}, {Name: "seen", Type: change.Type{Kind: change.DateTime, Scale: 6}},
		{Name: "zoned", Type: change.Type{Kind: change.DateTimeTZ, Scale: 7}}, {Name: "clock", Type: change.Type{Kind: change.Time, Scale: 6}},
		{Name: "many", Type: change.Type{Kind: change.Uint8}},
	})
	set := func(o *Options) { o.Decimals, o.Required = DecimalString, RequiredSource }
	encoders, schema := compiled(f, SQLServer, table, set), schemaOf(f, declare(f, SQLServer, table, set, in(Avro)).Value)
	f.Fuzz(func(t *testing.T, text string, raw []byte, decimal string, seconds int64, nanos int32, offset int16, many uint64) {
		ev := &change.Event{Table: table, Op: change.OpInsert, After: []change.Value{
			letter(text), change.BytesValue(raw), change.DecimalValue([]byte(decimal)), change.DecimalValue([]byte(decimal)), change.DateValue(seconds / 86400),
			change.DateTimeValue(seconds, nanos), change.InstantValue(seconds, nanos, offset), change.TimeValue(((seconds%86400)+86400)%86400, nanos), change.UintValue(many),
		}}
		js, jsonErr := encoders[JSON].Append(nil, ev)
		binary, avroErr := encoders[Avro].Append(nil, ev)
		if (jsonErr == nil) != (avroErr == nil) {
			t.Fatalf("JSON: %v\nAvro: %v", jsonErr, avroErr)
		}
		if jsonErr != nil {
			return
		}
		if where := disagree(parse(t, js), decode(t, schema, binary)); where != "" {
			t.Fatalf("message%s", where)
		}
	})
}

func TestMembers(t *testing.T) {
	t.Parallel()
	for list, want := range map[string]string{
		`'a','b')`: "a,b", `'b''c')`: "b'c", `'')`: "", `'a,b', 'c)')`: "a,b,c)", ``: "",
	} {
		if got := members(list); got != want {
			t.Errorf("%s: %q, want %q", list, got, want)
		}
	}
}

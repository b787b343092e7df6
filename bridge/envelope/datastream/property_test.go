package datastream

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
)

// drawn is a value with what it must become, computed with the standard library alone.
type drawn struct {
	value change.Value
	json  any // as encoding/json takes it
	avro  any // as the Avro library decodes it
}

// drawing is a column and how to draw its values.
type drawing struct {
	column change.Column
	draw   func(t *rapid.T) drawn
}

// Whatever the row: JSON is what encoding/json writes of it, Avro what another library reads as it.
func TestRandomRows(t *testing.T) {
	t.Parallel()
	for _, s := range sources {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(rt *rapid.T) { checkRandomRow(t, rt, s) })
		})
	}
}

func checkRandomRow(t *testing.T, rt *rapid.T, s source) {
	table, row, wantJSON, wantAvro := randomRow(rt, s.engine)
	ev := eventOf(s, table, rapid.SampledFrom([]string{"insert", "refresh"}).Draw(rt, "operation"))
	ev.After = row
	n := declare(t, newEnvelope(t, s.engine, s.set...), table).Value
	text := jsonOf(t, n, ev)
	if at := bytes.Index(text, []byte(`,"payload":`)); string(text[at+len(`,"payload":`):]) != wantJSON+"}" {
		rt.Fatalf("%s\nwant %s", text[at:], wantJSON)
	}
	schema, body := avroOf(t, n, ev)
	payload := decode(t, schema, body)["payload"].(map[string]any)
	for name, want := range wantAvro {
		if err := same(payload[name], want); err != nil {
			rt.Fatalf("%s: %v\n%s", name, err, schema)
		}
	}
	if len(payload) != len(wantAvro) {
		rt.Fatalf("%d columns, want %d", len(payload), len(wantAvro))
	}
}

func randomRow(t *rapid.T, engine Engine) (table *change.Table, row []change.Value, wantJSON string, wantAvro map[string]any) {
	kinds := drawings(engine)
	names := rapid.SliceOfNDistinct(rapid.StringN(1, 8, 30), 1, 12, rapid.ID[string]).Draw(t, "names")
	columns := make([]change.Column, len(names))
	wantAvro = map[string]any{}
	var text strings.Builder
	for i, name := range names {
		d := kinds[rapid.IntRange(0, len(kinds)-1).Draw(t, "column")]
		columns[i] = d.column
		columns[i].Name, columns[i].Nullable = name, true
		v := drawn{value: change.Null}
		if rapid.IntRange(0, 4).Draw(t, "null") > 0 {
			v = d.draw(t)
		}
		row = append(row, v.value)
		wantAvro[envelope.AvroName(name)] = v.avro
		text.WriteString([]string{"{", ","}[min(i, 1)] + encoded(name) + ":" + encoded(v.json))
	}
	columns[0].KeyPosition = 1
	return change.NewTable(change.TableID{Schema: rapid.String().Draw(t, "schema"), Name: rapid.String().Draw(t, "table")}, 1, columns), row, text.String() + "}", wantAvro
}

// encoded is what encoding/json writes; a json.RawMessage stays as it is.
func encoded(v any) string {
	if raw, ok := v.(json.RawMessage); ok {
		return string(raw)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // a test value that JSON does not know
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// same compares what the library decoded with what the test expects.
func same(got, want any) error {
	equal := reflect.DeepEqual(got, want)
	switch want := want.(type) {
	case *big.Rat:
		r, ok := got.(*big.Rat)
		equal = ok && r.Cmp(want) == 0
	case time.Time:
		at, ok := got.(time.Time)
		equal = ok && at.Equal(want)
	case []byte:
		b, ok := got.([]byte)
		equal = ok && bytes.Equal(b, want)
	case map[string]any:
		record, ok := got.(map[string]any)
		if !ok || len(record) != len(want) {
			return fmt.Errorf("%v is not %v", got, want)
		}
		for name, part := range want {
			if err := same(record[name], part); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return nil
	}
	if !equal {
		return fmt.Errorf("%#v is not %#v", got, want)
	}
	return nil
}

func drawings(engine Engine) []drawing {
	of := func(native string, typ change.Type, draw func(*rapid.T) drawn) drawing {
		return drawing{change.Column{Type: typ, Native: native}, draw}
	}
	all := []drawing{
		of("varchar", kindOf(change.String), drawText), of("bigint", kindOf(change.Int8), drawLong), of("int", kindOf(change.Int4), drawInt),
		of("float8", kindOf(change.Real8), drawDouble), of("real", kindOf(change.Real4), drawFloat), of("json", kindOf(change.JSON), drawDocument),
	}
	decimals := of("decimal(38,10)", change.Type{Kind: change.Numeric, Precision: 38, Scale: 10}, drawDecimal)
	date, clock := of("date", kindOf(change.Date), drawDate), of("time", scaled(change.Time, 6), drawClock)
	wall, instant := of("datetime", scaled(change.DateTime, 6), drawWall), of("datetimeoffset", scaled(change.DateTimeTZ, 6), drawZoned)
	bytes, boolean := of("varbinary", kindOf(change.Bytes), drawBytes), of("bit", kindOf(change.Bool), drawBool)
	unsigned := of("bigint unsigned", kindOf(change.Uint8), drawUnsigned)
	switch engine {
	case SQLServer:
		return append(all, decimals, date, clock, wall, instant, bytes, boolean)
	case Postgres:
		return append(all, date, clock, instant, bytes, boolean, of("numeric(38,10)", decimals.column.Type, drawNumber),
			of("timestamp without time zone", wall.column.Type, drawTimestamp), of("time with time zone", kindOf(change.String), drawZonedClock),
			of("interval", kindOf(change.String), drawInterval))
	case MySQL:
		return append(all, decimals, unsigned, of("date", kindOf(change.Date), drawMidnight), of("datetime(6)", wall.column.Type, drawTimestamp),
			of("time(6)", clock.column.Type, drawDuration), of("bit(9)", kindOf(change.Bytes), drawBits), of("bit(1)", kindOf(change.Bool), drawBit),
			of("blob", kindOf(change.Blob), drawHex))
	case SQLite:
	}
	return append(all, decimals, unsigned, date, clock, wall, instant, bytes, boolean)
}

func drawText(t *rapid.T) drawn {
	s := rapid.String().Draw(t, "text")
	return drawn{textOf(s), s, s}
}

func drawLong(t *rapid.T) drawn {
	n := rapid.Int64().Draw(t, "long")
	return drawn{change.IntValue(n), n, n}
}

func drawInt(t *rapid.T) drawn {
	n := rapid.Int32().Draw(t, "int")
	return drawn{change.IntValue(int64(n)), n, n}
}

func drawUnsigned(t *rapid.T) drawn {
	n := rapid.Uint64().Draw(t, "unsigned")
	return drawn{change.UintValue(n), strconv.FormatUint(n, 10), strconv.FormatUint(n, 10)}
}

func drawDouble(t *rapid.T) drawn {
	f := rapid.Float64().Draw(t, "double")
	return drawn{change.Float64Value(f), f, f}
}

func drawFloat(t *rapid.T) drawn {
	f := rapid.Float32().Draw(t, "float")
	return drawn{change.Float32Value(f), f, f}
}

func drawBool(t *rapid.T) drawn {
	b := rapid.Bool().Draw(t, "bool")
	return drawn{change.BoolValue(b), b, b}
}

func drawBit(t *rapid.T) drawn {
	n := rapid.Int64Range(0, 1).Draw(t, "bit")
	return drawn{change.BoolValue(n == 1), n, n}
}

func drawBits(t *rapid.T) drawn {
	n := rapid.Int64Range(0, math.MaxInt64).Draw(t, "bits")
	return drawn{change.BytesValue(new(big.Int).SetInt64(n).Bytes()), n, n}
}

func drawBytes(t *rapid.T) drawn {
	b := rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
	return drawn{change.BytesValue(b), base64.StdEncoding.EncodeToString(b), b}
}

func drawHex(t *rapid.T) drawn {
	b := rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
	return drawn{change.BytesValue(b), hex.EncodeToString(b), hex.EncodeToString(b)}
}

func drawDocument(t *rapid.T) drawn {
	text := encoded(map[string]any{"a": rapid.String().Draw(t, "a"), "b": []any{rapid.Int().Draw(t, "b"), nil}})
	return drawn{textOf(text), json.RawMessage(text), text}
}

// number draws decimal text that decimal(38,10) holds.
func numberText(t *rapid.T) (string, *big.Rat) {
	digits, _ := new(big.Int).SetString(rapid.StringMatching(`[0-9]{1,38}`).Draw(t, "digits"), 10)
	if rapid.Bool().Draw(t, "negative") {
		digits.Neg(digits)
	}
	r := new(big.Rat).SetFrac(digits, big.NewInt(1e10))
	return r.FloatString(10), r
}

func drawDecimal(t *rapid.T) drawn {
	text, r := numberText(t)
	return drawn{decimalOf(text), json.RawMessage(text), r}
}

func drawNumber(t *rapid.T) drawn {
	text, _ := numberText(t)
	return drawn{decimalOf(text), text, text}
}

const firstSecond, lastSecond = -62135596800, 253402300799 // years 1 to 9999

func drawMoment(t *rapid.T) time.Time {
	micros := rapid.Int64Range(0, 999_999).Draw(t, "micros")
	return time.Unix(rapid.Int64Range(firstSecond+86400, lastSecond-86400).Draw(t, "seconds"), micros*1000).UTC()
}

func drawDate(t *rapid.T) drawn {
	at := drawMoment(t).Truncate(24 * time.Hour)
	return drawn{change.DateValue(at.Unix() / 86400), at.Format(time.DateOnly), at}
}

func drawMidnight(t *rapid.T) drawn {
	at := drawMoment(t).Truncate(24 * time.Hour)
	return drawn{change.DateValue(at.Unix() / 86400), at.Format(time.RFC3339), at}
}

func clockOf(at time.Time) time.Duration { return at.Sub(at.Truncate(24 * time.Hour)) }

func drawClock(t *rapid.T) drawn {
	at := drawMoment(t)
	return drawn{change.TimeValue(int64(clockOf(at)/time.Second), int32(at.Nanosecond())), at.Format("15:04:05.000000"), clockOf(at)}
}

func drawDuration(t *rapid.T) drawn {
	n := rapid.Int64Range(-839*3600*1e6, 839*3600*1e6).Draw(t, "duration")
	return drawn{change.TimeValue(n/1e6, int32(n%1e6)*1000), n, n}
}

func drawWall(t *rapid.T) drawn {
	at := drawMoment(t)
	parts := map[string]any{"date": at.Truncate(24 * time.Hour), "time": clockOf(at)}
	return drawn{change.DateTimeValue(at.Unix(), int32(at.Nanosecond())), at.Format("2006-01-02T15:04:05.000000"), parts}
}

func drawTimestamp(t *rapid.T) drawn {
	at := drawMoment(t)
	return drawn{change.DateTimeValue(at.Unix(), int32(at.Nanosecond())), at.Format("2006-01-02T15:04:05.000000Z"), at}
}

func drawZoned(t *rapid.T) drawn {
	at, offset := drawMoment(t), rapid.Int16Range(-14*60, 14*60).Draw(t, "offset")
	text := at.In(time.FixedZone("", int(offset)*60)).Format("2006-01-02T15:04:05.000000Z07:00")
	parts := map[string]any{"timestamp": at, "offset": time.Duration(offset) * time.Minute}
	return drawn{change.InstantValue(at.Unix(), int32(at.Nanosecond()), offset), text, parts}
}

func drawZonedClock(t *rapid.T) drawn {
	at, offset := drawMoment(t), rapid.IntRange(-15*60, 15*60).Draw(t, "offset")
	local := time.Date(2000, 1, 1, at.Hour(), at.Minute(), at.Second(), at.Nanosecond(), time.FixedZone("", offset*60))
	parts := map[string]any{"time": clockOf(at), "offset": time.Duration(offset) * time.Minute}
	return drawn{textOf(local.Format("15:04:05.999999-07:00")), local.Format("15:04:05.999999Z07:00"), parts}
}

func drawInterval(t *rapid.T) drawn {
	years, months := rapid.Int64Range(1, 1000).Draw(t, "years"), rapid.Int64Range(1, 11).Draw(t, "months")
	days, seconds := rapid.Int64Range(-1000, -1).Draw(t, "days"), rapid.Int64Range(1, 59).Draw(t, "seconds")
	hours := rapid.Int64Range(1, 1000).Draw(t, "hours")
	text := fmt.Sprintf("%d years %d mons %d days +%02d:00:%02d.000005", years, months, days, hours, seconds)
	iso := fmt.Sprintf("P%dY%dM%dDT%dH%d.000005S", years, months, days, hours, seconds)
	parts := map[string]any{"months": int32(12*years + months), "hours": int32(24 * days), "micros": (hours*3600+seconds)*1e6 + 5}
	return drawn{textOf(text), iso, parts}
}

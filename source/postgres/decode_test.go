package postgres

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
	"pgregory.net/rapid"

	"ctbridge/bridge/change"
)

func decodeOne(d decoder, raw []byte) (change.Value, error) {
	var v change.Value
	var arena change.Arena
	err := d(&v, raw, &arena)
	return v, err
}

// decimalText draws the text of a decimal number.
func decimalText(t *rapid.T) (string, int) {
	digits := rapid.StringMatching(`[1-9][0-9]{0,60}`).Draw(t, "digits")
	zeros := rapid.IntRange(0, 40).Draw(t, "zeros")
	scale := rapid.IntRange(0, 90).Draw(t, "scale")
	digits += strings.Repeat("0", zeros)
	if scale >= len(digits) {
		digits = strings.Repeat("0", scale-len(digits)+1) + digits
	}
	text := digits[:len(digits)-scale]
	if scale > 0 {
		text += "." + digits[len(digits)-scale:]
	}
	if rapid.Bool().Draw(t, "negative") {
		text = "-" + text
	}
	return text, scale
}

// TestNumericAgainstPgtype compares with pgx's own encoder of the wire form, which keeps the scale but for trailing zeros.
func TestNumericAgainstPgtype(t *testing.T) {
	t.Parallel()
	m := pgtype.NewMap()
	rapid.Check(t, func(t *rapid.T) {
		want, scale := decimalText(t)
		unscaled, ok := new(big.Int).SetString(strings.Replace(want, ".", "", 1), 10)
		if !ok {
			t.Fatalf("bad draw %s", want)
		}
		wire, err := m.Encode(pgtype.NumericOID, pgtype.BinaryFormatCode, pgtype.Numeric{Int: unscaled, Exp: int32(-scale), Valid: true}, nil)
		if err != nil {
			t.Fatal(err)
		}
		binary.BigEndian.PutUint16(wire[6:], uint16(scale)) // the server states the digits to show
		got, err := decodeOne(numericBinary, wire)
		if err != nil || string(got.Raw) != want {
			t.Fatalf("%s gave %s, %v", want, got.Raw, err)
		}
		fromText, err := decodeOne(numericText, []byte(want))
		if err != nil || !fromText.Equal(got) {
			t.Fatalf("text form gave %s, %v", fromText.Raw, err)
		}
	})
}

// TestMomentsAgainstTime compares both wire forms of a timestamp with package time.
func TestMomentsAgainstTime(t *testing.T) {
	t.Parallel()
	m := pgtype.NewMap()
	rapid.Check(t, func(t *rapid.T) {
		seconds := rapid.Int64Range(firstMoment, lastMoment).Draw(t, "seconds")
		micros := rapid.Int64Range(0, 999999).Draw(t, "micros")
		at := time.Unix(seconds, micros*1000).UTC()
		for format, decode := range map[int16]decoder{pgtype.BinaryFormatCode: timestamptzBinary, pgtype.TextFormatCode: timestamptzText} {
			wire, err := m.Encode(pgtype.TimestamptzOID, format, at, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := decodeOne(decode, wire)
			if want := change.InstantValue(seconds, int32(micros)*1000, 0); err != nil || !got.Equal(want) {
				t.Fatalf("format %d, %v gave %+v, %v", format, at, got, err)
			}
		}
	})
}

func TestPoisonIsNamed(t *testing.T) {
	t.Parallel()
	be64 := func(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }
	be32 := func(n int32) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }
	cases := []struct {
		decode decoder
		raw    []byte
		value  string
	}{
		{numericBinary, []byte{0, 0, 0, 0, 0xc0, 0, 0, 0}, "NaN"},
		{numericBinary, []byte{0, 0, 0, 0, 0xd0, 0, 0, 0}, "Infinity"},
		{numericBinary, []byte{0, 0, 0, 0, 0xf0, 0, 0, 0}, "-Infinity"},
		{numericText, []byte("NaN"), "NaN"},
		{numericText, []byte("-Infinity"), "-Infinity"},
		{timestampBinary, be64(math.MaxInt64), "infinity"},
		{timestampBinary, be64(math.MinInt64), "-infinity"},
		{timestampBinary, be64((lastMoment + 1 - epochSeconds) * microsOfSec), "10000-01-01 00:00:00"},
		{timestampBinary, be64((firstMoment-epochSeconds)*microsOfSec - 1), "0001-12-31 23:59:59 BC"},
		{dateBinary, be32(math.MaxInt32), "infinity"},
		{dateBinary, be32(math.MinInt32), "-infinity"},
		{dateBinary, be32(lastDay + 1 - epochDays), "10000-01-01"},
		{dateBinary, be32(firstDay - 1 - epochDays), "0001-12-31 BC"},
		{timestamptzText, []byte("-infinity"), "-infinity"},
		{timestamptzText, []byte("0001-12-31 23:59:59+00 BC"), "0001-12-31 23:59:59+00 BC"},
		{dateText, []byte("10000-01-01"), "10000-01-01"},
	}
	for _, c := range cases {
		_, err := decodeOne(c.decode, c.raw)
		var u unfit
		if !errors.As(err, &u) || u.value != c.value || u.hint == "" {
			t.Errorf("% x gave %#v, want value %q with a hint", c.raw, err, c.value)
		}
	}
}

func TestByteaEscapeForm(t *testing.T) {
	t.Parallel()
	got, err := decodeOne(bytesText, []byte(`a\\b\000\377`))
	if err != nil || !bytes.Equal(got.Raw, []byte{'a', '\\', 'b', 0, 0xff}) {
		t.Errorf("gave % x, %v", got.Raw, err)
	}
	for _, bad := range []string{`\`, `\9`, `\37`, `\x0`, `\xzz`} {
		if _, err := decodeOne(bytesText, []byte(bad)); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}

// oids are the types with a decoder.
var oids = []uint32{
	pgtype.BoolOID, pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID, pgtype.OIDOID, pgtype.Float4OID, pgtype.Float8OID, pgtype.NumericOID,
	pgtype.DateOID, pgtype.TimeOID, pgtype.TimestampOID, pgtype.TimestamptzOID, pgtype.UUIDOID, pgtype.ByteaOID, pgtype.TextOID, pgtype.JSONOID, pgtype.JSONBOID,
}

// FuzzDecoders feeds any bytes to every decoder: an error or a value, never a panic, and what pgx can decode too is no error.
func FuzzDecoders(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0, 2, 0, 1, 0x40, 0, 0, 2, 0, 1, 0x27, 0x0f})
	f.Add([]byte{0, 0, 0xff, 0xff, 0, 0, 0xff, 0xff})
	f.Add([]byte(`\x00ff`))
	f.Add([]byte("2031-05-10 16:00:01.604805+05:45"))
	m := pgtype.NewMap()
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, oid := range oids {
			c := codecOf(oid)
			decodeOne(c.binary, raw)
			decodeOne(c.text, raw)
		}
		checkIntText(t, m, raw)
	})
}

func checkIntText(t *testing.T, m *pgtype.Map, raw []byte) {
	t.Helper()
	var want int64
	err := m.Scan(pgtype.Int8OID, pgtype.TextFormatCode, raw, &want)
	got, failed := decodeOne(intText, raw)
	if (err == nil) != (failed == nil) || err == nil && got.Num != want {
		t.Errorf("%q gave %d, %v; pgx gives %d, %v", raw, got.Num, failed, want, err)
	}
}

// TestDecodersDoNotAllocate: a page's arena is all that reading takes.
func TestDecodersDoNotAllocate(t *testing.T) {
	m := pgtype.NewMap()
	encode := func(oid uint32, v any) []byte {
		wire, err := m.Encode(oid, pgtype.BinaryFormatCode, v, nil)
		if err != nil {
			t.Fatal(err)
		}
		return wire
	}
	wires := map[uint32][]byte{
		pgtype.Int8OID:        encode(pgtype.Int8OID, int64(5)),
		pgtype.Float8OID:      encode(pgtype.Float8OID, 0.5),
		pgtype.NumericOID:     encode(pgtype.NumericOID, pgtype.Numeric{Int: big.NewInt(-1234567), Exp: -2, Valid: true}),
		pgtype.DateOID:        encode(pgtype.DateOID, time.Unix(0, 0)),
		pgtype.TimestamptzOID: encode(pgtype.TimestamptzOID, time.Unix(1, 0)),
		pgtype.UUIDOID:        encode(pgtype.UUIDOID, [16]byte{1}),
		pgtype.TextOID:        []byte("some text"),
		pgtype.JSONBOID:       []byte("\x01{}"),
	}
	const rounds = 100
	decoders := map[uint32]decoder{}
	for oid := range wires {
		decoders[oid] = codecOf(oid).binary
	}
	allocs := testing.AllocsPerRun(20, func() {
		var arena change.Arena
		var v change.Value
		for range rounds {
			for oid, wire := range wires {
				if err := decoders[oid](&v, wire, &arena); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
	if perValue := allocs / (rounds * float64(len(wires))); perValue > 0.01 {
		t.Errorf("%.2f allocations per value", perValue)
	}
}

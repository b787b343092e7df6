package records

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"ctbridge/bridge/change"
)

func drawField(t *rapid.T, label string) []byte {
	if rapid.IntRange(0, 4).Draw(t, label+" is nil") == 0 {
		return nil
	}
	return rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, label)
}

func drawRecord(t *rapid.T) *change.Record {
	r := &change.Record{Key: drawField(t, "key"), Value: drawField(t, "value")}
	for range rapid.IntRange(0, 3).Draw(t, "headers") {
		r.Headers = append(r.Headers, change.Header{Name: rapid.String().Draw(t, "name"), Value: drawField(t, "header")})
	}
	return r
}

// shown is all that there is to a record, nil told from empty.
func shown(delta int64, key, value []byte, headers []change.Header) string {
	return fmt.Sprintf("%d %#v %#v %#v", delta, key, value, headers)
}

// What is appended is what another implementation of the protocol and Each read, and no record takes more than its framing allows.
func TestAppend(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var raw []byte
		var want []string
		var deltas []int64
		for n := range rapid.IntRange(0, 20).Draw(t, "records") {
			r, delta := drawRecord(t), rapid.Int64Range(-1<<40, 1<<40).Draw(t, "delta")
			before := len(raw)
			raw = Append(raw, n, delta, r)
			if most := Framing + r.Size() + HeaderFraming*len(r.Headers); len(raw)-before > most {
				t.Fatalf("a record takes %d bytes, at most %d were expected", len(raw)-before, most)
			}
			want, deltas = append(want, shown(delta, r.Key, r.Value, r.Headers)), append(deltas, delta)
		}
		var got []string
		if err := Each(raw, func(delta int64, r *change.Record) { got = append(got, shown(delta, r.Key, r.Value, r.Headers)) }); err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("read %v, want %v", got, want)
		}
		left := raw
		for n := range want {
			var r kmsg.Record
			if err := r.ReadFrom(left); err != nil {
				t.Fatal(err)
			}
			if int(r.OffsetDelta) != n || r.TimestampDelta64 != deltas[n] || r.Attributes != 0 {
				t.Fatalf("record %d: %+v", n, r)
			}
			if again := r.AppendTo(nil); !bytes.HasPrefix(left, again) {
				t.Fatalf("record %d is % x, written % x", n, again, left)
			} else {
				left = left[len(again):]
			}
		}
		if len(left) > 0 {
			t.Fatalf("%d bytes too many", len(left))
		}
	})
}

// Any bytes are records or an error.
func FuzzEach(f *testing.F) {
	f.Add(Append(nil, 0, 5, &change.Record{Key: []byte("k"), Headers: []change.Header{{Name: "h"}}}))
	f.Add([]byte{2, 0})
	f.Fuzz(func(t *testing.T, raw []byte) {
		n := 0
		if err := Each(raw, func(int64, *change.Record) { n++ }); err == nil && n == 0 && len(raw) > 0 {
			t.Error("no record and no error")
		}
	})
}

func TestPack(t *testing.T) {
	t.Parallel()
	for _, codec := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		p := NewPacker(codec)
		for n := range 3 { // packers are used again
			raw := bytes.Repeat([]byte(codec), 20_000*n+1)
			packed, err := p.Pack(raw)
			if err != nil {
				t.Fatal(codec, err)
			}
			if codec != "none" && n > 0 && len(packed) > len(raw)/5 {
				t.Errorf("%s: %d bytes of %d", codec, len(packed), len(raw))
			}
			if got, err := Unpack(codec, packed); err != nil || !bytes.Equal(got, raw) {
				t.Errorf("%s: %d bytes of %d come back, %v", codec, len(got), len(raw), err)
			}
		}
		if codec != "none" {
			if _, err := Unpack(codec, []byte("no such thing")); err == nil {
				t.Errorf("%s unpacks anything", codec)
			}
		}
	}
	if _, err := NewPacker("rar").Pack(nil); err == nil {
		t.Error("an unknown codec packs")
	}
	if _, err := Unpack("rar", nil); err == nil {
		t.Error("an unknown codec unpacks")
	}
}

package deadletter

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ctbridge/bridge/change"
)

// drawValue draws values as engines make them, and such as no engine should.
func drawValue(t *rapid.T) change.Value {
	kind := rapid.SampledFrom([]change.ValueKind{
		change.KindNull, change.KindAbsent, change.KindBool, change.KindInt, change.KindUint, change.KindFloat32, change.KindFloat64, change.KindDecimal,
		change.KindText, change.KindBytes, change.KindDate, change.KindTime, change.KindDateTime, change.KindInstant, change.KindUndecoded, 200,
	}).Draw(t, "kind")
	bytes := func() []byte {
		return []byte(rapid.OneOf(rapid.String(), rapid.Just("\xff\xfe"), rapid.Just(""), rapid.Just("-12.50"), rapid.Just("a\x00<&>\u2028")).Draw(t, "bytes"))
	}
	v := change.Value{Kind: kind}
	switch kind {
	case change.KindNull, change.KindAbsent:
	case change.KindBool:
		v.Num = rapid.Int64Range(0, 2).Draw(t, "bool")
	case change.KindFloat32:
		v.Num = int64(rapid.SampledFrom([]uint32{0, 1 << 31, math.Float32bits(1.1), 0x7fc00001, 0x7fc00000, 0xff800000, 1}).Draw(t, "bits"))
	case change.KindDecimal, change.KindText, change.KindBytes, change.KindUndecoded:
		v.Raw = bytes()
	case change.KindTime, change.KindDateTime, change.KindInstant:
		v.Num = rapid.OneOf(rapid.Int64Range(-90000, 90000), rapid.Int64()).Draw(t, "num")
		v.Nanos = rapid.Int32Range(-5, 1_000_000_000).Draw(t, "nanos")
		v.Offset = rapid.Int16Range(-1200, 1200).Draw(t, "offset")
	default:
		v.Num = rapid.Int64().Draw(t, "num")
	}
	return v
}

// drawLetter draws a letter about a row with one to four columns.
func drawLetter(t *rapid.T) *Letter {
	n := rapid.IntRange(1, 4).Draw(t, "columns")
	columns := make([]change.Column, n)
	for i := range columns {
		columns[i] = change.Column{
			Name: fmt.Sprint(rapid.StringN(0, 5, -1).Draw(t, "name"), i), Native: "x(1)", Nullable: rapid.Bool().Draw(t, "nullable"),
			Type: change.Type{Kind: change.Kind(rapid.IntRange(0, len(columnKinds)-1).Draw(t, "column kind")), Length: i, Precision: 2 * i, Scale: -i},
		}
	}
	columns[n-1].KeyPosition = 1
	image := func(name string) []change.Value {
		if rapid.Bool().Draw(t, name) {
			return nil
		}
		values := make([]change.Value, n)
		for i := range values {
			values[i] = drawValue(t)
		}
		return values
	}
	identifier := func(name string) []byte {
		return rapid.SampledFrom([][]byte{nil, []byte("7f"), {0xff, 0}}).Draw(t, name)
	}
	ev := &change.Event{
		Table: change.NewTable(change.TableID{Schema: rapid.String().Draw(t, "schema"), Name: "t"}, rapid.IntRange(1, 9).Draw(t, "version"), columns),
		Op:    change.Op(rapid.IntRange(0, 6).Draw(t, "op")), Late: rapid.Bool().Draw(t, "late"), Position: change.Position(rapid.StringMatching(`\d{0,35}`).Draw(t, "position")),
		ChangeSequence: identifier("sequence"), StreamPosition: identifier("stream"), TransactionID: identifier("tx"), Timestamp: drawValue(t),
		After: image("after"), Before: image("before"),
	}
	if ev.HasChanged = rapid.Bool().Draw(t, "has mask"); ev.HasChanged {
		ev.Changed = make(change.Mask, change.MaskBytes(n))
		ev.Changed.Set(n - 1)
	}
	if rapid.Bool().Draw(t, "load") {
		ev.Load = &change.Load{Begin: drawValue(t), Fence: "17", Row: 3}
	}
	return &Letter{
		Task: "orders", Output: rapid.SampledFrom([]string{"", "qlik"}).Draw(t, "output"), Event: ev, Nth: rapid.IntRange(0, 2).Draw(t, "nth"),
		Key: rapid.SampledFrom([][]string{nil, {"a", "b"}}).Draw(t, "key"), Stage: "render", Reason: TooLarge, Problem: rapid.String().Draw(t, "problem"),
		At: time.Unix(1e9, 5).UTC(),
	}
}

func sameImage(a, b []change.Value) bool {
	if len(a) != len(b) || (a == nil) != (b == nil) {
		return false
	}
	for i := range a {
		if !a[i].Equal(b[i]) {
			return false
		}
	}
	return true
}

// shown is everything in a letter but the values.
func shown(l *Letter) string {
	outer, ev := *l, *l.Event
	structure, load := *ev.Table, change.Load{}
	if ev.Load != nil {
		load = *ev.Load
	}
	outer.Event, ev.Table, ev.Load = nil, nil, nil
	return fmt.Sprintf("%#v %#v %#v %#v", outer, ev, structure, load)
}

// I3, I6: whatever the row holds, the letter gives it back.
func TestLettersRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := drawLetter(t)
		data, err := want.Encode(math.MaxInt)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode(data)
		if err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		if !sameImage(got.Event.After, want.Event.After) || !sameImage(got.Event.Before, want.Event.Before) || !got.Event.Timestamp.Equal(want.Event.Timestamp) {
			t.Fatalf("images\n%v %v\nbecame\n%v %v\n%s", want.Event.After, want.Event.Before, got.Event.After, got.Event.Before, data)
		}
		if (got.Event.Load == nil) != (want.Event.Load == nil) || got.Event.Load != nil && !got.Event.Load.Begin.Equal(want.Event.Load.Begin) {
			t.Fatalf("load %+v became %+v", want.Event.Load, got.Event.Load)
		} else if got.Event.Load != nil {
			got.Event.Load.Begin = want.Event.Load.Begin
		}
		got.Event.After, got.Event.Before, got.Event.Timestamp = want.Event.After, want.Event.Before, want.Event.Timestamp
		if shown(got) != shown(want) {
			t.Fatalf("%+v %+v\nbecame\n%+v %+v\n%s", want, want.Event, got, got.Event, data)
		}
	})
}

// Whoever adds to the vocabulary must decide what letters do with it.
func TestLettersKnowEveryField(t *testing.T) {
	t.Parallel()
	for typ, want := range map[reflect.Type]string{
		reflect.TypeFor[change.Event](): "Table Op Late Bad Position ChangeSequence StreamPosition TransactionID Timestamp After Before Changed HasChanged " +
			"Half Counterpart Load Counter TableCounter Last",
		reflect.TypeFor[change.Load]():   "Begin Fence Row",
		reflect.TypeFor[change.Value]():  "Kind Offset Nanos Num Raw",
		reflect.TypeFor[change.Column](): "Name Type Native Nullable KeyPosition",
		reflect.TypeFor[change.Type]():   "Kind Length Precision Scale",
	} {
		var names []string
		for i := range typ.NumField() {
			names = append(names, typ.Field(i).Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s has the fields %s", typ, got)
		}
	}
	for kind := range change.ValueKind(255) {
		if known := nameOf(kind) != fmt.Sprint(kind); known != (kind <= change.KindUndecoded) {
			t.Errorf("value kind %d: known %v", kind, known)
		}
	}
}

// A letter keeps to its limit, and tells how much it left out.
func TestLettersKeepToTheirLimit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := drawLetter(t)
		for _, image := range [][]change.Value{l.Event.After, l.Event.Before} {
			for i := range image {
				if rapid.Bool().Draw(t, "large") {
					image[i] = change.TextValue(bytes.Repeat([]byte("x"), rapid.IntRange(0, 3000).Draw(t, "length")))
				}
			}
		}
		most := rapid.IntRange(1500, 6000).Draw(t, "most")
		l.Problem = strings.Repeat("p", 300)
		whole, err := l.Encode(math.MaxInt)
		if err != nil {
			t.Fatal(err)
		}
		data, err := l.Encode(most)
		if err != nil {
			t.Fatal(err)
		}
		if len(data) > most {
			t.Fatalf("%d bytes, %d are allowed", len(data), most)
		}
		got, err := Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		if got.Event.Position != l.Event.Position || got.ID() != l.ID() || got.Event.Op != l.Event.Op {
			t.Fatalf("the place of the row is lost: %s", data)
		}
		if (got.Omitted > 0) != (len(whole) > most) {
			t.Fatalf("%d values left out of a letter of %d bytes, %d are allowed", got.Omitted, len(whole), most)
		}
	})
}

// The largest values go first, those of the key last.
func TestWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	columns := []change.Column{{Name: "id", KeyPosition: 1, Type: change.Type{Kind: change.String}}, {Name: "note", Type: change.Type{Kind: change.Clob}}, {Name: "status", Type: change.Type{Kind: change.String}}}
	long := change.TextValue(bytes.Repeat([]byte("n"), 5000))
	key := change.TextValue(bytes.Repeat([]byte("k"), 6000))
	l := &Letter{Event: &change.Event{Table: change.NewTable(change.TableID{Name: "t"}, 1, columns), Op: change.OpInsert, Position: "17", After: []change.Value{key, long, change.TextValue([]byte("new"))}}}
	data, err := l.Encode(8000)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if got.Omitted != 1 || !got.Event.After[0].Equal(key) || got.Event.After[1].Kind != change.KindAbsent || string(got.Event.After[2].Raw) != "new" || got.Complete() {
		t.Errorf("kept %+v", got)
	}
	if !bytes.Contains(data, []byte(`{"omitted":{"kind":"text","bytes":5000}}`)) {
		t.Errorf("the letter does not tell what it left out: %s", data)
	}
	if data, err = l.Encode(700); err != nil {
		t.Fatal(err)
	}
	if got, err = Decode(data); err != nil || got.Omitted != 3 && got.Omitted != 2 || got.Complete() {
		t.Errorf("%v %s", err, data)
	}
	if _, err := l.Encode(50); err == nil {
		t.Error("a letter of 50 bytes")
	}
}

// The text of a letter is API: readers outside this program rely on it.
func TestTextOfALetter(t *testing.T) {
	t.Parallel()
	columns := []change.Column{
		{Name: "id", KeyPosition: 1, Native: "int", Type: change.Type{Kind: change.Int4}}, {Name: "fee", Native: "decimal(10,2)", Nullable: true, Type: change.Type{Kind: change.Numeric, Precision: 10, Scale: 2}},
		{Name: "name", Native: "text", Nullable: true, Type: change.Type{Kind: change.Clob}}, {Name: "sent", Native: "timestamp", Nullable: true, Type: change.Type{Kind: change.DateTime, Scale: 6}},
	}
	l := &Letter{
		Task: "orders", Stage: "render", Reason: Unrenderable, Problem: "column \"sent\": no", At: time.Date(2031, 5, 10, 16, 0, 1, 0, time.UTC),
		Event: &change.Event{
			Table: change.NewTable(change.TableID{Schema: "dbo", Name: "orders"}, 3, columns), Op: change.OpUpdate, Position: "20310510160001000000000000000000042",
			ChangeSequence: []byte("20310510160001000000000000000000042"), TransactionID: []byte("AB12"), Timestamp: change.InstantValue(1936108801, 0, 0),
			Changed: change.Mask{2}, HasChanged: true,
			After:  []change.Value{change.IntValue(17), change.DecimalValue([]byte("12.50")), change.UndecodedValue([]byte("\xff")), change.DateTimeValue(1<<40, 0)},
			Before: []change.Value{change.IntValue(17), change.Null, change.Absent, change.DateTimeValue(0, 1000)},
		},
	}
	r, err := l.Record("orders.dead_letters", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := json.Indent(&got, r.Value, "", " "); err != nil {
		t.Fatal(err)
	}
	const want = `{
 "v": 1,
 "id": "dbo.orders@20310510160001000000000000000000042",
 "task": "orders",
 "stage": "render",
 "reason": "unrenderable",
 "error": "column \"sent\": no",
 "at": "2031-05-10T16:00:01Z",
 "table": {
  "schema": "dbo",
  "name": "orders",
  "version": 3,
  "columns": [
   {
    "name": "id",
    "kind": "int4",
    "native": "int",
    "nullable": false,
    "key": 1
   },
   {
    "name": "fee",
    "kind": "numeric",
    "native": "decimal(10,2)",
    "precision": 10,
    "scale": 2,
    "nullable": true
   },
   {
    "name": "name",
    "kind": "clob",
    "native": "text",
    "nullable": true
   },
   {
    "name": "sent",
    "kind": "datetime",
    "native": "timestamp",
    "scale": 6,
    "nullable": true
   }
  ]
 },
 "operation": "UPDATE",
 "position": "20310510160001000000000000000000042",
 "change_sequence": "20310510160001000000000000000000042",
 "transaction_id": "AB12",
 "timestamp": {
  "instant": "2031-05-09 16:00:01.000000000 +00:00"
 },
 "changed": "02",
 "after": [
  {
   "int": "17"
  },
  {
   "decimal": "12.50"
  },
  {
   "undecoded64": "/w=="
  },
  {
   "raw": {
    "kind": "datetime",
    "num": "1099511627776",
    "nanos": 0,
    "offset": 0
   }
  }
 ],
 "before": [
  {
   "int": "17"
  },
  null,
  {
   "absent": true
  },
  {
   "datetime": "1970-01-01 00:00:00.000001000"
  }
 ]
}`
	if got.String() != want {
		t.Errorf("got\n%s", got.String())
	}
	if string(r.Key) != "dbo.orders" || string(r.Headers[0].Value) != l.ID() || string(r.Headers[1].Value) != "unrenderable" {
		t.Errorf("record %+v", r)
	}
}

func TestWhatIsNoLetter(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		``:        "not a dead letter",
		`[]`:      "not a dead letter",
		`{"v":1}`: "no table",
		`{"v":2,"id":"t@1","table":{"name":"t"}}`:                                                                                                               "version 2",
		`{"v":1,"table":{"name":"t"},"operation":"INSERT"}`:                                                                                                     "cannot parse",
		`{"v":1,"at":"2031-05-10T16:00:01Z","table":{"name":"t"},"operation":"UPSERT"}`:                                                                         "unknown operation",
		`{"v":1,"at":"2031-05-10T16:00:01Z","table":{"name":"t","columns":[{"name":"c","kind":"box"}]},"operation":"INSERT"}`:                                   "unknown kind",
		`{"v":1,"at":"2031-05-10T16:00:01Z","table":{"name":"t","columns":[]},"operation":"INSERT","after":[null]}`:                                             "1 values for 0",
		`{"v":1,"at":"2031-05-10T16:00:01Z","table":{"name":"t","columns":[{"name":"c","kind":"int4"}]},"operation":"INSERT","after":[{"omitted":{}}]}`:         "left out",
		`{"v":1,"at":"2031-05-10T16:00:01Z","table":{"name":"t","columns":[{"name":"c","kind":"int4"}]},"operation":"INSERT","after":[{"int":"x"}]}`:            "kind \"int\"",
		`{"v":1,"at":"2031-05-10T16:00:01Z","table":{"name":"t","columns":[{"name":"c","kind":"int4"}]},"operation":"INSERT","after":[{"int":"1","text":"a"}]}`: "one member",
	} {
		if _, err := Decode([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// What can be decoded is encoded and decoded again without a change.
func FuzzDecode(f *testing.F) {
	l := &Letter{Task: "t", Stage: "render", Reason: TooLarge, At: time.Unix(0, 0), Event: &change.Event{
		Table: change.NewTable(change.TableID{Name: "t"}, 1, []change.Column{{Name: "c", Native: "int", Type: change.Type{Kind: change.Int4}}}), Op: change.OpRefresh,
		After: []change.Value{change.IntValue(1)},
	}, Key: []string{"1"}}
	seed, err := l.Encode(1 << 20)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Add([]byte(`{"v":1,"at":"2031-05-10T16:00:01Z","table":{"name":"t","columns":[{"name":"c","kind":"int4"}]},"operation":"DELETE","before":[{"raw":{"kind":"int","num":"7","nanos":1,"offset":2,"bytes":"AA=="}}],"transaction_id":{"bytes":"/w=="}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		first, err := Decode(data)
		if err != nil {
			return
		}
		again, err := first.Encode(math.MaxInt)
		if err != nil {
			t.Fatal(err)
		}
		second, err := Decode(again)
		if err != nil {
			t.Fatalf("%v: %s", err, again)
		}
		twice, err := second.Encode(math.MaxInt)
		if err != nil || !bytes.Equal(again, twice) {
			t.Fatalf("%v\n%s\n%s", err, again, twice)
		}
	})
}

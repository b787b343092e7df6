package kafka

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ctbridge/bridge/change"
	"ctbridge/sink/kafka/records"
)

func packersOf(codec string) *sync.Pool {
	return &sync.Pool{New: func() any { return records.NewPacker(codec) }}
}

// A reused batch holds nothing of the one before, and a record costs no memory of its own.
func TestBatchesAreClean(t *testing.T) {
	full := &change.Record{Table: change.TableID{Name: "x"}, Key: []byte("k"), Value: []byte("v"), Timestamp: time.UnixMilli(1000)}
	b := newBatch()
	for range 100 {
		b.add(full, wireSize(full), 100)
	}
	if next := b.seal(7); next != 107 || b.first != 7 || b.count != 100 || b.counted != 10_000 || b.firstTime != 1000 {
		t.Fatalf("batch %+v, next %d", b, next)
	}
	b.clear()
	if b.size != batchOverhead || b.counted != 0 || b.first != 0 || b.tries != 0 || b.count+len(b.raw)+len(b.packed)+len(b.origins)+len(b.tables) != 0 {
		t.Errorf("left over: %+v", b)
	}
	b = newBatch()
	b.origins, b.raw = make([]string, 0, 2000), make([]byte, 0, 20_000)
	if allocs := testing.AllocsPerRun(1000, func() { b.add(full, 100, 100) }); allocs > 0 {
		t.Errorf("%v allocations per record", allocs)
	}
}

func TestTimestampsOfABatch(t *testing.T) {
	t.Parallel()
	b := newBatch()
	before := time.Now().UnixMilli()
	for i := range 40 {
		r := &change.Record{Value: []byte("v")}
		if i == 0 {
			r.Timestamp = time.UnixMilli(before + 60_000)
		}
		b.add(r, 10, 10)
	}
	n := 0
	err := records.Each(b.raw, func(delta int64, _ *change.Record) {
		if at := b.firstTime + delta; n > 0 && (at < before || at > before+10_000) {
			t.Errorf("record %d is from %d, sent at %d", n, at, before)
		}
		n++
	})
	if err != nil || n != 40 {
		t.Error(n, err)
	}
	if b.firstTime != before+60_000 || b.lastTime != b.firstTime {
		t.Errorf("first %d, last %d", b.firstTime, b.lastTime)
	}
}

// The halves of a batch hold what the whole did, with the sequence numbers that the whole would have used.
func TestBatchSplits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := newBatch()
		n := rapid.IntRange(2, 50).Draw(t, "records")
		var want []string
		for i := range n {
			r := &change.Record{Table: change.TableID{Name: fmt.Sprint(i / 3)}, Origin: fmt.Sprint(i), Key: fmt.Append(nil, i), Timestamp: time.UnixMilli(int64(1000 + i))}
			for range i % 3 {
				r.Headers = append(r.Headers, change.Header{Name: fmt.Sprint("h", i), Value: r.Key}, change.Header{Name: "none"})
			}
			if i%4 > 0 {
				r.Value = fmt.Append(nil, "value ", i)[:7*(i%4-1)/2]
			}
			b.add(r, wireSize(r), 70)
			want = append(want, seen(r.Key, r.Value, r.Headers, r.Timestamp, r.Table, r.Origin))
		}
		first := rapid.Int32Range(0, 1<<31-1).Draw(t, "first")
		b.seal(first)
		codec := rapid.SampledFrom(slices.Collect(maps.Keys(compressions))).Draw(t, "codec")
		if err := b.close().pack(packersOf(codec)); err != nil {
			t.Fatal(err)
		}
		halves, err := b.split(codec)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		var counted int64
		next := first
		for _, half := range halves {
			if half.first != next || half.count == 0 {
				t.Fatalf("half from %d with %d records, want from %d", half.first, half.count, next)
			}
			i := 0
			err := records.Each(half.raw, func(delta int64, r *change.Record) {
				got = append(got, seen(r.Key, r.Value, r.Headers, time.UnixMilli(half.firstTime+delta), half.tableOf(i), half.origins[i]))
				i++
			})
			if err != nil || i != half.count {
				t.Fatalf("%d records of %d, %v", i, half.count, err)
			}
			next = nextSequence(next, half.count)
			counted += half.counted
		}
		if fmt.Sprint(got) != fmt.Sprint(want) || counted != int64(70*n) {
			t.Fatalf("halves hold %v, counted %d", got, counted)
		}
	})
}

// seen is all that there is to a record, nil told from empty.
func seen(key, value []byte, headers []change.Header, at time.Time, table change.TableID, origin string) string {
	return fmt.Sprintf("%#v %#v %#v %d %s %s", key, value, headers, at.UnixMilli(), table, origin)
}

// A batch holds the same whatever was in it and in others before, and however large its records are.
func TestBatchesPassTheirRoom(t *testing.T) {
	t.Parallel()
	packers := packersOf("lz4")
	b := newBatch()
	for round := range 20 {
		size := []int{10, 1000, 40_000, 3 * sendAt}[round%4]
		var want []string
		for i := 0; i < 3 || b.size < sendAt && round%3 == 0; i++ {
			r := &change.Record{Key: fmt.Append(nil, i), Value: slices.Repeat(fmt.Append(nil, i%10), size), Timestamp: time.UnixMilli(int64(i))}
			b.add(r, wireSize(r), 0)
			want = append(want, fmt.Sprint(len(r.Value), string(r.Value[:10])))
		}
		var got []string
		for range 2 { // sent again
			if err := b.close().pack(packers); err != nil {
				t.Fatal(err)
			}
		}
		raw, err := records.Unpack("lz4", b.parcel.packed)
		if err == nil {
			err = records.Each(raw, func(_ int64, r *change.Record) { got = append(got, fmt.Sprint(len(r.Value), string(r.Value[:10]))) })
		}
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("round %d: %d records of %d, %v", round, len(got), len(want), err)
		}
		if len(raw)+batchOverhead > b.size {
			t.Errorf("%d bytes on the wire, at most %d were expected", len(raw)+batchOverhead, b.size)
		}
		b.clear()
	}
}

// Who packs ahead may come late: then the batch is sent, and may hold other records already.
func TestPackingAheadComesLate(t *testing.T) {
	t.Parallel()
	packers := packersOf("lz4")
	b := newBatch()
	r := &change.Record{Key: []byte("k"), Value: []byte("first")}
	b.add(r, wireSize(r), 0)
	late := b.close()
	if err := b.close().pack(packers); err != nil {
		t.Fatal(err)
	}
	b.clear()
	r.Value = []byte("second")
	b.add(r, wireSize(r), 0)
	if err := late.pack(packers); err != nil {
		t.Fatal(err)
	}
	b.add(r, wireSize(r), 0)
	if p := b.close(); p == late || p.count != 2 || len(p.packed) != 0 {
		t.Errorf("%d records are closed, %d bytes packed", p.count, len(p.packed))
	}
}

package bridge

import (
	"time"

	"ctbridge/bridge/change"
)

// batch is what has been published since the last commit. The records' bytes lie in its slabs, which are used again once the sink has
// acknowledged them.
type batch struct {
	records, bytes int
	counts         map[CommitKey]int
	key            CommitKey // of the last row, whose count is not among the others yet
	count          int
	begin, latest  time.Time // of the first and the last row
	oldest         time.Time

	letters  map[LetterKey]int
	lettered []rowOrigin // the rows whose letters are among the records

	slabs   [][]byte // full ones first
	free    [][]byte
	events  []countedEvent  // of one row, in the first output
	parts   []*change.Event // of one row, in the output that is rendered
	pending []change.Record // of one row, in all outputs
	headers []change.Header // of the pending records
	origin  string          // of the row that is rendered: see change.Record
}

// slabSize is how much a slab holds; a record that does not fit gets memory of its own.
const slabSize = 1 << 20

// oldestBatch bounds how long a slow source can keep a commit open: consumers wait for it, and brokers end long transactions.
const oldestBatch = 2 * time.Second

func (b *batch) full(o Options) bool {
	return b.records >= o.CommitRecords || b.bytes >= o.CommitBytes || b.records > 0 && b.latest.Sub(b.begin) > oldestBatch
}

// space gives an empty slice with room behind it to append one encoding to.
func (b *batch) space() []byte {
	n := len(b.slabs)
	if n == 0 || cap(b.slabs[n-1])-len(b.slabs[n-1]) < slabSize/16 {
		if f := len(b.free); f > 0 {
			b.slabs, b.free = append(b.slabs, b.free[f-1][:0]), b.free[:f-1]
		} else {
			b.slabs = append(b.slabs, make([]byte, 0, slabSize))
		}
		n = len(b.slabs)
	}
	slab := b.slabs[n-1]
	return slab[len(slab):len(slab):cap(slab)]
}

// keep marks an encoding that was appended to space as used, and returns it with no room behind it.
func (b *batch) keep(encoded []byte) []byte {
	slab := &b.slabs[len(b.slabs)-1]
	if room := cap(*slab) - len(*slab); len(encoded) <= room {
		*slab = (*slab)[:len(*slab)+len(encoded)]
	}
	return encoded[:len(encoded):len(encoded)]
}

// begins forgets the records of the row before.
func (b *batch) begins() {
	b.events, b.pending, b.headers = b.events[:0], b.pending[:0], b.headers[:0]
}

func (b *batch) add(r *change.Record) {
	b.records++
	b.bytes += r.Size()
}

// touch notes the time of a published row.
func (b *batch) touch(now time.Time) {
	if b.begin.IsZero() {
		b.begin = now
	}
	b.latest = now
}

// countedEvent is what a commit tells of an event, which may be gone by then.
type countedEvent struct {
	key CommitKey
	at  change.Value
}

func (b *batch) countEvent(ev countedEvent) {
	if ev.key != b.key {
		b.addCount()
		b.key = ev.key
	}
	b.count++
	if ev.at.Kind == change.KindInstant {
		at := time.Unix(ev.at.Num, int64(ev.at.Nanos))
		if b.oldest.IsZero() || at.Before(b.oldest) {
			b.oldest = at
		}
	}
}

// addCount puts the count of the last row's kind among the others.
func (b *batch) addCount() {
	if b.count == 0 {
		return
	}
	if b.counts == nil {
		b.counts = make(map[CommitKey]int)
	}
	b.counts[b.key] += b.count
	b.count = 0
}

// rowOrigin names a row: see change.Record.
type rowOrigin struct {
	table  change.TableID
	origin string
}

// letter counts a dead letter.
func (b *batch) letter(key LetterKey, origin string) {
	if b.letters == nil {
		b.letters = make(map[LetterKey]int)
	}
	b.letters[key]++
	b.lettered = append(b.lettered, rowOrigin{key.Table, origin})
}

func (b *batch) summary(now time.Time) Commit {
	b.addCount()
	return Commit{Counts: b.counts, DeadLetters: b.letters, Records: b.records, Bytes: b.bytes, Took: now.Sub(b.begin), Oldest: b.oldest}
}

// seal gives what was published and begins a new batch. The slabs go with it: see takeSlabs.
func (b *batch) seal() batch {
	ended := *b
	ended.free = nil
	*b = batch{free: b.free, events: ended.events, parts: ended.parts, pending: ended.pending, headers: ended.headers}
	return ended
}

// takeSlabs makes the slabs of a batch free that the sink no longer holds.
func (b *batch) takeSlabs(ended *batch) {
	b.free = append(b.free, ended.slabs...)
	ended.slabs = nil
}

// reset begins a new batch. The slabs are free again: the sink no longer holds them.
func (b *batch) reset() {
	b.free = append(b.free, b.slabs...)
	*b = batch{free: b.free, slabs: b.slabs[:0], events: b.events, parts: b.parts, pending: b.pending, headers: b.headers}
}

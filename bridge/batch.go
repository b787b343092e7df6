package bridge

import (
	"time"

	"ctbridge/bridge/change"
)

// batch is what has been published since the last commit, and what is rendered of the row at hand.
type batch struct {
	records, bytes int
	counts         map[CommitKey]int
	key            CommitKey // of the last row, whose count is not among the others yet
	count          int
	begin, latest  time.Time // of the first and the last row
	oldest         time.Time

	letters  map[LetterKey]int
	lettered []rowOrigin // the rows whose letters are among the records

	slab    []byte          // the bytes of the pending records
	events  []countedEvent  // of one row, in the first output
	parts   []*change.Event // of one row, in the output that is rendered
	pending []change.Record // of one row, in all outputs
	headers []change.Header // of the pending records
	origin  string          // of the row that is rendered: see change.Record
}

// A slab grows with what it has to hold, up to mostSlab; a larger record gets memory of its own.
const (
	firstSlab = 4 << 10
	mostSlab  = 1 << 20
)

// oldestBatch bounds how long a slow source can keep a commit open: consumers wait for it, and brokers end long transactions.
const oldestBatch = 2 * time.Second

func (b *batch) full(o Options) bool {
	return b.records >= o.CommitRecords || b.bytes >= o.CommitBytes || b.records > 0 && b.latest.Sub(b.begin) > oldestBatch
}

// space gives an empty slice with room behind it to append one encoding to.
func (b *batch) space() []byte {
	if b.slab == nil {
		b.slab = make([]byte, 0, firstSlab)
	}
	n := len(b.slab)
	return b.slab[n:n:cap(b.slab)]
}

// keep marks an encoding that was appended to space as used, and returns it with no room behind it.
func (b *batch) keep(encoded []byte) []byte {
	n, size := len(b.slab), len(encoded)
	switch {
	case size <= cap(b.slab)-n:
		b.slab = b.slab[:n+size]
	case n+size <= mostSlab: // it has found memory of its own; the next ones have room
		b.slab = make([]byte, 0, 2*(n+size))
	}
	return encoded[:size:size]
}

// begins forgets the records of the row before.
func (b *batch) begins() {
	b.events, b.pending, b.headers, b.slab = b.events[:0], b.pending[:0], b.headers[:0], b.slab[:0]
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

// seal gives what was published and begins a new batch.
func (b *batch) seal() batch {
	ended := *b
	b.reset()
	return ended
}

// reset begins a new batch.
func (b *batch) reset() {
	*b = batch{slab: b.slab[:0], events: b.events[:0], parts: b.parts, pending: b.pending[:0], headers: b.headers[:0]}
}

package kafka

import (
	"slices"
	"time"

	"github.com/IBM/sarama"

	"ctbridge/bridge/change"
)

// batch gathers the records of one partition, with their bytes. It is reused once it is acknowledged, so that a record allocates nothing of its
// own. Sequence numbers count the records of a producer per partition: with them the broker recognises a batch that is sent again (KIP-98).
type batch struct {
	records []entry
	bytes   []byte // of all records, in order
	headers []header
	tables  []tableRun
	size    int   // bytes on the wire, before compression, at most
	counted int64 // bytes counted against the limit (I10)
	first   int32 // sequence number of the first record, set when the batch is sealed

	firstTime, lastTime, now int64 // Unix milliseconds

	tries int       // attempts to send it that failed
	since time.Time // of the first of them
}

// entry is one record: how much of the bytes is its key, its value and its headers' values.
type entry struct {
	key, value int32 // -1 = nil
	headers    int32
	delta      int64 // milliseconds since the batch's first record
	origin     string
}

// header is one header; its value's length.
type header struct {
	name  string
	value int32 // -1 = nil
}

// tableRun is the table of the records from one on.
type tableRun struct {
	from  int
	table change.TableID
}

// owner is the row that a record was made of.
type owner struct {
	table  change.TableID
	origin string
}

// recordOverhead is about what a batch keeps per record beside its payload.
const recordOverhead = 48

// spareBatches is how many batches a writer keeps for later.
const spareBatches = 32

// newBatch gives an empty batch. w.mu is held.
func (w *writer) newBatch() *batch {
	if n := len(w.spare); n > 0 {
		b := w.spare[n-1]
		w.spare = w.spare[:n-1]
		return b
	}
	return newBatch()
}

// reuse takes a batch back whose records are acknowledged. w.mu is held.
func (w *writer) reuse(b *batch) {
	b.clear()
	if len(w.spare) < spareBatches {
		w.spare = append(w.spare, b)
	}
}

func newBatch() *batch { return &batch{size: batchOverhead} }

// Framing of a record batch with its records (KIP-98): the batch itself, then at most that much per record and header.
const (
	batchOverhead    = 61
	recordFraming    = 36
	headerFraming    = 10
	maxBatchInt      = 1<<31 - 1
	maxBatchRequests = 4 << 20 // bytes of batches in one request
)

// wireSize is the most that a record takes in a batch.
func wireSize(r *change.Record) int { return recordFraming + r.Size() + headerFraming*len(r.Headers) }

// add appends a record of that size on the wire, which counts for so much against the limit.
func (b *batch) add(r *change.Record, size int, counted int64) {
	at := r.Timestamp.UnixMilli()
	if r.Timestamp.IsZero() {
		at = b.clock()
	}
	if len(b.records) == 0 {
		b.firstTime, b.lastTime = at, at
	}
	b.lastTime = max(b.lastTime, at)
	if n := len(b.tables); n == 0 || b.tables[n-1].table != r.Table {
		b.tables = append(b.tables, tableRun{len(b.records), r.Table})
	}
	b.records = append(b.records, entry{key: b.keep(r.Key), value: b.keep(r.Value), headers: int32(len(r.Headers)), delta: at - b.firstTime, origin: r.Origin})
	for _, h := range r.Headers {
		b.headers = append(b.headers, header{h.Name, b.keep(h.Value)})
	}
	b.size += size
	b.counted += counted
}

// keep copies bytes into the batch and returns their length, -1 for nil.
func (b *batch) keep(from []byte) int32 {
	if from == nil {
		return -1
	}
	if room := cap(b.bytes) - len(b.bytes); room < len(from) {
		b.bytes = slices.Grow(b.bytes, max(len(from), b.nextRoom()))
	}
	b.bytes = append(b.bytes, from...)
	return int32(len(from))
}

// nextRoom is how much room the bytes get next: little for the few records of a quiet table, soon enough for a full batch.
func (b *batch) nextRoom() int {
	return min(max(firstRoom, 3*len(b.bytes)), sendAt)
}

const firstRoom = 2 << 10

// clock gives the time in Unix milliseconds, looking at the clock once in a while.
func (b *batch) clock() int64 {
	if b.now == 0 || len(b.records)%32 == 0 {
		b.now = time.Now().UnixMilli()
	}
	return b.now
}

// seal ends the batch and returns the sequence number after its last record.
func (b *batch) seal(sequence int32) int32 {
	b.first = sequence
	return nextSequence(sequence, len(b.records))
}

// nextSequence counts on; after the largest number comes 0.
func nextSequence(sequence int32, n int) int32 {
	next := int64(sequence) + int64(n)
	if next > maxBatchInt {
		next -= maxBatchInt + 1
	}
	return int32(next)
}

// blamed is who an error of the batch is about: the row of its only record, or the table of the first.
func (b *batch) blamed(err error) owner {
	out := owner{table: b.tables[0].table}
	if tooLarge(err) {
		out.origin = b.records[0].origin // a batch of several was split
	}
	return out
}

// split cuts a batch that is too large for the broker in two. The broker took none of its sequence numbers, so that the halves keep them.
func (b *batch) split() []*batch {
	middle := len(b.records) / 2
	left, right := newBatch(), newBatch()
	out := &wire{}
	for i, r := range out.fill(b) {
		half := left
		if i >= middle {
			half = right
		}
		half.addWire(r, b.firstTime, owner{b.tableOf(i), b.records[i].origin})
	}
	left.first, right.first = b.first, nextSequence(b.first, middle)
	left.counted, left.size = b.counted/2, b.size/2
	right.counted, right.size = b.counted-left.counted, b.size-left.size
	return []*batch{left, right}
}

func (b *batch) tableOf(record int) change.TableID {
	n := len(b.tables) - 1
	for b.tables[n].from > record {
		n--
	}
	return b.tables[n].table
}

// addWire appends a record of another batch.
func (b *batch) addWire(r *sarama.Record, firstTime int64, o owner) {
	headers := make([]change.Header, len(r.Headers))
	for i, h := range r.Headers {
		headers[i] = change.Header{Name: string(h.Key), Value: h.Value}
	}
	at := time.UnixMilli(firstTime).Add(r.TimestampDelta)
	b.add(&change.Record{Table: o.table, Origin: o.origin, Key: r.Key, Value: r.Value, Headers: headers, Timestamp: at}, 0, 0)
}

// clear empties the batch. The room of large records is not kept.
func (b *batch) clear() {
	clear(b.records)
	clear(b.headers)
	clear(b.tables)
	room := b.bytes[:0]
	if cap(room) > 3*sendAt {
		room = nil
	}
	*b = batch{records: b.records[:0], bytes: room, headers: b.headers[:0], tables: b.tables[:0], size: batchOverhead}
}

package kafka

import (
	"slices"
	"sync"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/sink/kafka/records"
)

// batch gathers the records of one partition, as they go over the wire. It is reused once it is acknowledged, so that a record allocates nothing of
// its own. Sequence numbers count the records of a producer per partition: with them the broker recognises a batch that is sent again (KIP-98).
type batch struct {
	count   int
	raw     []byte // the records, until the batch is closed
	parcel  *parcel
	origins []string
	tables  []tableRun
	size    int   // bytes on the wire, before compression, at most
	counted int64 // bytes counted against the limit (I10)
	first   int32 // sequence number of the first record, set when the batch is sealed

	firstTime, lastTime, now int64 // Unix milliseconds

	packed []byte // room for the next parcel

	tries int       // attempts to send it that failed
	since time.Time // of the first of them
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

// newBatch gives an empty batch, with room for many records if the lane's last one had many. w.mu is held.
func (w *writer) newBatch(l *lane) *batch {
	var b *batch
	if n := len(w.spare); n > 0 {
		b, w.spare = w.spare[n-1], w.spare[:n-1]
	} else {
		b = newBatch()
	}
	if l.many && cap(b.raw) < fullBatch {
		b.raw = borrowRoom(fullBatch)
	}
	return b
}

// reuse takes a batch back whose records are acknowledged. w.mu is held.
func (w *writer) reuse(b *batch) {
	b.clear()
	if len(w.spare) < spareBatches {
		w.spare = append(w.spare, b)
	}
}

func newBatch() *batch { return &batch{size: batchOverhead} }

const (
	batchOverhead    = 61 // of a record batch, beside its records (KIP-98)
	maxBatchInt      = 1<<31 - 1
	maxBatchRequests = 4 << 20 // bytes of batches in one request
)

// wireSize is the most that a record takes in a batch.
func wireSize(r *change.Record) int {
	return records.Framing + r.Size() + records.HeaderFraming*len(r.Headers)
}

// add appends a record of that size on the wire, which counts for so much against the limit.
func (b *batch) add(r *change.Record, size int, counted int64) {
	at := r.Timestamp.UnixMilli()
	if r.Timestamp.IsZero() {
		at = b.clock()
	}
	if b.count == 0 {
		b.firstTime, b.lastTime = at, at
	}
	b.lastTime = max(b.lastTime, at)
	if n := len(b.tables); n == 0 || b.tables[n-1].table != r.Table {
		b.tables = append(b.tables, tableRun{b.count, r.Table})
	}
	b.makeRoom(size)
	b.raw = records.Append(b.raw, b.count, at-b.firstTime, r)
	b.origins = append(b.origins, r.Origin)
	b.count++
	b.size += size
	b.counted += counted
}

// makeRoom makes room for so many bytes more: little for the few records of a quiet table, soon enough for a full batch.
func (b *batch) makeRoom(more int) {
	n := len(b.raw)
	switch {
	case cap(b.raw)-n >= more:
	case n+more <= fewRecords:
		b.raw = slices.Grow(b.raw, max(more, min(firstRoom+n, fewRecords-n)))
	default:
		b.raw = append(borrowRoom(n+more), b.raw...)
	}
}

// The room of a batch of few records stays with it; that of a full one passes from batch to batch, because it is needed only until the batch is packed.
const (
	firstRoom  = 2 << 10
	fewRecords = 32 << 10
	fullBatch  = sendAt + 32<<10
)

var fullRooms sync.Pool // of *[]byte

func borrowRoom(atLeast int) []byte {
	if room, ok := fullRooms.Get().(*[]byte); ok && cap(*room) >= atLeast {
		return (*room)[:0]
	}
	return make([]byte, 0, max(atLeast, fullBatch))
}

// returnRoom takes the room of a full batch back, and gives that of few records. That of unusually large records is not kept.
func returnRoom(room []byte) []byte {
	switch {
	case cap(room) <= fewRecords:
		return room[:0]
	case cap(room) <= 3*sendAt:
		fullRooms.Put(&room)
	}
	return nil
}

// parcel is the records of a closed batch, and what goes over the wire of them once somebody has asked for it.
type parcel struct {
	count   int
	packing sync.Once
	raw     []byte
	packed  []byte
	failed  error
}

// close gives the batch's parcel. No record may be added from now on.
func (b *batch) close() *parcel {
	if b.parcel == nil {
		b.parcel = &parcel{count: b.count, raw: b.raw, packed: b.packed[:0]}
		b.raw, b.packed = nil, nil
	}
	return b.parcel
}

// pack compresses the records. Several goroutines may call it, and one that comes late does no harm to the batch's next life.
func (p *parcel) pack(packers *sync.Pool) error {
	p.packing.Do(func() {
		packer := packers.Get().(*records.Packer)
		defer packers.Put(packer)
		var packed []byte
		if packed, p.failed = packer.Pack(p.raw); p.failed != nil {
			return
		}
		p.packed = append(p.packed, packed...)
		p.raw = returnRoom(p.raw)
	})
	return p.failed
}

// clock gives the time in Unix milliseconds, looking at the clock once in a while.
func (b *batch) clock() int64 {
	if b.now == 0 || b.count%32 == 0 {
		b.now = time.Now().UnixMilli()
	}
	return b.now
}

// seal ends the batch and returns the sequence number after its last record.
func (b *batch) seal(sequence int32) int32 {
	b.first = sequence
	return nextSequence(sequence, b.count)
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
		out.origin = b.origins[0] // a batch of several was split
	}
	return out
}

// split cuts a batch that is too large for the broker in two. The broker took none of its sequence numbers, so that the halves keep them.
func (b *batch) split(codec string) ([]*batch, error) {
	raw, err := records.Unpack(codec, b.parcel.packed)
	if err != nil {
		return nil, err
	}
	left, right := newBatch(), newBatch()
	n, middle := 0, b.count/2
	err = records.Each(raw, func(delta int64, r *change.Record) {
		half := left
		if n >= middle {
			half = right
		}
		r.Table, r.Origin, r.Timestamp = b.tableOf(n), b.origins[n], time.UnixMilli(b.firstTime+delta)
		half.add(r, wireSize(r), 0)
		n++
	})
	if err != nil {
		return nil, err
	}
	left.first, right.first = b.first, nextSequence(b.first, middle)
	left.counted = b.counted / 2
	right.counted = b.counted - left.counted
	return []*batch{left, right}, nil
}

func (b *batch) tableOf(record int) change.TableID {
	n := len(b.tables) - 1
	for b.tables[n].from > record {
		n--
	}
	return b.tables[n].table
}

// clear empties the batch, whose parcel is packed if it has one. What large records needed is not kept.
func (b *batch) clear() {
	clear(b.origins)
	clear(b.tables)
	if p := b.parcel; p != nil {
		b.raw, b.packed = p.raw, p.packed
	}
	if cap(b.packed) > sendAt {
		b.packed = nil
	}
	*b = batch{raw: returnRoom(b.raw), packed: b.packed[:0], origins: b.origins[:0], tables: b.tables[:0], size: batchOverhead}
}

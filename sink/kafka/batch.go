package kafka

import (
	"sync"
	"time"

	"github.com/IBM/sarama"

	"ctbridge/bridge/change"
)

// batch gathers the records of one partition, with their bytes. It is reused once it is acknowledged, so that a record allocates nothing of its own. Sequence numbers count the records of a producer per partition: with them the broker recognises a batch that
// is sent again (KIP-98).
type batch struct {
	records []sarama.Record
	bytes   []byte  // what they point into; full ones are only held by their records
	owners  []owner // of each record
	size    int     // bytes on the wire, before compression, at most
	counted int64   // bytes counted against the limit (I10)
	first   int32   // sequence number of the first record, set when the batch is sealed

	firstTime, lastTime, now int64 // Unix milliseconds

	wire  *sarama.RecordBatch // as it is sent; nil until then
	tries int                 // attempts to send it that failed
	since time.Time           // of the first of them
}

// owner is the row that a record was made of.
type owner struct {
	table  change.TableID
	origin string
}

// recordOverhead is about what a batch keeps per record beside its payload.
const recordOverhead = 176

var batches = sync.Pool{New: func() any { return new(batch) }}

func newBatch() *batch {
	b := batches.Get().(*batch)
	b.size = batchOverhead
	return b
}

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
	b.records = append(b.records, sarama.Record{
		Key: b.keep(r.Key), Value: b.keep(r.Value), Headers: b.wireHeaders(r.Headers),
		OffsetDelta: int64(len(b.records)), TimestampDelta: time.Duration(at-b.firstTime) * time.Millisecond,
	})
	b.owners = append(b.owners, owner{r.Table, r.Origin})
	b.size += size
	b.counted += counted
}

// keep copies bytes into the batch; nil stays nil.
func (b *batch) keep(from []byte) []byte {
	if len(from) == 0 {
		return from[:len(from):len(from)]
	}
	start := len(b.bytes)
	if cap(b.bytes)-start < len(from) {
		start, b.bytes = 0, make([]byte, 0, max(len(from), sendAt))
	}
	b.bytes = append(b.bytes, from...)
	return b.bytes[start:len(b.bytes):len(b.bytes)]
}

// clock gives the time in Unix milliseconds, looking at the clock once in a while.
func (b *batch) clock() int64 {
	if b.now == 0 || len(b.records)%32 == 0 {
		b.now = time.Now().UnixMilli()
	}
	return b.now
}

// wireHeaders gives the headers as the client wants them.
func (b *batch) wireHeaders(headers []change.Header) []*sarama.RecordHeader {
	if len(headers) == 0 {
		return nil
	}
	own := make([]sarama.RecordHeader, len(headers))
	out := make([]*sarama.RecordHeader, len(headers))
	for i, h := range headers {
		own[i] = sarama.RecordHeader{Key: []byte(h.Name), Value: b.keep(h.Value)}
		out[i] = &own[i]
	}
	return out
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
	if tooLarge(err) {
		return b.owners[0] // a batch of several was split
	}
	return owner{table: b.owners[0].table}
}

// split cuts a batch that is too large for the broker in two. The broker took none of its sequence numbers, so that the halves keep them.
func (b *batch) split() []*batch {
	middle := len(b.records) / 2
	left, right := b.part(0, middle), b.part(middle, len(b.records))
	left.first, right.first = b.first, nextSequence(b.first, middle)
	left.counted, left.size = b.counted/2, b.size/2
	right.counted, right.size = b.counted-left.counted, b.size-left.size
	return []*batch{left, right}
}

// part copies records from..to into a new batch.
func (b *batch) part(from, to int) *batch {
	out := newBatch()
	out.firstTime, out.lastTime = b.firstTime, b.lastTime
	out.records = append(out.records, b.records[from:to]...)
	out.owners = append(out.owners, b.owners[from:to]...)
	for i := range out.records {
		out.records[i].OffsetDelta = int64(i)
	}
	return out
}

// release gives the batch to the next records. The room of a large record is not kept.
func (b *batch) release() {
	clear(b.records)
	clear(b.owners)
	room := b.bytes[:0]
	if cap(room) > 2*sendAt {
		room = nil
	}
	*b = batch{records: b.records[:0], owners: b.owners[:0], bytes: room}
	batches.Put(b)
}

// onWire gives the batch as the client sends it. It stays the same however often it is sent.
func (b *batch) onWire(w *writer) *sarama.RecordBatch {
	if b.wire != nil {
		return b.wire
	}
	records := make([]*sarama.Record, len(b.records))
	for i := range b.records {
		records[i] = &b.records[i]
	}
	b.wire = &sarama.RecordBatch{
		Version: 2, Codec: compressions[w.conf.Compression], CompressionLevel: sarama.CompressionLevelDefault,
		FirstTimestamp: time.UnixMilli(b.firstTime), MaxTimestamp: time.UnixMilli(b.lastTime),
		ProducerID: w.producerID, ProducerEpoch: w.epoch, FirstSequence: b.first,
		LastOffsetDelta: int32(len(b.records) - 1), IsTransactional: w.id != "", Records: records,
	}
	return b.wire
}

package kafka

import (
	"sync"
	"time"

	"github.com/IBM/sarama"
)

// wire holds batches as the client sends them, for as long as it takes to write a request.
type wire struct {
	records []sarama.Record
	list    []*sarama.Record
	headers []sarama.RecordHeader
	named   []*sarama.RecordHeader
}

var wires = sync.Pool{New: func() any { return new(wire) }}

// fill fills a request with the batches of so many lanes. The wires are needed until it has been written.
func (w *writer) fill(request *sarama.ProduceRequest, lanes []*lane, sent []*batch) (used []*wire) {
	for i, l := range lanes {
		out := wires.Get().(*wire)
		request.AddBatch(l.topic, l.partition, w.onWire(sent[i], out))
		used = append(used, out)
	}
	return used
}

// onWire gives a batch as the client sends it. It is the same however often it is sent.
func (w *writer) onWire(b *batch, out *wire) *sarama.RecordBatch {
	return &sarama.RecordBatch{
		Version: 2, Codec: compressions[w.conf.Compression], CompressionLevel: sarama.CompressionLevelDefault,
		FirstTimestamp: time.UnixMilli(b.firstTime), MaxTimestamp: time.UnixMilli(b.lastTime),
		ProducerID: w.producerID, ProducerEpoch: w.epoch, FirstSequence: b.first,
		LastOffsetDelta: int32(len(b.records) - 1), IsTransactional: w.id != "", Records: out.fill(b),
	}
}

// fill gives the records of a batch. They point into its bytes.
func (o *wire) fill(b *batch) []*sarama.Record {
	n := len(b.records)
	if cap(o.records) < n {
		o.records, o.list = make([]sarama.Record, n), make([]*sarama.Record, n)
	}
	o.records, o.list = o.records[:n], o.list[:n]
	o.makeHeaders(b)
	bytes, named := b.bytes, o.named
	take := func(size int32) (out []byte) {
		if size >= 0 {
			out, bytes = bytes[:size:size], bytes[size:]
		}
		return out
	}
	headers := 0
	for i := range b.records {
		e := &b.records[i]
		r := &o.records[i]
		*r = sarama.Record{Key: take(e.key), Value: take(e.value), OffsetDelta: int64(i), TimestampDelta: time.Duration(e.delta) * time.Millisecond}
		if e.headers > 0 {
			r.Headers, named = named[:e.headers:e.headers], named[e.headers:]
			for _, h := range r.Headers {
				h.Key, h.Value = []byte(b.headers[headers].name), take(b.headers[headers].value)
				headers++
			}
		}
		o.list[i] = r
	}
	return o.list
}

func (o *wire) makeHeaders(b *batch) {
	n := len(b.headers)
	if cap(o.headers) < n {
		o.headers, o.named = make([]sarama.RecordHeader, n), make([]*sarama.RecordHeader, n)
	}
	o.headers, o.named = o.headers[:n], o.named[:n]
	for i := range o.headers {
		o.named[i] = &o.headers[i]
	}
}

// release gives the memory to the next request.
func (o *wire) release() {
	clear(o.records)
	clear(o.headers)
	wires.Put(o)
}

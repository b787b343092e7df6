package kafka

import (
	"fmt"
	"reflect"
	"time"
	"unsafe"

	"github.com/IBM/sarama"
)

// onWire gives a batch as the client sends it. It is the same however often it is sent.
func (w *writer) onWire(b *batch) (*sarama.RecordBatch, error) {
	p := b.close()
	if err := p.pack(&w.packers); err != nil {
		return nil, err
	}
	if p.count != b.count { // it must never be: such a record would be lost (I1)
		return nil, fmt.Errorf("a batch of %d records has %d packed", b.count, p.count)
	}
	out := &sarama.RecordBatch{
		Version: 2, Codec: compressions[w.conf.Compression],
		FirstTimestamp: time.UnixMilli(b.firstTime), MaxTimestamp: time.UnixMilli(b.lastTime),
		ProducerID: w.producerID, ProducerEpoch: w.epoch, FirstSequence: b.first,
		LastOffsetDelta: int32(b.count - 1), IsTransactional: w.id != "", Records: w.blanks(b.count),
	}
	setPacked(out, p.packed)
	return out, nil
}

// blanks gives so many records, of which the client only takes the number.
func (w *writer) blanks(n int) []*sarama.Record {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.blank) < n {
		w.blank = make([]*sarama.Record, 2*n)
	}
	return w.blank[:n]
}

// packedRecords is where the client keeps the records of a batch that it has compressed. What stands there it sends as it is. It has no call to set it; without that, each
// record of ours would be made one of its own, measured, written, compressed into memory that is thrown away, and copied, which takes more time than to encode the row.
var packedRecords = func() uintptr {
	field, found := reflect.TypeFor[sarama.RecordBatch]().FieldByName("compressedRecords")
	if !found || field.Type != reflect.TypeFor[[]byte]() {
		panic("this release of the Kafka client keeps the records of a batch elsewhere: see sink/kafka/wire.go")
	}
	return field.Offset
}()

func setPacked(batch *sarama.RecordBatch, packed []byte) {
	*(*[]byte)(unsafe.Add(unsafe.Pointer(batch), packedRecords)) = packed
}

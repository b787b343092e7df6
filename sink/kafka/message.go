package kafka

import (
	"sync"

	"github.com/IBM/sarama"

	"ctbridge/bridge/change"
)

// message is a record on its way through the client. Messages are reused after their ack, so that a record allocates none of its own.
type message struct {
	sarama.ProducerMessage
	key, value  payload
	partitionBy []byte
	names       []byte // of the headers: the client wants them as bytes
	offset      *int64 // gets the offset with the ack, when not nil
	size        int64  // bytes counted against the window
	table       change.TableID
}

// payload hands bytes to the client without boxing a slice.
type payload struct{ bytes []byte }

// Encode gives the bytes themselves.
func (p *payload) Encode() ([]byte, error) { return p.bytes, nil }

// Length is their number.
func (p *payload) Length() int { return len(p.bytes) }

// messageOverhead is about what the client keeps per message beside its payload (measured: 300 bytes).
const messageOverhead = 320

var messages = sync.Pool{New: func() any { return new(message) }}

// newMessage wraps a record; its bytes are borrowed until release.
func newMessage(r *change.Record) *message {
	m := messages.Get().(*message)
	m.Topic, m.Timestamp = r.Topic, r.Timestamp
	m.Metadata = m
	m.size = int64(r.Size() + messageOverhead)
	m.table = r.Table
	if r.Key != nil {
		m.key.bytes = r.Key
		m.Key = &m.key
	}
	if r.Value != nil {
		m.value.bytes = r.Value
		m.Value = &m.value
	}
	m.setHeaders(r.Headers)
	m.setPartitionBy(r)
	return m
}

func (m *message) setHeaders(headers []change.Header) {
	m.names, m.Headers = m.names[:0], m.Headers[:0]
	for _, h := range headers {
		m.names = append(m.names, h.Name...)
	}
	rest := m.names
	for _, h := range headers {
		n := len(h.Name)
		m.Headers = append(m.Headers, sarama.RecordHeader{Key: rest[:n:n], Value: h.Value})
		rest = rest[n:]
	}
}

// setPartitionBy settles what chooses the partition: the record's wish, else its key, else the name of its table (I4).
func (m *message) setPartitionBy(r *change.Record) {
	switch {
	case r.PartitionBy != nil:
		m.partitionBy = r.PartitionBy
	case r.Key != nil:
		m.partitionBy = r.Key
	default:
		m.partitionBy = []byte(r.Table.String())
	}
}

// release gives the borrowed bytes back and the message to the next record.
func (m *message) release() {
	headers := m.Headers
	clear(headers)
	*m = message{names: m.names[:0]}
	m.Headers = headers[:0]
	messages.Put(m)
}

// wireSize is the most that a batch holding only this record takes, before compression.
func wireSize(r *change.Record) int {
	const batch, record, header = 61, 36, 10
	return batch + record + r.Size() + header*len(r.Headers)
}

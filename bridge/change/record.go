package change

import "time"

// Record is one rendered message on its way to a topic.
type Record struct {
	Table   TableID
	Origin  string // names the row within its table; a sink that blames the record names it
	Topic   string
	Key     []byte // nil = no key
	Value   []byte // nil = tombstone
	Headers []Header
	// PartitionBy chooses the partition when it is not nil; otherwise the key does. A table without key passes its own name here, so
	// that its records keep their order (I4).
	PartitionBy []byte
	Timestamp   time.Time // record timestamp; zero = time of sending
}

// Header is one record header.
type Header struct {
	Name  string
	Value []byte
}

// Size is what the record weighs on the wire, without the few bytes of framing.
func (r *Record) Size() int {
	n := len(r.Key) + len(r.Value)
	for _, h := range r.Headers {
		n += len(h.Name) + len(h.Value)
	}
	return n
}

// TopicRole says what a topic is for; a sink creates a missing one with the settings of its role.
type TopicRole uint8

// The roles.
const (
	DataTopic TopicRole = iota
	MetadataTopic
	CheckpointTopic
	DeadLetterTopic
)

// Package records writes the records of a record batch as they go over the wire, and compresses them.
//
// Format: record batches of version 2, Kafka's protocol guide, "Record Batch" and "Record" (KIP-98). Numbers are zigzag varints.
package records

import (
	"encoding/binary"
	"errors"
	"math/bits"

	"ctbridge/bridge/change"
)

// Framing is the most that a record takes beside its key, value and headers, HeaderFraming what a header takes beside its name and value.
const (
	Framing       = 36
	HeaderFraming = 10
)

// Append appends record number n of a batch, counted from 0, so many milliseconds after the batch's first timestamp.
func Append(dst []byte, n int, delta int64, r *change.Record) []byte {
	size := 1 + varintSize(delta) + varintSize(int64(n)) + fieldSize(r.Key) + fieldSize(r.Value) + varintSize(int64(len(r.Headers)))
	for i := range r.Headers {
		size += varintSize(int64(len(r.Headers[i].Name))) + len(r.Headers[i].Name) + fieldSize(r.Headers[i].Value)
	}
	dst = binary.AppendVarint(dst, int64(size))
	dst = append(dst, 0) // attributes: none are defined
	dst = binary.AppendVarint(dst, delta)
	dst = binary.AppendVarint(dst, int64(n))
	dst = appendField(dst, r.Key)
	dst = appendField(dst, r.Value)
	dst = binary.AppendVarint(dst, int64(len(r.Headers)))
	for i := range r.Headers {
		dst = binary.AppendVarint(dst, int64(len(r.Headers[i].Name)))
		dst = append(dst, r.Headers[i].Name...)
		dst = appendField(dst, r.Headers[i].Value)
	}
	return dst
}

func varintSize(n int64) int { return (bits.Len64(uint64(n<<1^n>>63)|1) + 6) / 7 }

// fieldSize is what bytes take with their length, which is -1 for nil.
func fieldSize(field []byte) int {
	if field == nil {
		return 1
	}
	return varintSize(int64(len(field))) + len(field)
}

func appendField(dst, field []byte) []byte {
	if field == nil {
		return append(dst, 1)
	}
	dst = binary.AppendVarint(dst, int64(len(field)))
	return append(dst, field...)
}

// ErrMalformed is the error of bytes that are no records.
var ErrMalformed = errors.New("malformed records")

// Each yields the records in order, each with its milliseconds after the batch's first timestamp. What it yields points into raw.
func Each(raw []byte, yield func(delta int64, r *change.Record)) error {
	in := reader{left: raw}
	for len(in.left) > 0 && !in.bad {
		record := reader{left: in.bytes(in.number())}
		record.bytes(1)
		delta := record.number()
		record.number() // its place in the batch
		r := change.Record{Key: record.field(), Value: record.field()}
		for range record.number() {
			if record.bad {
				break
			}
			r.Headers = append(r.Headers, change.Header{Name: string(record.field()), Value: record.field()})
		}
		if in.bad = in.bad || record.bad || len(record.left) > 0; !in.bad {
			yield(delta, &r)
		}
	}
	if in.bad {
		return ErrMalformed
	}
	return nil
}

// reader takes numbers and bytes off what is left; bad tells that there was less.
type reader struct {
	left []byte
	bad  bool
}

func (r *reader) number() int64 {
	n, size := binary.Varint(r.left)
	if size <= 0 {
		r.bad, r.left = true, nil
		return 0
	}
	r.left = r.left[size:]
	return n
}

func (r *reader) bytes(n int64) []byte {
	if n < 0 || n > int64(len(r.left)) {
		r.bad, r.left = true, nil
		return nil
	}
	out := r.left[:n:n]
	r.left = r.left[n:]
	return out
}

func (r *reader) field() []byte {
	n := r.number()
	if n == -1 {
		return nil
	}
	return r.bytes(n)
}

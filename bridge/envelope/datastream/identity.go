package datastream

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"

	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
)

// schemaKey derives the id of the unified schema from what it consists of: engine, object, key, names and types of the columns. The vendor's
// is an opaque hash; deriving it keeps it the same over restarts and on every replica.
func (v *version) schemaKey() string {
	parts := []string{string(v.opts.Engine), v.object(), strconv.Itoa(len(v.key))}
	for _, i := range v.key {
		parts = append(parts, v.columns[i].Name)
	}
	for i := range v.columns {
		c := &v.columns[i]
		parts = append(parts, c.Name, c.name, strconv.Itoa(c.precision), strconv.Itoa(c.scale))
	}
	hash := sha256.New()
	for _, part := range parts {
		hash.Write(appendPart(nil, []byte(part)))
	}
	return string(change.AppendHex(nil, hash.Sum(nil)[:20], change.LowerHex))
}

// uuid makes the id of an event from the stream and the table, the position with the half of a split update, the operation and the key of the
// row: an event that is sent again has it again, two events never share it. Positions are repeated where changes were replayed by hand: the key tells those
// of different rows apart.
//
// A row of a full load has no position. Its id is made from the load and its key; in a table without key from all of its columns and its number
// in the load.
func (v *version) uuid() envelope.Getter {
	var prefix []byte
	for _, part := range []string{v.opts.Stream, v.opts.Database, v.table.ID.Schema, v.table.ID.Name} {
		prefix = appendPart(prefix, []byte(part))
	}
	key := v.table.Key
	all := make([]int, len(v.columns))
	for i := range all {
		all[i] = i
	}
	return func(ev *change.Event, scratch *envelope.Scratch) change.Value {
		b := append((*scratch)[:0], prefix...)
		b = append(b, byte(ev.Op), byte(ev.Half))
		columns := key
		if ev.Op == change.OpRefresh {
			b = appendLoad(b, ev.Load, len(key) == 0)
			if len(key) == 0 {
				columns = all
			}
		} else {
			b = binary.BigEndian.AppendUint32(b, uint32(len(ev.Position)))
			b = append(b, ev.Position...)
		}
		row := ev.Row()
		for _, i := range columns {
			if i < len(row) {
				b = appendValue(b, &row[i])
			}
		}
		hash := sha256.Sum256(b)
		*scratch = appendUUID(b[:0], hash[:16])
		return change.TextValue(*scratch)
	}
}

func appendLoad(b []byte, load *change.Load, numbered bool) []byte {
	if load == nil {
		return b
	}
	b = appendValue(b, &load.Begin)
	if numbered {
		b = binary.BigEndian.AppendUint64(b, uint64(load.Row))
	}
	return b
}

// appendPart writes bytes with their length, which keeps ("ab","c") and ("a","bc") apart.
func appendPart(b, part []byte) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(part))), part...)
}

func appendValue(b []byte, v *change.Value) []byte {
	b = append(b, byte(v.Kind))
	b = binary.BigEndian.AppendUint64(b, uint64(v.Num))
	b = binary.BigEndian.AppendUint32(b, uint32(v.Nanos))
	b = binary.BigEndian.AppendUint16(b, uint16(v.Offset))
	return appendPart(b, v.Raw)
}

// appendUUID writes 16 bytes as a UUID of version 8 (RFC 9562, section 5.8: a hash of one's own choice).
func appendUUID(dst, hash []byte) []byte {
	hash[6] = hash[6]&0x0f | 0x80
	hash[8] = hash[8]&0x3f | 0x80
	for i, c := range hash {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			dst = append(dst, '-')
		}
		dst = append(dst, change.LowerHex[c>>4], change.LowerHex[c&15])
	}
	return dst
}

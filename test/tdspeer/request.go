package tdspeer

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// VarChar is a text argument that the client bound with a single-byte type (varchar); a plain string came as nvarchar.
type VarChar string

// reader takes a request apart; the first thing that does not fit makes all further reads empty.
type reader struct {
	b   []byte
	err error
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.err, r.b = errors.New("request ends early"), nil
		return make([]byte, min(max(n, 0), 8)) // enough for a number
	}
	head := r.b[:n]
	r.b = r.b[n:]
	return head
}

func (r *reader) u8() int  { return int(r.take(1)[0]) }
func (r *reader) u16() int { return int(le.Uint16(r.take(2))) }
func (r *reader) u32() int { return int(le.Uint32(r.take(4))) }

// skipHeaders passes over ALL_HEADERS.
func (r *reader) skipHeaders() { r.take(r.u32() - 4) }

// parseBatch gives the text of an SQL batch.
func parseBatch(body []byte) (string, error) {
	r := reader{b: body}
	r.skipHeaders()
	return fromUCS2(r.b), r.err
}

const procExecuteSQL = 10

// parseRPC gives text and arguments of a call of sp_executesql: its first parameter is the text, the second declares the others.
func parseRPC(body []byte) (string, []any, error) {
	r := reader{b: body}
	r.skipHeaders()
	if name := r.u16(); name != 0xffff {
		return "", nil, fmt.Errorf("procedure %q: only sp_executesql is known", fromUCS2(r.take(2*name)))
	}
	if id := r.u16(); id != procExecuteSQL {
		return "", nil, fmt.Errorf("procedure number %d: only sp_executesql is known", id)
	}
	r.u16() // option flags
	var params []any
	for len(r.b) > 0 && r.err == nil {
		r.take(2 * r.u8()) // name
		r.u8()             // status
		params = append(params, r.param())
	}
	if r.err != nil || len(params) == 0 {
		return "", nil, errors.Join(errors.New("bad call of sp_executesql"), r.err)
	}
	text, ok := params[0].(string)
	if !ok {
		return "", nil, errors.New("the text of sp_executesql is no nvarchar")
	}
	return text, params[min(2, len(params)):], nil
}

// param reads the type and the value of one parameter.
func (r *reader) param() any {
	switch kind := r.u8(); kind {
	case 0x1f: // null
		return nil
	case 0xe7, 0xa7, 0xa5: // nvarchar, varchar, varbinary
		return r.sized(kind)
	case 0x26, 0x68, 0x6d: // integers, bit, floats
		r.u8()
		return number(kind, r.take(r.u8()))
	default:
		r.err = errors.Join(r.err, fmt.Errorf("parameter of type %#x", kind))
		return nil
	}
}

// sized reads text or bytes: a length in two bytes, or chunks where the type has no limit.
func (r *reader) sized(kind int) any {
	limit := r.u16()
	if kind != 0xa5 {
		r.take(5) // collation
	}
	var b []byte
	if limit == 0xffff {
		if le.Uint64(r.take(8)) == math.MaxUint64 {
			return nil
		}
		for n := r.u32(); n > 0 && r.err == nil; n = r.u32() {
			b = append(b, r.take(n)...)
		}
	} else {
		n := r.u16()
		if n == 0xffff {
			return nil
		}
		b = r.take(n)
	}
	switch kind {
	case 0xe7:
		return fromUCS2(b)
	case 0xa7:
		return VarChar(b)
	}
	return append([]byte{}, b...)
}

func number(kind int, b []byte) any {
	if len(b) == 0 {
		return nil
	}
	if kind == 0x68 {
		return b[0] != 0
	}
	var wide [8]byte
	copy(wide[:], b)
	bits := binary.LittleEndian.Uint64(wide[:])
	if kind == 0x6d {
		if len(b) == 4 {
			return float64(math.Float32frombits(uint32(bits)))
		}
		return math.Float64frombits(bits)
	}
	shift := 64 - 8*len(b)
	return int64(bits<<shift) >> shift
}

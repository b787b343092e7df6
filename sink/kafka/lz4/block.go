package lz4

import (
	"encoding/binary"
	"math/bits"
)

// What the block format asks for: a match has four bytes at least, none begins in the last twelve bytes, and the last five are literals.
const (
	leastMatch = 4
	noMatch    = 12
	lastBytes  = 5
)

// window is a block with room behind it: whatever 16 bits may be as a position, so many bytes from there on can be loaded.
type window [blockSize + 16]byte

func (w *window) load(at uint16) uint64 {
	i := int(at)
	return binary.LittleEndian.Uint64(w[i : i+8])
}

func (w *window) load4(at uint16) uint32 {
	i := int(at)
	return binary.LittleEndian.Uint32(w[i : i+4])
}

// tableBits makes a table of 16 KiB, half of the processor's first cache.
const tableBits = 13

// table remembers by hash where in the block five bytes were seen last; where none were, it says 0.
type table [1 << tableBits]uint16

// hash is where the table has the lowest five bytes of v.
func hash(v uint64) uint64 { return v << 24 * 889523592379 >> (64 - tableBits) }

// appendBlock appends src, of blockSize bytes at most, as sequences of literals and a match. dst has room for all of it: see bound.
func (e *Encoder) appendBlock(dst, src []byte) []byte {
	n := copy(e.block[:blockSize], src)
	end := n - noMatch
	literals := 0 // where those begin that are not written yet
	e.positions = table{}
	for at := 1; at <= end; at++ {
		var match int
		if at, match = e.search(at, end); at > end {
			break
		}
		for at > literals && match > 0 && src[at-1] == src[match-1] {
			at, match = at-1, match-1
		}
		for match >= 0 {
			length := leastMatch + e.block.equal(at+leastMatch, match+leastMatch, n-lastBytes)
			dst = e.block.appendSequence(dst, literals, at, at-match, length)
			at += length
			literals, match = at, -1
			if at <= end {
				match = e.follow(at)
			}
		}
	}
	return appendLast(dst, src[literals:])
}

// search gives the first position from at on that has a match, and where that is; a position behind end when there is none. The longer it finds nothing, the more it
// leaves out: data that cannot be compressed cost little.
func (e *Encoder) search(at, end int) (found, match int) {
	const patience = 64
	ahead := e.block.load(uint16(at))
	for step := patience; ; step++ {
		now, h := uint32(ahead), hash(ahead)
		candidate := e.positions[h]
		e.positions[h] = uint16(at)
		next := at + step/patience
		ahead = e.block.load(uint16(next)) // while the candidate is waited for
		if e.block.load4(candidate) == now {
			return at, int(candidate)
		}
		if at = next; at > end {
			return at, 0
		}
	}
}

// follow notes two positions at the end of a match and gives where a match of at is, -1 without one.
func (e *Encoder) follow(at int) (match int) {
	e.positions[hash(e.block.load(uint16(at-2)))] = uint16(at - 2)
	v := e.block.load(uint16(at))
	h := hash(v)
	candidate := e.positions[h]
	e.positions[h] = uint16(at)
	if e.block.load4(candidate) != uint32(v) {
		return -1
	}
	return int(candidate)
}

// equal counts the bytes from at on, before end, that are those from match on.
func (w *window) equal(at, match, end int) int {
	begin := at
	for at+8 <= end {
		if different := w.load(uint16(at)) ^ w.load(uint16(match)); different != 0 {
			return at - begin + bits.TrailingZeros64(different)/8
		}
		at, match = at+8, match+8
	}
	for at < end && w[uint16(at)] == w[uint16(match)] {
		at, match = at+1, match+1
	}
	return at - begin
}

// Most sequences are short: so many literals are written in one go, and that much room takes them with all that belongs to them.
const (
	fewLiterals  = 14
	sequenceRoom = 32
)

// appendSequence appends the literals from one position to another, and a match so far back and so long.
func (w *window) appendSequence(dst []byte, from, to, back, length int) []byte {
	literals, more := to-from, length-leastMatch
	if n := len(dst); literals <= fewLiterals && more < 15 && cap(dst)-n >= sequenceRoom {
		room, at := dst[n:n+sequenceRoom], int(uint16(from))
		room[0] = byte(literals<<4 | more)
		*(*[16]byte)(room[1:17]) = *(*[16]byte)(w[at : at+16])
		binary.LittleEndian.PutUint16(room[1+literals:], uint16(back))
		return dst[:n+1+literals+2]
	}
	dst = append(dst, byte(min(literals, 15)<<4|min(more, 15)))
	dst = appendLength(dst, literals)
	dst = append(dst, w[from:to]...)
	dst = append(dst, byte(back), byte(back>>8))
	return appendLength(dst, more)
}

// appendLast appends the literals that end a block.
func appendLast(dst, literals []byte) []byte {
	dst = append(dst, byte(min(len(literals), 15)<<4))
	dst = appendLength(dst, len(literals))
	return append(dst, literals...)
}

// appendLength appends what of a length does not fit in the four bits that the token has for it.
func appendLength(dst []byte, n int) []byte {
	if n < 15 {
		return dst
	}
	for n -= 15; n >= 255; n -= 255 {
		dst = append(dst, 255)
	}
	return append(dst, byte(n))
}

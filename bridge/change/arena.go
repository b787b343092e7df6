package change

import "sync"

// Arena holds the bytes and values of one page, so that reading a row allocates nothing of its own. What it hands out lives until Release; an
// arena that is never released is left to the garbage collector. The zero Arena is ready.
type Arena struct {
	bytes  []byte
	values []Value
	size   int

	small       [][]byte     // blocks that are no chunks, where Release wants to know them
	byteChunks  []*byteChunk // in use, for Release
	valueChunks []*valueChunk
}

// Blocks grow from the first size to that of a chunk, each twice the one before: the single row of one of a thousand tables, or the answer to a
// count, takes what it needs, and a large page soon has chunks.
const (
	firstBytes, arenaBytes   = 1 << 10, 64 << 10
	firstValues, arenaValues = 64, 4096
)

// block is how large the next block is, behind one of that size, for n at least.
func block(before, n, first int) int { return max(n, first, 2*before) }

type (
	byteChunk  [arenaBytes]byte
	valueChunk [arenaValues]Value
)

// Chunks are used again by the next pages of whatever table.
var (
	byteChunks  = sync.Pool{New: func() any { return new(byteChunk) }}
	valueChunks = sync.Pool{New: func() any { return new(valueChunk) }}
)

// Copy keeps b in the arena and returns the kept bytes. An empty b gives an empty, non-nil slice.
func (a *Arena) Copy(b []byte) []byte {
	dst := a.Make(len(b))
	copy(dst, b)
	return dst
}

// CopyString keeps the bytes of s in the arena.
func (a *Arena) CopyString(s string) []byte {
	dst := a.Make(len(s))
	copy(dst, s)
	return dst
}

// Make returns n bytes of the arena, capacity n, content undefined.
func (a *Arena) Make(n int) []byte {
	if cap(a.bytes)-len(a.bytes) < n {
		a.moreBytes(n)
	}
	start := len(a.bytes)
	a.bytes = a.bytes[:start+n]
	a.size += n
	return a.bytes[start : start+n : start+n]
}

func (a *Arena) moreBytes(n int) {
	size := block(cap(a.bytes), n, firstBytes)
	switch {
	case size >= arenaBytes && n <= arenaBytes:
		chunk := byteChunks.Get().(*byteChunk)
		a.byteChunks, a.bytes = append(a.byteChunks, chunk), chunk[:0]
		return
	case n > arenaBytes:
		size = n
	}
	a.bytes = make([]byte, 0, size)
	if overwrite {
		a.small = append(a.small, a.bytes[:size])
	}
}

// Values returns n NULL values of the arena.
func (a *Arena) Values(n int) []Value {
	if cap(a.values)-len(a.values) < n {
		a.moreValues(n)
	}
	start := len(a.values)
	a.values = a.values[:start+n]
	a.size += n * valueSize
	return a.values[start : start+n : start+n]
}

func (a *Arena) moreValues(n int) {
	size := block(cap(a.values), n, firstValues)
	switch {
	case size >= arenaValues && n <= arenaValues:
		chunk := valueChunks.Get().(*valueChunk)
		a.valueChunks, a.values = append(a.valueChunks, chunk), chunk[:0]
	case n > arenaValues:
		a.values = make([]Value, 0, n)
	default:
		a.values = make([]Value, 0, size)
	}
}

// valueSize is what a Value takes in memory on a 64-bit machine.
const valueSize = 40

// Size is how many bytes the arena has handed out: the memory that its page holds (I10).
func (a *Arena) Size() int { return a.size }

// Release gives the memory to other arenas: nothing that this one has handed out may be used any more. Values are NULL again then, and under
// the race detector bytes are overwritten, so that tests see what uses them all the same.
func (a *Arena) Release() {
	for _, block := range a.small {
		spoil(block)
	}
	for _, chunk := range a.byteChunks {
		spoil(chunk[:])
		byteChunks.Put(chunk)
	}
	for _, chunk := range a.valueChunks {
		clear(chunk[:])
		valueChunks.Put(chunk)
	}
	*a = Arena{byteChunks: a.byteChunks[:0], valueChunks: a.valueChunks[:0]}
}

func spoil(b []byte) {
	if overwrite {
		for i := range b {
			b[i] = '#'
		}
	}
}

package change

// Arena holds the bytes and values of one page, so that reading a row allocates nothing of its own. It is never reset while
// an event of its page is in use; a new page takes a new arena (or one whose page has been published).
type Arena struct {
	bytes  []byte
	values []Value
	size   int
}

const (
	arenaBytes  = 64 << 10
	arenaValues = 4096
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
		a.bytes = make([]byte, 0, max(n, arenaBytes))
	}
	start := len(a.bytes)
	a.bytes = a.bytes[:start+n]
	a.size += n
	return a.bytes[start : start+n : start+n]
}

// Values returns n NULL values of the arena.
func (a *Arena) Values(n int) []Value {
	if cap(a.values)-len(a.values) < n {
		a.values = make([]Value, 0, max(n, arenaValues))
	}
	start := len(a.values)
	a.values = a.values[:start+n]
	a.size += n * valueSize
	return a.values[start : start+n : start+n]
}

// valueSize is what a Value takes in memory on a 64-bit machine.
const valueSize = 40

// Size is how many bytes the arena has handed out: the memory that its page holds (I10).
func (a *Arena) Size() int { return a.size }

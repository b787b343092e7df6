package audit

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"hash/maphash"
	"math/bits"
)

// Stream gives all items of one side. It is read again when something differs.
type Stream func(ctx context.Context, yield func(*Item) error) error

// Options of Compare.
type Options struct {
	Shape  *Shape
	Memory int // bytes that the items of differing buckets may take at a time
	Max    int // how many differences are named

	Lenient Lenience // what may be otherwise in any message; a replayed one may differ in what tells of the schema, too
	// Twice tells that a change may be there more than once; nil = none may.
	Twice func(place string) bool
	// Excuse tells which of the missing places are accounted for, each with the reason; nil = none is.
	Excuse func(ctx context.Context, places []string) (map[string]string, error)
}

// The kinds of differences.
const (
	Missing   = "missing"   // expected, and not in the topic
	Doubled   = "doubled"   // more often in the topic than it was expected
	Different = "different" // in the topic, and says something else
	Unknown   = "unknown"   // in the topic, where the change table has nothing
)

// Difference is one message that is not as it should be.
type Difference struct {
	Kind   string `json:"kind"`
	Place  string `json:"position"`
	Member string `json:"member,omitempty"` // of Different: the first one that differs; of the others "tombstone" where it is one
	At     string `json:"at,omitempty"`     // partition@offset of what was found
}

// Side is one side in sum.
type Side struct {
	Messages int64  `json:"messages"`
	Checksum string `json:"checksum"` // of the multiset: the sum of the hashes, as 128 bits in hex
}

// Result is what Compare found.
type Result struct {
	Expected    Side
	Found       Side
	Counts      map[string]int64 // differences by kind
	Differences []Difference     // the first of them
	Alike       int64            // published under another structure, as replayed letters, or without a time of their own: equal but for that
	Repeated    int64            // doubled where that may be
	Excused     map[string]int64 // missing and accounted for, by reason
	Unsettled   int64            // messages in buckets that were not looked at, because enough was named
}

// Equal tells that nothing is wrong.
func (r *Result) Equal() bool { return len(r.Counts) == 0 && r.Unsettled == 0 }

// total is a multiset's sum: how many, and their hashes added up.
type total struct {
	n      int64
	hi, lo uint64
}

func (t *total) add(s Sum, n int64) {
	hi, lo := binary.BigEndian.Uint64(s[:8]), binary.BigEndian.Uint64(s[8:])
	t.n += n
	var carry uint64
	if n > 0 {
		t.lo, carry = bits.Add64(t.lo, lo, 0)
		t.hi, _ = bits.Add64(t.hi, hi, carry)
		return
	}
	t.lo, carry = bits.Sub64(t.lo, lo, 0)
	t.hi, _ = bits.Sub64(t.hi, hi, carry)
}

func (t *total) side() Side {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], t.hi)
	binary.BigEndian.PutUint64(b[8:], t.lo)
	return Side{Messages: t.n, Checksum: hex.EncodeToString(b[:])}
}

// bucket is the difference of both sides for the places that fall into it; it is zero where they agree.
type bucket struct {
	total
	all   int64
	bytes int64
}

// buckets are few enough to be small and many enough that one difference makes few messages be looked at again.
const buckets = 1 << 13

// comparison is one running Compare.
type comparison struct {
	Options
	seed    maphash.Seed
	buckets []bucket
	result  *Result
}

// Compare compares two multisets of items. It reads both once, and again where they differ.
func Compare(ctx context.Context, expected, found Stream, o Options) (*Result, error) {
	c := &comparison{Options: o, seed: maphash.MakeSeed(), buckets: make([]bucket, buckets)}
	c.result = &Result{Counts: map[string]int64{}, Excused: map[string]int64{}}
	var wanted, there total
	err := expected(ctx, func(i *Item) error { c.sum(i, &wanted, 1); return nil })
	if err == nil {
		err = found(ctx, func(i *Item) error { c.sum(i, &there, -1); return nil })
	}
	if err != nil {
		return nil, err
	}
	c.result.Expected, c.result.Found = wanted.side(), there.side()
	for {
		chosen, more := c.next()
		if len(chosen) == 0 {
			return c.result, nil
		}
		if err := c.settle(ctx, expected, found, chosen); err != nil {
			return nil, err
		}
		if more && len(c.result.Differences) >= c.Max {
			c.result.Unsettled = c.left()
			return c.result, nil
		}
	}
}

func (c *comparison) bucketOf(place string) int {
	return int(maphash.String(c.seed, place) % buckets)
}

func (c *comparison) sum(i *Item, side *total, n int64) {
	side.add(i.Sum, 1)
	b := &c.buckets[c.bucketOf(i.Place)]
	b.add(i.Sum, n)
	b.all++
	b.bytes += int64(len(i.Doc) + itemBytes)
}

// itemBytes is what an item takes beside its document.
const itemBytes = 200

func (b *bucket) differs() bool { return b.n != 0 || b.hi != 0 || b.lo != 0 }

// next chooses differing buckets that fit into the memory, at least one; more tells that others are left.
func (c *comparison) next() (chosen map[int]bool, more bool) {
	chosen = make(map[int]bool)
	room := int64(c.Memory)
	for i := range c.buckets {
		b := &c.buckets[i]
		if !b.differs() {
			continue
		}
		if len(chosen) > 0 && b.bytes > room {
			return chosen, true
		}
		chosen[i] = true
		room -= b.bytes
	}
	return chosen, false
}

func (c *comparison) left() (n int64) {
	for i := range c.buckets {
		if c.buckets[i].differs() {
			n += c.buckets[i].all
		}
	}
	return n
}

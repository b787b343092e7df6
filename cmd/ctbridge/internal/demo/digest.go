package demo

import (
	"crypto/sha256"
	"hash"
)

// digest is a number of changes and what stands for their sequences in order.
type digest struct {
	changes int
	sum     [sha256.Size]byte
}

// running sums up change sequences as they come.
type running struct {
	changes int
	hash    hash.Hash
}

func newRunning() *running { return &running{hash: sha256.New()} }

func (r *running) add(seq string) {
	r.changes++
	_, _ = r.hash.Write([]byte(seq)) // a hash takes everything
}

func (r *running) digest() digest {
	return digest{changes: r.changes, sum: [sha256.Size]byte(r.hash.Sum(nil))}
}

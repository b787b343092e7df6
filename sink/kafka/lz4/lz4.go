// Package lz4 compresses into LZ4 frames, as the brokers and clients of Kafka read them.
//
// Compression is the largest single cost of a record. Go's LZ4 library looks positions up in tables of 136 KiB, which the processor has in its second cache at
// best. Here the table has 16 KiB, and a block is copied to where no index needs a check: that takes less than half of the time for the same size. Decompression,
// which only odd cases need, is left to that library, and tests read everything with it.
//
// Formats: LZ4 frame format 1.6.4 and LZ4 block format, both published with the reference implementation (github.com/lz4/lz4, folder doc).
package lz4

import (
	"encoding/binary"
	"slices"
)

// blockSize is the most that a block holds, uncompressed: its positions fit in 16 bits.
const blockSize = 64 << 10

// header begins a frame: the magic number; version 1, blocks independent of each other, no checksums (the record batch has one); blocks of 64 KiB at most; the check
// byte of these two, which is the second lowest of their xxHash32.
var header = [7]byte{0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82}

// stored is the bit of a block's size that tells that the block is not compressed.
const stored = 1 << 31

// Encoder compresses. It takes 80 KiB and is not for concurrent use; the zero value is ready.
type Encoder struct {
	positions table
	block     window
}

// AppendFrame appends one frame with all of src.
func (e *Encoder) AppendFrame(dst, src []byte) []byte {
	dst = append(dst, header[:]...)
	for len(src) > 0 {
		n := min(len(src), blockSize)
		dst = e.appendFramed(dst, src[:n])
		src = src[n:]
	}
	return append(dst, 0, 0, 0, 0) // no block follows
}

// appendFramed appends one block with its size before it; as it is, if it does not become smaller.
func (e *Encoder) appendFramed(dst, src []byte) []byte {
	start := len(dst) + 4
	dst = e.appendBlock(slices.Grow(dst, 4+bound(len(src)))[:start], src)
	size := uint32(len(dst) - start)
	if int(size) >= len(src) {
		dst = append(dst[:start], src...)
		size = uint32(len(src)) | stored
	}
	binary.LittleEndian.PutUint32(dst[start-4:], size)
	return dst
}

// bound is the most that a block of n bytes takes: its literals, their length in bytes of 255, and a sequence written in one go.
func bound(n int) int { return n + n/255 + sequenceRoom }

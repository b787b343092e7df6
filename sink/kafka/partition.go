package kafka

import (
	"encoding/binary"
	"hash/crc32"
)

// hashes are the partitioners by name: partition = hash(key) mod partitions, as the two families of clients do it.
var hashes = map[string]func([]byte) uint32{
	"murmur2": func(key []byte) uint32 { return murmur2(key) & 0x7fffffff },
	"crc32":   crc32.ChecksumIEEE,
}

// murmur2 is MurmurHash2, 32 bit, with the seed of the Java clients (org.apache.kafka.common.utils.Utils.murmur2).
func murmur2(data []byte) uint32 {
	const (
		seed = 0x9747b28c
		m    = 0x5bd1e995
		r    = 24
	)
	h := uint32(seed) ^ uint32(len(data))
	for ; len(data) >= 4; data = data[4:] {
		k := binary.LittleEndian.Uint32(data) * m
		k ^= k >> r
		h = h*m ^ k*m
	}
	switch len(data) {
	case 3:
		h ^= uint32(data[2]) << 16
		fallthrough
	case 2:
		h ^= uint32(data[1]) << 8
		fallthrough
	case 1:
		h = (h ^ uint32(data[0])) * m
	}
	h = (h ^ h>>13) * m
	return h ^ h>>15
}

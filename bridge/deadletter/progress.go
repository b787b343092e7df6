package deadletter

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Progress is which letters of a topic have been replayed: offsets by partition, as few ranges as they make.
type Progress struct {
	topic string
	done  map[int32][]span
	moved map[int32]bool
}

// span is a range of offsets, both ends included.
type span [2]int64

type progressRecord struct {
	V      int    `json:"v"`
	Ranges []span `json:"ranges"`
}

const progressPrefix = "replayed/"

// ReadProgress takes the entries of all topics, and keeps those of one.
func ReadProgress(topic string, entries map[string][]byte) (*Progress, error) {
	p := &Progress{topic: topic, done: make(map[int32][]span), moved: make(map[int32]bool)}
	for key, value := range entries {
		partition, ok := strings.CutPrefix(key, progressPrefix+topic+"/")
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(partition, 10, 32)
		var r progressRecord
		if err == nil {
			err = json.Unmarshal(value, &r)
		}
		if err != nil || r.V != 1 {
			return nil, fmt.Errorf("record %q of the replay topic is not of this program's format: version %d, %w", key, r.V, err)
		}
		p.done[int32(n)] = r.Ranges
	}
	return p, nil
}

// Has reports whether a letter was replayed.
func (p *Progress) Has(partition int32, offset int64) bool {
	_, found := p.find(partition, offset)
	return found
}

// find gives the index of the range that holds the offset, or of the first behind it.
func (p *Progress) find(partition int32, offset int64) (int, bool) {
	return slices.BinarySearchFunc(p.done[partition], offset, func(s span, offset int64) int {
		switch {
		case s[1] < offset:
			return -1
		case s[0] > offset:
			return 1
		}
		return 0
	})
}

// Add notes that a letter was replayed.
func (p *Progress) Add(partition int32, offset int64) {
	i, found := p.find(partition, offset)
	if found {
		return
	}
	spans := p.done[partition]
	before, after := i > 0 && spans[i-1][1] == offset-1, i < len(spans) && spans[i][0] == offset+1
	switch {
	case before && after:
		spans[i-1][1] = spans[i][1]
		spans = slices.Delete(spans, i, i+1)
	case before:
		spans[i-1][1] = offset
	case after:
		spans[i][0] = offset
	default:
		spans = slices.Insert(spans, i, span{offset, offset})
	}
	p.done[partition], p.moved[partition] = spans, true
}

// Entries gives what has changed since the last call, by key.
func (p *Progress) Entries() map[string][]byte {
	out := make(map[string][]byte)
	for partition := range p.moved {
		value, err := json.Marshal(progressRecord{1, p.done[partition]})
		if err == nil { // numbers always are
			out[progressPrefix+p.topic+"/"+strconv.Itoa(int(partition))] = value
		}
	}
	clear(p.moved)
	return out
}

package checkpoint

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"time"

	"ctbridge/bridge/change"
)

// segment is a run of positions, duplicates included, in the order of their publication. It holds them front-coded, as they are stored: what a position
// shares with the one before is not written again, which leaves about nine bytes of a change sequence.
type segment struct {
	id     int
	coded  []byte // for each: length of the shared prefix, length of the rest, rest
	rows   int
	last   change.Position
	least  change.Position
	most   change.Position
	newest time.Time // when the last one was added
	dirty  bool
}

// segmentSize bounds what one commit rewrites: about 8 KiB.
const segmentSize = 2000

func (s *segment) add(p change.Position) {
	shared := sharedPrefix(s.last, p)
	s.coded = binary.AppendUvarint(s.coded, uint64(shared))
	s.coded = binary.AppendUvarint(s.coded, uint64(len(p)-shared))
	s.coded = append(s.coded, p[shared:]...)
	s.note(p)
}

func (s *segment) note(p change.Position) {
	if s.rows == 0 || p < s.least {
		s.least = p
	}
	s.rows++
	s.last, s.most = p, max(s.most, p)
}

func sharedPrefix(a, b change.Position) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// above counts the positions above a floor.
func (s *segment) above(floor change.Position) int {
	switch {
	case s.most <= floor:
		return 0
	case s.least > floor:
		return s.rows
	}
	n := 0
	_ = decodePositions(s.coded, func(p []byte) { // that it can be decoded was seen when it came
		if string(p) > string(floor) {
			n++
		}
	})
	return n
}

// segmentRecord is a stored segment.
type segmentRecord struct {
	V         int    `json:"v"`
	Positions string `json:"positions"`
}

func (s *segment) encode() []byte {
	out, _ := json.Marshal(segmentRecord{V: stateVersion, Positions: base64.StdEncoding.EncodeToString(s.coded)})
	return out
}

func decodeSegment(id int, value []byte, now time.Time) (*segment, error) {
	var r segmentRecord
	if err := decode(value, &r); err != nil {
		return nil, err
	}
	if err := required(value, "positions"); err != nil {
		return nil, err
	}
	coded, err := base64.StdEncoding.DecodeString(r.Positions)
	if err != nil {
		return nil, err
	}
	s := &segment{id: id, coded: coded, newest: now}
	return s, decodePositions(coded, func(p []byte) { s.note(change.Position(p)) })
}

var errSegment = errors.New("look-back segment is damaged")

// decodePositions gives each position, which is valid until the next.
func decodePositions(coded []byte, use func(p []byte)) error {
	var last []byte
	for len(coded) > 0 {
		shared, n := binary.Uvarint(coded)
		if n <= 0 || shared > uint64(len(last)) {
			return errSegment
		}
		coded = coded[n:]
		rest, n := binary.Uvarint(coded)
		if n <= 0 || rest > uint64(len(coded)-n) {
			return errSegment
		}
		end := n + int(rest)
		last = append(last[:shared], coded[n:end]...)
		use(last)
		coded = coded[end:]
	}
	return nil
}

package sqlservercdc

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"ctbridge/bridge/change"
)

// A position is the full order key as text of fixed width, in the order of its parts, so that byte order is event order (I2):
//
//	commit LSN (20 hex digits) ":" command id (8) ":" sequence value (20) ":" operation
//
// The operation of an event is 1 (delete), 2 (insert) or 4 (update); 3, the before-image, never leaves alone. Bounds may have others: 0 lies before
// every row, 9 behind.

const (
	lsnBytes  = 10
	lsnDigits = 2 * lsnBytes
	opAt      = lsnDigits + 1 + 8 + 1 + lsnDigits + 1
)

// The operations of change rows.
const (
	opDelete = 1
	opInsert = 2
	opBefore = 3
	opAfter  = 4
)

// key is a position in parts.
type key struct {
	lsn []byte
	cmd int64
	seq []byte
	op  int64
}

// position writes a key as text.
func (k key) position() change.Position {
	b := make([]byte, 0, opAt+1)
	b = append(change.AppendHex(b, k.lsn, change.LowerHex), ':')
	b = change.AppendHex(b, []byte{byte(k.cmd >> 24), byte(k.cmd >> 16), byte(k.cmd >> 8), byte(k.cmd)}, change.LowerHex)
	b = change.AppendHex(append(b, ':'), k.seq, change.LowerHex)
	return change.Position(append(b, ':', byte('0'+k.op)))
}

// parse reads a position. The empty one comes before every row, one that begins above all hex digits behind. A bound may end with a byte below '0' and "~": nothing of that operation or above
// belongs to it.
func parse(p change.Position) (key, error) {
	if p == "" {
		return key{lsn: make([]byte, lsnBytes), seq: make([]byte, lsnBytes)}, nil
	}
	if p[0] > 'f' {
		return parse(endOf(strings.Repeat("f", lsnDigits))) // a bound above every position
	}
	var k key
	var errs [3]error
	if len(p) <= opAt || p[lsnDigits] != ':' || p[lsnDigits+9] != ':' || p[opAt-1] != ':' {
		return k, badPosition(p)
	}
	k.lsn, errs[0] = hex.DecodeString(string(p[:lsnDigits]))
	cmd, err := strconv.ParseUint(string(p[lsnDigits+1:lsnDigits+9]), 16, 32)
	k.cmd, errs[1] = int64(cmd), err
	k.seq, errs[2] = hex.DecodeString(string(p[lsnDigits+10 : opAt-1]))
	k.op = int64(p[opAt]) - '0'
	if errors.Join(errs[:]...) != nil {
		return k, badPosition(p)
	}
	return k, nil
}

func badPosition(p change.Position) error {
	return fmt.Errorf("%q is no position of this kind of change table", p)
}

// lsnOf is the commit LSN of a position, as text; empty for the empty position.
func lsnOf(p change.Position) string { return string(p[:min(len(p), lsnDigits)]) }

// startOf is the position before every row of an LSN.
func startOf(lsn string) change.Position {
	return change.Position(lsn + ":00000000:" + strings.Repeat("0", lsnDigits) + ":0")
}

// endOf is the position behind every row of an LSN.
func endOf(lsn string) change.Position {
	return change.Position(lsn + ":ffffffff:" + strings.Repeat("f", lsnDigits) + ":9")
}

// lsnText is an LSN as positions spell it.
func lsnText(lsn []byte) string { return hex.EncodeToString(lsn) }

package tdspeer

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"unicode/utf16"
)

// Packet types (MS-TDS 2.2.3.1.1).
const (
	packetBatch     = 0x01
	packetRPC       = 0x03
	packetReply     = 0x04
	packetAttention = 0x06
	packetLogin     = 0x10
	packetPrelogin  = 0x12
)

const (
	headerSize    = 8
	endOfMessage  = 0x01
	firstPacket   = 4096 // size until the login has settled another
	maxPacketSize = 32767
)

// wire reads whole messages and writes replies in packets.
type wire struct {
	conn net.Conn
	in   *bufio.Reader
	out  []byte // the packet being filled, header included
	size int
	seq  byte
	err  error // first write error; later writes do nothing
}

func newWire(conn net.Conn) *wire {
	return &wire{conn: conn, in: bufio.NewReader(conn), out: make([]byte, headerSize, maxPacketSize), size: firstPacket}
}

// message reads one message and gives the type of its packets.
func (w *wire) message() (kind byte, body []byte, err error) {
	for {
		var header [headerSize]byte
		if _, err := io.ReadFull(w.in, header[:]); err != nil {
			return 0, nil, err
		}
		length := int(binary.BigEndian.Uint16(header[2:])) - headerSize
		if length < 0 {
			return 0, nil, errors.New("packet shorter than its header")
		}
		start := len(body)
		body = append(body, make([]byte, length)...)
		if _, err := io.ReadFull(w.in, body[start:]); err != nil {
			return 0, nil, err
		}
		if header[1]&endOfMessage != 0 {
			return header[0], body, nil
		}
	}
}

// Write adds bytes to the reply and sends packets as they fill. A full packet waits until it is known not to be the last: an empty one at
// the end is not allowed.
func (w *wire) Write(p []byte) (int, error) {
	total := len(p)
	for len(p) > 0 && w.err == nil {
		if len(w.out) == w.size {
			w.send(0)
		}
		n := min(w.size-len(w.out), len(p))
		w.out, p = append(w.out, p[:n]...), p[n:]
	}
	return total, w.err
}

// flush sends what is there; a message that ends has the status end-of-message.
func (w *wire) flush(status byte) {
	if len(w.out) > headerSize || status != 0 {
		w.send(status)
	}
	if status != 0 {
		w.seq = 0
	}
}

func (w *wire) send(status byte) {
	w.seq++
	w.out[0], w.out[1] = packetReply, status
	binary.BigEndian.PutUint16(w.out[2:], uint16(len(w.out)))
	w.out[4], w.out[5], w.out[6], w.out[7] = 0, 0, w.seq, 0
	if w.err == nil {
		_, w.err = w.conn.Write(w.out)
	}
	w.out = w.out[:headerSize]
}

// le appends numbers in the protocol's byte order.
var le = binary.LittleEndian

// ucs2 is UTF-16 in little-endian order.
func ucs2(s string) []byte {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		b = le.AppendUint16(b, u)
	}
	return b
}

func fromUCS2(b []byte) string {
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = le.Uint16(b[2*i:])
	}
	return string(utf16.Decode(units))
}

// appendBVarChar appends a text with its length in characters in one byte.
func appendBVarChar(b []byte, s string) []byte {
	text := ucs2(s)
	return append(append(b, byte(len(text)/2)), text...)
}

// appendUSVarChar appends a text with its length in characters in two bytes.
func appendUSVarChar(b []byte, s string) []byte {
	text := ucs2(s)
	return append(le.AppendUint16(b, uint16(len(text)/2)), text...)
}

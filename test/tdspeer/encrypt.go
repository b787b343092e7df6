package tdspeer

import (
	"bufio"
	"crypto/tls"
	"encoding/binary"
	"net"
)

// encrypt puts TLS around the rest of the conversation. Its handshake goes inside of packets (MS-TDS 2.2.6.5).
func (w *wire) encrypt(config *tls.Config) error {
	within := &handshake{Conn: w.conn, wire: w, in: w.in}
	conn := tls.Server(within, config)
	if err := conn.Handshake(); err != nil {
		return err
	}
	within.over = true
	w.conn, w.in = conn, bufio.NewReader(conn)
	return nil
}

// handshake carries records in packets until it is over, and as they are from then on.
type handshake struct {
	net.Conn
	wire *wire
	in   *bufio.Reader
	left []byte // of the newest packet
	over bool
}

func (h *handshake) Read(p []byte) (int, error) {
	if h.over {
		return h.in.Read(p)
	}
	for len(h.left) == 0 {
		var err error
		if _, h.left, err = h.wire.message(); err != nil {
			return 0, err
		}
	}
	n := copy(p, h.left)
	h.left = h.left[n:]
	return n, nil
}

func (h *handshake) Write(p []byte) (int, error) {
	if h.over {
		return h.Conn.Write(p)
	}
	packet := []byte{packetPrelogin, endOfMessage, 0, 0, 0, 0, 0, 0}
	packet = append(packet, p...)
	binary.BigEndian.PutUint16(packet[2:], uint16(len(packet)))
	if _, err := h.Conn.Write(packet); err != nil {
		return 0, err
	}
	return len(p), nil
}

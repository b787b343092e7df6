package tdspeer

import (
	"encoding/binary"
	"errors"
	"strconv"
)

// Login is what a client said when it logged in.
type Login struct {
	User, Password, App, Server, Database string
	PacketSize                            int
	ReadOnly                              bool // ApplicationIntent=ReadOnly
}

// Answers about encryption.
const (
	encryptOn           = 1
	encryptNotSupported = 2
)

// preloginReply says what of encryption there is (MS-TDS 2.2.6.5), and: version, instance check passed, thread id, no MARS.
func preloginReply(encryption byte) []byte {
	options := []struct {
		token byte
		value []byte
	}{
		{0, []byte{16, 0, 0x10, 0, 0, 0}},
		{1, []byte{encryption}},
		{2, []byte{0}},
		{4, []byte{0}},
	}
	offset := 5*len(options) + 1
	var head, body []byte
	for _, o := range options {
		head = append(head, o.token)
		head = binary.BigEndian.AppendUint16(head, uint16(offset+len(body)))
		head = binary.BigEndian.AppendUint16(head, uint16(len(o.value)))
		body = append(body, o.value...)
	}
	return append(append(head, 0xff), body...)
}

// parseLogin reads the parts of LOGIN7 that tests ask for (MS-TDS 2.2.6.4): pairs of offset and length in characters.
func parseLogin(body []byte) (l Login, err error) {
	if len(body) < 94 {
		return l, errors.New("login packet too short")
	}
	text := func(at int) []byte {
		offset, length := int(le.Uint16(body[at:])), 2*int(le.Uint16(body[at+2:]))
		if offset+length > len(body) {
			err = errors.New("login field outside of its packet")
			return nil
		}
		return body[offset : offset+length]
	}
	l.PacketSize = int(le.Uint32(body[8:]))
	l.ReadOnly = body[26]&0x20 != 0 // TypeFlags, fReadOnlyIntent
	l.User = fromUCS2(text(40))
	l.Password = fromUCS2(clear(text(44)))
	l.App = fromUCS2(text(48))
	l.Server = fromUCS2(text(52))
	l.Database = fromUCS2(text(68))
	return l, err
}

// clear undoes the protocol's disguise of passwords: nibbles swapped, then exclusive-or with 0xA5.
func clear(b []byte) []byte {
	out := make([]byte, len(b))
	for i, c := range b {
		c ^= 0xa5
		out[i] = c<<4 | c>>4
	}
	return out
}

// Tokens (MS-TDS 2.2.7).
const (
	tokenReturnStatus = 0x79
	tokenColMetadata  = 0x81
	tokenError        = 0xaa
	tokenLoginAck     = 0xad
	tokenRow          = 0xd1
	tokenNBCRow       = 0xd2
	tokenEnvChange    = 0xe3
	tokenDone         = 0xfd
	tokenDoneProc     = 0xfe
	tokenDoneInProc   = 0xff
)

// Bits of a DONE token's status.
const (
	doneMore      = 0x01
	doneError     = 0x02
	doneCount     = 0x10
	doneAttention = 0x20
)

const commandSelect = 0xc1

func appendDone(b []byte, token byte, status uint16, rows int) []byte {
	b = le.AppendUint16(append(b, token), status)
	b = le.AppendUint16(b, commandSelect)
	return le.AppendUint64(b, uint64(rows))
}

func appendError(b []byte, e *Error) []byte {
	body := le.AppendUint32(nil, uint32(e.Number))
	body = append(body, max(e.State, 1), max(e.Class, 16))
	body = appendUSVarChar(body, e.Message)
	body = appendBVarChar(body, "tdspeer")
	body = appendBVarChar(body, "")
	body = le.AppendUint32(body, 1)
	b = le.AppendUint16(append(b, tokenError), uint16(len(body)))
	return append(b, body...)
}

// appendEnvChange tells a change of the session: 1 database, 4 packet size.
func appendEnvChange(b []byte, kind byte, now, before string) []byte {
	body := appendBVarChar(appendBVarChar([]byte{kind}, now), before)
	b = le.AppendUint16(append(b, tokenEnvChange), uint16(len(body)))
	return append(b, body...)
}

// appendRouting sends a client on to another server (MS-TDS 2.2.7.9, type 20).
func appendRouting(b []byte, host string, port int) []byte {
	value := le.AppendUint16([]byte{0}, uint16(port)) // TCP
	value = appendUSVarChar(value, host)
	body := le.AppendUint16([]byte{20}, uint16(len(value)))
	body = append(append(body, value...), 0, 0) // no old value
	b = le.AppendUint16(append(b, tokenEnvChange), uint16(len(body)))
	return append(b, body...)
}

// loginReply accepts a login.
func loginReply(l Login, packetSize int) []byte {
	b := appendEnvChange(nil, 1, l.Database, "master")
	ack := append([]byte{1}, 0x74, 0, 0, 4) // interface SQL_TSQL, TDS 7.4
	ack = appendBVarChar(ack, "tdspeer")
	ack = append(ack, 16, 0, 0, 0)
	b = le.AppendUint16(append(b, tokenLoginAck), uint16(len(ack)))
	b = append(b, ack...)
	b = appendEnvChange(b, 4, strconv.Itoa(packetSize), strconv.Itoa(firstPacket))
	return appendDone(b, tokenDone, 0, 0)
}

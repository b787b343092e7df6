package tdspeer

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
)

// session is one connection.
type session struct {
	server *Server
	wire   *wire
	settle int // packet size that holds after the login reply; 0 = nothing to settle
	// encrypt is the handshake that follows the reply; nil = none
	encrypt *tls.Config
}

// run serves the connection until the client leaves or a fault ends it.
func (s *session) run() {
	for {
		kind, body, err := s.wire.message()
		if err != nil || !s.finish(s.handle(kind, body)) {
			return
		}
	}
}

// handle writes the reply to a message and gives the fault that follows it.
func (s *session) handle(kind byte, body []byte) Fault {
	phase := Querying
	switch kind {
	case packetPrelogin:
		phase = Prelogin
	case packetLogin:
		phase = LoggingIn
	}
	if f := s.server.fault(phase); f != Answer && kind != packetAttention {
		return f
	}
	switch kind {
	case packetPrelogin:
		s.prelogin()
	case packetLogin:
		return s.login(body)
	case packetAttention:
		s.wire.Write(appendDone(nil, tokenDone, doneAttention, 0))
	case packetBatch, packetRPC:
		return s.query(kind, body)
	default:
		return Cut
	}
	return Answer
}

// prelogin answers the first word. With encryption the handshake follows.
func (s *session) prelogin() {
	encryption := byte(encryptNotSupported)
	if s.encrypt = s.server.inner; s.encrypt != nil {
		encryption = encryptOn
	}
	s.wire.Write(preloginReply(encryption))
}

// finish sends what there is to send and reports whether the connection lives on.
func (s *session) finish(then Fault) bool {
	switch then {
	case Cut:
		s.wire.flush(0)
		return false
	case Silence:
		s.wire.flush(0)
		io.Copy(io.Discard, s.wire.in)
		return false
	case Hang:
		s.wire.flush(0)
		return s.hang()
	case Answer:
	}
	s.wire.flush(endOfMessage)
	if secure := s.encrypt; secure != nil {
		s.encrypt = nil
		return s.wire.encrypt(secure) == nil
	}
	if s.settle > 0 {
		s.wire.size, s.settle = s.settle, 0
	}
	return s.wire.err == nil
}

// hang waits for a cancellation and confirms it.
func (s *session) hang() bool {
	for {
		kind, _, err := s.wire.message()
		if err != nil {
			return false
		}
		if kind == packetAttention {
			s.wire.Write(appendDone(nil, tokenDone, doneAttention, 0))
			s.wire.flush(endOfMessage)
			return s.wire.err == nil
		}
	}
}

// login accepts or refuses.
func (s *session) login(body []byte) Fault {
	l, err := parseLogin(body)
	if err != nil {
		return Cut
	}
	if e := s.server.login(l); e != nil {
		s.wire.Write(appendDone(appendError(nil, e), tokenDone, doneError, 0))
		return Answer
	}
	s.settle = min(max(l.PacketSize, 512), maxPacketSize)
	if to := s.server.route(l); to != nil {
		at := to.listener.Addr().(*net.TCPAddr)
		s.wire.Write(appendRouting(nil, at.IP.String(), at.Port))
	}
	s.wire.Write(loginReply(l, s.settle))
	return Answer
}

// query answers a batch or a call.
func (s *session) query(kind byte, body []byte) Fault {
	var sql string
	var args []any
	var err error
	if kind == packetBatch {
		sql, err = parseBatch(body)
	} else {
		sql, args, err = parseRPC(body)
	}
	result := Fail(2812, fmt.Sprint(err))
	if err == nil {
		result = s.server.answer(sql, args)
	}
	done := byte(tokenDone)
	if kind == packetRPC {
		done = tokenDoneProc
	}
	return s.send(result, done)
}

// send writes a result. Before a cut the last token is left incomplete.
func (s *session) send(result Result, done byte) Fault {
	var last []byte
	put := func(token []byte) {
		s.wire.Write(last)
		last = token
	}
	encoders, err := columnEncodings(result.Columns)
	if err == nil && len(result.Columns) > 0 {
		put(columnMetadata(result.Columns, encoders))
	}
	for _, row := range result.Rows {
		token, bad := rowToken(encoders, row, result.NBC)
		if bad != nil {
			err = bad
			break
		}
		put(token)
	}
	if err != nil {
		result.Err, result.Then = &Error{Number: 50000, Message: "tdspeer: " + err.Error()}, Answer
	}
	switch {
	case result.Then == Cut:
		s.wire.Write(last[:len(last)/2])
	case result.Then != Answer:
		put(nil)
	case result.Err != nil:
		put(appendError(nil, result.Err))
		put(appendDone(nil, done, doneError, 0))
		put(nil)
	default:
		put(appendDone(nil, done, doneCount, len(result.Rows)))
		put(nil)
	}
	return result.Then
}

func columnEncodings(columns []Column) ([]encoding, error) {
	encodings := make([]encoding, len(columns))
	for i, c := range columns {
		e, err := encodingOf(c)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", c.Name, err)
		}
		encodings[i] = e
	}
	return encodings, nil
}

func columnMetadata(columns []Column, encodings []encoding) []byte {
	b := le.AppendUint16([]byte{tokenColMetadata}, uint16(len(columns)))
	for i, c := range columns {
		flags := uint16(1) // nullable
		if c.NotNull {
			flags = 0
		}
		b = le.AppendUint16(le.AppendUint32(b, 0), flags)
		b = append(b, encodings[i].info...)
		b = appendBVarChar(b, c.Name)
	}
	return b
}

// rowToken writes a row: plain, or with a bitmap of NULLs in front.
func rowToken(encodings []encoding, row []any, nbc bool) ([]byte, error) {
	if len(row) != len(encodings) {
		return nil, fmt.Errorf("row of %d values for %d columns", len(row), len(encodings))
	}
	var body bytes.Buffer
	nulls := make([]byte, (len(row)+7)/8)
	any := false
	for i, v := range row {
		if v == nil {
			nulls[i/8] |= 1 << (i % 8)
			any = true
			if !nbc {
				body.Write(encodings[i].null)
			}
			continue
		}
		b, err := encodings[i].value(v)
		if err != nil {
			return nil, fmt.Errorf("column %d: %w", i+1, err)
		}
		body.Write(b)
	}
	if nbc && any {
		return append(append([]byte{tokenNBCRow}, nulls...), body.Bytes()...), nil
	}
	return append([]byte{tokenRow}, body.Bytes()...), nil
}

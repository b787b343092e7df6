package servers

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// Numbers of the Kafka protocol guide: https://kafka.apache.org/protocol
const (
	apiMetadata     = 3
	metadataVersion = 4 // the last without tagged fields that Kafka 4 still speaks
)

// askKafka lists the topics of the broker. A broker lists itself only after it has joined its cluster, so an answer
// with a broker in it says that clients can work.
func askKafka(ctx context.Context, addr string) error {
	dialer := net.Dialer{Timeout: time.Second}
	conn, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(2 * time.Second)); err != nil {
		return err
	}
	if _, err := conn.Write(metadataRequest()); err != nil {
		return err
	}
	var size int32
	if err := binary.Read(conn, binary.BigEndian, &size); err != nil {
		return fmt.Errorf("metadata answer: %w", err)
	}
	if size < 0 || size > 1<<20 {
		return fmt.Errorf("metadata answer of %d bytes: not Kafka", size)
	}
	answer := make([]byte, size)
	if _, err := io.ReadFull(conn, answer); err != nil {
		return fmt.Errorf("metadata answer: %w", err)
	}
	return checkMetadata(answer)
}

const correlation = 7

// metadataRequest asks for all topics: header version 1 (key, version, correlation, client id), then a null topic list
// and "do not create topics", all behind the 4-byte size.
func metadataRequest() []byte {
	var body bytes.Buffer
	for _, field := range []any{
		int16(apiMetadata), int16(metadataVersion), int32(correlation), int16(len(clientID)), []byte(clientID),
		int32(-1), int8(0),
	} {
		binary.Write(&body, binary.BigEndian, field) // a bytes.Buffer does not fail
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(body.Len())), body.Bytes()...)
}

const clientID = "ctbridge-stack"

// checkMetadata reads the start of the answer: correlation id, throttle time, number of brokers.
func checkMetadata(answer []byte) error {
	if len(answer) < 12 {
		return fmt.Errorf("metadata answer of %d bytes is cut", len(answer))
	}
	if got := int32(binary.BigEndian.Uint32(answer)); got != correlation {
		return fmt.Errorf("metadata answer to request %d, not to %d", got, correlation)
	}
	if brokers := int32(binary.BigEndian.Uint32(answer[8:])); brokers < 1 {
		return errors.New("the broker has not joined its cluster yet")
	}
	return nil
}

//go:build linux

package servers

import (
	"encoding/hex"
	"io"
	"net"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
)

// The oracle is somebody else's implementation of the protocol.
func TestAskKafka(t *testing.T) {
	t.Parallel()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	mustDo(t, "fake cluster", err)
	addr := cluster.ListenAddrs()[0]
	mustDo(t, "ask", askKafka(t.Context(), addr))
	cluster.Close()
	if err := askKafka(t.Context(), addr); err == nil {
		t.Error("a broker that is down counts as ready")
	}
}

func TestAskKafkaRefusesOthers(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]string{
		"no broker yet":     "0000000c" + "00000007" + "00000000" + "00000000",
		"another answer":    "0000000c" + "00000008" + "00000000" + "00000001",
		"cut inside":        "00000004" + "00000007",
		"cut at the length": "0000",
		"not Kafka":         hex.EncodeToString([]byte("HTTP/1.1 400 Bad Request")),
		"negative length":   "ffffffff",
		"silence":           "",
	} {
		t.Run(name, func(t *testing.T) {
			raw, err := hex.DecodeString(reply)
			mustDo(t, "hex", err)
			if err := askKafka(t.Context(), responder(t, raw)); err == nil {
				t.Error("counts as ready")
			}
		})
	}
}

// responder answers the first request of each connection with raw and closes it.
func responder(t *testing.T, raw []byte) string {
	t.Helper()
	listener, err := net.Listen("tcp", loopback+":0")
	mustDo(t, "listen", err)
	t.Cleanup(func() { listener.Close() })
	request := len(metadataRequest())
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			io.ReadFull(conn, make([]byte, request))
			conn.Write(raw)
			conn.Close()
		}
	}()
	return listener.Addr().String()
}

package wiring

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"

	"ctbridge/bridge"
	"ctbridge/sink/kafka"
)

// FuzzControlRequests puts any record on the control topic: it is handed on as a request of a known version, or left out with a line.
func FuzzControlRequests(f *testing.F) {
	for _, seed := range []string{`{"v":1,"id":"a","schema":"dbo","table":"orders","action":"load"}`, `{"v":1}`, `{"v":2,"table":"x","action":"load"}`, "", "null", "[]", `{"v":1,"table":"x","action":"drop"}`,
		`{"v":1,"table":"x","action":"load","where":"1=1; DROP TABLE x"}`, `{"V":1,"TABLE":"x"}`} {
		f.Add([]byte(seed), int64(7))
	}
	f.Fuzz(func(t *testing.T, value []byte, offset int64) {
		c := &control{topic: "control", requests: make(chan bridge.Request, 1), log: slog.New(slog.DiscardHandler)}
		if err := c.take(context.Background(), &kafka.Message{Offset: offset, Value: value}); err != nil {
			t.Fatal(err)
		}
		select {
		case r := <-c.requests:
			var q request
			if json.Unmarshal(value, &q) != nil || q.V != requestVersion || r.Number != offset {
				t.Errorf("%q is taken for %+v", value, r)
			}
		default:
		}
	})
}

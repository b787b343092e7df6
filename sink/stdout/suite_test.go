package stdout_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint/memory"
	"ctbridge/sink/sinktest"
	"ctbridge/sink/stdout"
)

func TestConformance(t *testing.T) {
	sinktest.Run(t, func(*testing.T) sinktest.Place {
		var out bytes.Buffer
		var store memory.Store
		return sinktest.Place{
			Topic: "parcel",
			New:   func(*testing.T) sinktest.Sink { return stdout.New(&out, &store) },
			Read:  func(t *testing.T, topic string) []sinktest.Record { return printed(t, out.Bytes(), topic) },
		}
	})
}

// content is one key, value or header of a line.
type content struct {
	text *string
	raw  []byte
}

func (c content) bytes() []byte {
	if c.text != nil {
		return []byte(*c.text)
	}
	return c.raw
}

// printed reads the lines of a topic back.
func printed(t *testing.T, out []byte, topic string) []sinktest.Record {
	t.Helper()
	var records []sinktest.Record
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		var line struct {
			Topic     string
			Timestamp time.Time
			Key       *string
			KeyRaw    []byte `json:"key_base64"`
			Value     *string
			ValueRaw  []byte `json:"value_base64"`
			Headers   []struct {
				Name     string
				Value    *string
				ValueRaw []byte `json:"value_base64"`
			}
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		if line.Topic != topic {
			continue
		}
		r := sinktest.Record{Key: content{line.Key, line.KeyRaw}.bytes(), Value: content{line.Value, line.ValueRaw}.bytes(), Timestamp: line.Timestamp}
		for _, h := range line.Headers {
			r.Headers = append(r.Headers, change.Header{Name: h.Name, Value: content{h.Value, h.ValueRaw}.bytes()})
		}
		records = append(records, r)
	}
	return records
}

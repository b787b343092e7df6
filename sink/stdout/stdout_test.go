package stdout_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/checkpoint/memory"
	"ctbridge/bridge/fault"
	"ctbridge/sink/stdout"
)

func publish(t *testing.T, s *stdout.Sink, records ...*change.Record) {
	t.Helper()
	for _, r := range records {
		if err := s.Publish(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := stdout.New(&out, &memory.Store{})
	publish(t, s,
		&change.Record{Topic: "shop.parcel", Table: change.TableID{Schema: "shop", Name: "parcel"}, Key: []byte("5"), Value: []byte("{\"id\": 5,\n \"fee\": 1.10}"), Timestamp: time.Unix(0, 0).UTC()},
		&change.Record{Topic: "t", Value: []byte("a <b>")},
		&change.Record{Topic: "t", Key: []byte{}, Headers: []change.Header{{Name: "h", Value: []byte("x")}, {Name: "b", Value: []byte{0xff}}}},
		&change.Record{Topic: "t", Key: []byte{0, 0xff}, Value: []byte("{not json")},
	)
	if out.Len() > 0 {
		t.Errorf("printed before commit: %s", out.String())
	}
	if err := s.Commit(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	want := `{"topic":"shop.parcel","table":"shop.parcel","timestamp":"1970-01-01T00:00:00Z","key":"5","value":{"id":5,"fee":1.10}}
{"topic":"t","key":null,"value":"a <b>"}
{"topic":"t","headers":[{"name":"h","value":"x"},{"name":"b","value":null,"value_base64":"/w=="}],"key":"","value":null}
{"topic":"t","key":null,"key_base64":"AP8=","value":"{not json"}
`
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}

func TestAnyRecordIsOneLineOfJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var out bytes.Buffer
		s := stdout.New(&out, &memory.Store{})
		value := rapid.SliceOf(rapid.Byte()).Draw(t, "value")
		if err := s.Publish(t.Context(), &change.Record{Topic: "t", Value: value}); err != nil {
			t.Fatal(err)
		}
		if err := s.Commit(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if strings.Count(out.String(), "\n") != 1 {
			t.Fatalf("lines: %q", out.String())
		}
		var line struct {
			Value json.RawMessage `json:"value"`
			Raw   []byte          `json:"value_base64"`
		}
		if err := json.Unmarshal(out.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		var text string
		if json.Unmarshal(line.Value, &text) == nil && line.Raw == nil && text != string(value) {
			t.Fatalf("got %q, want %q", text, value)
		}
		if line.Raw != nil && !bytes.Equal(line.Raw, value) {
			t.Fatalf("got %q, want %q", line.Raw, value)
		}
	})
}

func TestAbortForgetsAndReopenTellsTheCheckpoint(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := stdout.New(&out, &memory.Store{})
	publish(t, s, &change.Record{Topic: "t", Value: []byte("kept")})
	if err := s.Commit(t.Context(), []checkpoint.Entry{{Key: "p", Value: []byte("1")}}); err != nil {
		t.Fatal(err)
	}
	publish(t, s, &change.Record{Topic: "t", Value: []byte("given up")})
	if err := s.Abort(t.Context()); err != nil {
		t.Fatal(err)
	}
	entries, err := s.Open(t.Context())
	if err != nil || string(entries["p"]) != "1" {
		t.Errorf("entries %v, error %v", entries, err)
	}
	if err := s.Commit(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "given up") || !strings.Contains(out.String(), "kept") {
		t.Errorf("printed %s", out.String())
	}
}

type closedPipe struct{}

func (closedPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestCheckpointStaysWhenNobodyReads(t *testing.T) {
	t.Parallel()
	var store memory.Store
	s := stdout.New(closedPipe{}, &store)
	publish(t, s, &change.Record{Topic: "t", Value: []byte("x")})
	err := s.Commit(t.Context(), []checkpoint.Entry{{Key: "p", Value: []byte("1")}})
	if err == nil || fault.ClassOf(err) != fault.Fatal {
		t.Errorf("got %v", err)
	}
	if entries, _ := store.Load(t.Context()); len(entries) > 0 {
		t.Errorf("checkpoint moved past lines that were not printed: %v", entries)
	}
}

func TestBigRoundDoesNotGrowTheBuffer(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := stdout.New(&out, &memory.Store{})
	value := bytes.Repeat([]byte("x"), 100_000)
	for range 30 {
		publish(t, s, &change.Record{Topic: "t", Value: value})
	}
	if out.Len() < 2_000_000 {
		t.Errorf("only %d bytes were printed before commit", out.Len())
	}
}

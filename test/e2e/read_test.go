package e2e

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/avro"

	"ctbridge/sink/kafka"
)

// topics are the names of tables' topics under the stand's template.
func (s *stand) topics(tables []string) []string {
	out := make([]string, len(tables))
	for i, table := range tables {
		out[i] = s.task + "." + table
	}
	return out
}

// read waits for n committed messages of the tables' topics, in the order of a partition.
func (s *stand) read(n int, tables ...string) []*kafka.Message {
	s.Helper()
	return s.readTopics(n, s.topics(tables)...)
}

func (s *stand) readTopics(n int, topics ...string) []*kafka.Message {
	s.Helper()
	var got []*kafka.Message
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	retry := time.NewTicker(20 * time.Millisecond)
	defer retry.Stop()
	for {
		got = nil
		err := kafka.Tail(ctx, kafka.Config{Brokers: s.Brokers()}, kafka.TailOptions{Topics: topics, From: kafka.FromStart}, func(m *kafka.Message) error {
			if got = append(got, m); len(got) >= n {
				return errEnough
			}
			return nil
		})
		if errors.Is(err, errEnough) {
			return got
		}
		if ctx.Err() != nil {
			s.Fatalf("%d messages in %v after %s, want %d: %v\n%s", len(got), topics, patience, n, err, shown(got))
		}
		<-retry.C // the topic is not there yet
	}
}

var errEnough = errors.New("enough")

// all reads what is committed now.
func (s *stand) all(topics ...string) []*kafka.Message {
	s.Helper()
	got, err := s.tryAll(topics...)
	if err != nil {
		s.Fatal(err)
	}
	return got
}

func (s *stand) tryAll(topics ...string) (got []*kafka.Message, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err = kafka.Tail(ctx, kafka.Config{Brokers: s.Brokers()}, kafka.TailOptions{Topics: topics, From: kafka.FromStart, Exit: true}, func(m *kafka.Message) error {
		got = append(got, m)
		return nil
	})
	return got, err
}

func shown(messages []*kafka.Message) string {
	var b strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&b, "%s %s %q\n", m.Topic, m.Key, m.Value)
	}
	return b.String()
}

// tree is a decoded message of either format.
type tree = map[string]any

// decodeJSON gives the message, numbers as they are written.
func decodeJSON(t testing.TB, value []byte) tree {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	var out tree
	if err := d.Decode(&out); err != nil {
		t.Fatalf("%q: %v", value, err)
	}
	if _, err := d.Token(); err != io.EOF {
		t.Fatalf("%q goes on behind the object", value)
	}
	return out
}

// decodeRegistered fetches the schema that the frame names.
func (s *stand) decodeRegistered(value []byte) tree {
	s.Helper()
	if len(value) < 5 || value[0] != 0 {
		s.Fatalf("%q has no frame", value)
	}
	return decodeAvro(s, s.schema(binary.BigEndian.Uint32(value[1:])), value[5:])
}

func (s *stand) schema(id uint32) string {
	s.Helper()
	var answer struct{ Schema string }
	s.get(fmt.Sprintf("%s/schemas/ids/%d", s.RegistryURL(), id), &answer)
	return answer.Schema
}

func decodeAvro(t testing.TB, schema string, body []byte) tree {
	t.Helper()
	parsed, err := avro.Parse(schema)
	if err != nil {
		t.Fatalf("%v\n%s", err, schema)
	}
	var out any
	rest, err := parsed.Decode(body, &out)
	if err != nil || len(rest) > 0 {
		t.Fatalf("%d bytes left, %v", len(rest), err)
	}
	return out.(tree)
}

// get asks for a JSON document.
func (s *stand) get(url string, into any) {
	s.Helper()
	body, status := fetch(s, url)
	if status != http.StatusOK {
		s.Fatalf("%s: %d %s", url, status, body)
	}
	if err := json.Unmarshal(body, into); err != nil {
		s.Fatalf("%s: %v", url, err)
	}
}

func fetch(t testing.TB, url string) ([]byte, int) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	resp, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return body, resp.StatusCode
}

// lines shows JSON messages, wrapped or bare, as one line each: see line.
func lines(t testing.TB, messages []*kafka.Message) []string {
	t.Helper()
	out := make([]string, len(messages))
	for i, m := range messages {
		out[i] = string(m.Key) + " " + line(inner(decodeJSON(t, m.Value)))
	}
	return out
}

// inner is the message inside the envelope, where there is one.
func inner(m tree) tree {
	if wrapped, is := m["message"].(tree); is {
		return wrapped
	}
	return m
}

// line shows a message: operation, number of its sequence, the rows by column name, masks (change/column), counter, last flag.
func line(m tree) string {
	h := m["headers"].(tree)
	seq := strings.TrimLeft(h["changeSequence"].(string)[16:], "0")
	last := ""
	if h["transactionLastEvent"] == true {
		last = " last"
	}
	return fmt.Sprintf("%v %s +%s -%s %s/%s #%v%s", h["operation"], seq, row(m["data"]), row(m["beforeData"]), mask(h["changeMask"]), mask(h["columnMask"]),
		h["transactionEventCounter"], last)
}

func row(image any) string {
	r, is := image.(tree)
	if !is {
		return "null"
	}
	var b strings.Builder
	for i, name := range slices.Sorted(maps.Keys(r)) {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%s=%v", name, plain(r[name]))
	}
	return "(" + b.String() + ")"
}

func plain(v any) any {
	if v == nil {
		return "null"
	}
	return v
}

func mask(v any) string {
	switch m := v.(type) {
	case nil:
		return "null"
	case []byte:
		return fmt.Sprintf("%X", m)
	}
	return fmt.Sprint(v)
}

func want(t testing.TB, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

package chaos

import (
	"context"
	stdbinary "encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/avro"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// reader reads the topics of a task as an application does, committed records only, with a client that the bridge does not have, and holds each
// message against the ledger.
type reader struct {
	testing.TB
	*ledger
	client   *kgo.Client
	task     string
	registry string // for Avro
	schemas  map[uint32]*avro.Schema
	once     bool // exactly_once
	ended    chan struct{}

	mu       sync.Mutex
	seen     []bool         // by number
	distinct int            // messages, each once
	repeated int            // with at_least_once
	newest   int            // highest number
	place    map[string]int // highest number of a partition
	home     map[string]int32
	wrong    []string
	offsets  map[string]int64 // behind the newest record of a partition
}

func newReader(t testing.TB, l *ledger, brokers []string, task, registry string, once bool) *reader {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeRegex(), kgo.ConsumeTopics("^"+regexp.QuoteMeta(task)+`\.(`+strings.Join(allTables, "|")+")$"),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.MetadataMinAge(100*time.Millisecond), kgo.MetadataMaxAge(500*time.Millisecond),
		kgo.RetryBackoffFn(func(int) time.Duration { return 100 * time.Millisecond }), kgo.KeepControlRecords(), kgo.FetchMaxWait(100*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{TB: t, ledger: l, client: client, task: task, registry: registry, schemas: make(map[uint32]*avro.Schema), once: once, ended: make(chan struct{}),
		place: make(map[string]int), home: make(map[string]int32), offsets: make(map[string]int64)}
	ctx, cancel := context.WithCancel(context.Background())
	go r.read(ctx)
	t.Cleanup(func() {
		cancel()
		<-r.ended
		client.Close()
	})
	return r
}

func (r *reader) read(ctx context.Context) {
	defer close(r.ended)
	for ctx.Err() == nil {
		fetches := r.client.PollFetches(ctx) // errors are outages; it tries again by itself
		fetches.EachRecord(func(record *kgo.Record) {
			var e event
			var err error
			if !record.Attrs.IsControl() {
				e, err = r.decode(record)
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			partition := fmt.Sprint(record.Topic, record.Partition)
			if record.Offset < r.offsets[partition] {
				return // the client begins again after an outage; an offset holds one record for ever
			}
			r.offsets[partition] = record.Offset + 1
			if record.Attrs.IsControl() {
				return
			}
			if err != nil {
				r.complain("%s/%d@%d: %v", record.Topic, record.Partition, record.Offset, err)
				return
			}
			r.check(e, record)
		})
	}
}

// complain keeps the first few mistakes.
func (r *reader) complain(format string, args ...any) {
	if len(r.wrong) < 10 {
		r.wrong = append(r.wrong, fmt.Sprintf(format, args...))
	}
}

func (r *reader) check(e event, record *kgo.Record) {
	where := fmt.Sprintf("%s/%d@%d", record.Topic, record.Partition, record.Offset)
	t, ok := r.find(e.n)
	if !ok {
		r.complain("%s: event %d was never written", where, e.n)
		return
	}
	if want := r.at(e.n, t); e != want {
		r.complain("%s\n got %+v\nwant %+v", where, e, want)
	}
	for len(r.seen) <= e.n {
		r.seen = append(r.seen, make([]bool, e.n+1000)...)
	}
	partition := fmt.Sprint(record.Topic, record.Partition)
	switch {
	case r.seen[e.n]:
		if r.repeated++; r.once {
			r.complain("%s: event %d came twice", where, e.n)
		}
		return
	case e.n <= r.place[partition]:
		r.complain("%s: event %d came behind %d", where, e.n, r.place[partition])
	}
	key := record.Topic + string(record.Key)
	if home, known := r.home[key]; known && home != record.Partition {
		r.complain("%s: key %q was in partition %d before", where, record.Key, home)
	}
	r.home[key] = record.Partition
	r.seen[e.n] = true
	r.distinct++
	r.place[partition] = max(r.place[partition], e.n)
	r.newest = max(r.newest, e.n)
}

// message is a data message of the Qlik envelope; JSON has it inside of another.
type message struct {
	Message    *message `json:"message"`
	Data       row      `json:"data"`
	BeforeData *row     `json:"beforeData"`
	Headers    struct {
		Operation string `json:"operation"`
		Sequence  string `json:"changeSequence"`
		ID        string `json:"transactionId"`
		Counter   int    `json:"transactionEventCounter"`
		Last      bool   `json:"transactionLastEvent"`
	} `json:"headers"`
}

type row struct {
	ID     int    `json:"id"`
	Status string `json:"status"`
	Fee    string `json:"fee"`
}

func (r *reader) decode(record *kgo.Record) (event, error) {
	value := record.Value
	if r.registry != "" {
		var err error
		if value, err = r.fromAvro(value); err != nil {
			return event{}, err
		}
	}
	m := new(message)
	if err := json.Unmarshal(value, m); err != nil {
		return event{}, fmt.Errorf("%w: %s", err, value)
	}
	if m.Message != nil {
		m = m.Message
	}
	h := m.Headers
	if len(h.Sequence) != 35 {
		return event{}, fmt.Errorf("sequence %q", h.Sequence)
	}
	n, err := strconv.Atoi(strings.TrimLeft(h.Sequence[16:], "0"))
	if err != nil || sequence(n) != h.Sequence {
		return event{}, fmt.Errorf("sequence %q: %w", h.Sequence, err)
	}
	if string(record.Key) != "" && r.registry == "" && string(record.Key) != strconv.Itoa(m.Data.ID) {
		return event{}, fmt.Errorf("key %q of row %d", record.Key, m.Data.ID)
	}
	e := event{n: n, table: strings.TrimPrefix(record.Topic, r.task+"."), oper: h.Operation[:1], id: m.Data.ID, status: m.Data.Status, fee: m.Data.Fee,
		tx: h.ID, counter: h.Counter, last: h.Last}
	if m.BeforeData != nil {
		e.before = m.BeforeData.Status
	}
	return e, nil
}

// fromAvro turns a message of Confluent's format into JSON.
func (r *reader) fromAvro(value []byte) ([]byte, error) {
	if len(value) < 5 || value[0] != 0 {
		return nil, fmt.Errorf("not in the registry's format: %x", value)
	}
	id := stdbinary.BigEndian.Uint32(value[1:])
	schema := r.schemas[id]
	if schema == nil {
		var err error
		if schema, err = r.patientSchema(id); err != nil {
			return nil, err
		}
		r.schemas[id] = schema
	}
	var out any
	if _, err := schema.Decode(value[5:], &out); err != nil {
		return nil, err
	}
	return json.Marshal(out)
}

// patientSchema waits for a registry that is away: consumers do.
func (r *reader) patientSchema(id uint32) (schema *avro.Schema, err error) {
	look := time.NewTicker(200 * time.Millisecond)
	defer look.Stop()
	for range 300 {
		if schema, err = fetchSchema(r.registry, id); err == nil {
			return schema, nil
		}
		<-look.C
	}
	return nil, err
}

func fetchSchema(registry string, id uint32) (*avro.Schema, error) {
	response, err := http.Get(fmt.Sprintf("%s/schemas/ids/%d", registry, id))
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("schema %d: %s", id, response.Status)
	}
	var answer struct{ Schema string }
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, err
	}
	return avro.Parse(answer.Schema)
}

func (r *reader) state() (distinct, newest int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.distinct, r.newest
}

// verdict compares what was read with the whole ledger.
func (r *reader) verdict() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	wrong, lost, ghosts := r.wrong, 0, 0
	r.each(func(_ int, t transaction) {
		for n := t.first; n < t.first+t.size; n++ {
			seen := n < len(r.seen) && r.seen[n]
			switch {
			case t.outcome == committed && !seen:
				if lost++; lost == 1 {
					wrong = append(wrong, fmt.Sprintf("event %d is lost: %+v", n, r.at(n, t)))
				}
			case t.outcome == aborted && seen:
				if ghosts++; ghosts == 1 {
					wrong = append(wrong, fmt.Sprintf("event %d was rolled back, and is there", n))
				}
			}
		}
	})
	if lost+ghosts > 0 {
		wrong = append(wrong, fmt.Sprintf("%d events lost, %d of rolled back transactions there", lost, ghosts))
	}
	return wrong
}

// finish waits until everything that the topics hold now has been read: records that nobody expects would come last.
func (r *reader) finish() {
	r.Helper()
	ends, err := r.ends()
	if err != nil {
		r.Fatal(err)
	}
	eventually(r, 60*time.Second, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		for partition, end := range ends {
			if r.offsets[partition] < end {
				return false
			}
		}
		return true
	}, func() string { return fmt.Sprintf("the end of the topics: read up to %v of %v", r.offsets, ends) })
}

// ends asks where the committed part of each partition ends.
func (r *reader) ends() (map[string]int64, error) {
	request := kmsg.NewPtrListOffsetsRequest()
	request.IsolationLevel = 1
	for name, partitions := range r.partitions() {
		topic := kmsg.NewListOffsetsRequestTopic()
		topic.Topic = name
		for n := range partitions {
			p := kmsg.NewListOffsetsRequestTopicPartition()
			p.Partition, p.Timestamp = n, -1
			topic.Partitions = append(topic.Partitions, p)
		}
		request.Topics = append(request.Topics, topic)
	}
	response, err := request.RequestWith(context.Background(), r.client)
	if err != nil {
		return nil, err
	}
	ends := make(map[string]int64)
	for _, topic := range response.Topics {
		for _, p := range topic.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return nil, err
			}
			ends[fmt.Sprint(topic.Topic, p.Partition)] = p.Offset
		}
	}
	return ends, nil
}

// partitions gives the topics in which something was read, with the number of partitions that each task of the campaign has.
func (r *reader) partitions() map[string]int32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make(map[string]int32)
	for key := range r.home {
		for _, table := range allTables {
			if topic := r.task + "." + table; strings.HasPrefix(key, topic) {
				out[topic] = partitions
			}
		}
	}
	return out
}

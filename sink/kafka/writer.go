package kafka

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/IBM/sarama"

	"ctbridge/bridge/change"
	"ctbridge/sink/kafka/records"
)

// writer is the producer: idempotent, acks of all in-sync replicas (I1), order kept per partition (I4), and with a transactional id also
// transactional. It makes the batches itself and leaves connections, requests and metadata to the client library: that takes a fraction of the
// CPU time of the library's own producer, ends within moments when told to, and says which record an error is about.
//
// A partition has one batch on its way at most, which is sent again, with the same sequence numbers, until the broker has it, refuses it, or
// patience runs out. The first error that lasts ends the writer; the session then starts anew (I11).
type writer struct {
	conf     Config
	client   sarama.Client
	line     *line
	id       string // transactional id, "" = none
	hash     func([]byte) uint32
	patience time.Duration // how long a batch is sent again

	producerID int64
	epoch      int16

	topics  map[string][]*lane // only the caller's goroutine touches it
	packers sync.Pool          // of *records.Packer

	mu       sync.Mutex
	nodes    map[int32]*node
	dirty    []*lane // lanes that got records since the last flush
	added    []*lane // lanes that take part in the open transaction
	flushing bool
	spare    []*batch
	blank    []*sarama.Record // see blanks
	count    int              // records not acknowledged
	bytes    int64            // what they take, and those of the next round (I10)
	failed   error
	running  sync.WaitGroup
	changed  chan struct{} // holds a token when something changed since the writing goroutine looked
	flushed  chan struct{} // the same for the flushing one

	divided bool    // records belong to the next round: see divide
	later   []*lane // that have records of the next round
	behind  int     // how many records
}

// lane is one partition.
type lane struct {
	topic     string
	partition int32
	leader    int32 // broker id
	sequence  int32 // of the next record
	open      *batch
	ready     []*batch // sealed, in order
	later     []*batch // of the next round, not sealed
	busy      bool     // in a node's queue, or a batch is on its way
	many      bool     // its last batch had many records
	dirty     bool     // in the writer's list of lanes to flush
	added     bool     // takes part in the open transaction
}

// node is one broker with the lanes that wait for it.
type node struct {
	id      int32
	queue   []*lane
	running int // requests on their way
}

// requestsPerNode lets one request be made while another one travels.
const requestsPerNode = 2

// sendAt is how full a batch is before it is sent without being asked for: large ones cost less per record, here and at the broker.
const sendAt = 256 << 10

func (s *session) newWriter(transactionalID string, patience time.Duration) *writer {
	return &writer{
		conf: s.conf, client: s.client, line: s.line, id: transactionalID, hash: hashes[s.conf.Partitioner], patience: patience,
		topics: map[string][]*lane{}, nodes: map[int32]*node{}, changed: make(chan struct{}, 1), flushed: make(chan struct{}, 1),
		packers: sync.Pool{New: func() any { return records.NewPacker(s.conf.Compression) }},
	}
}

// lanes gives the partitions of a topic. Their number stays as it is for the life of the writer, and with it the partition of each key (I4).
func (w *writer) lanes(topic string) ([]*lane, error) {
	if lanes := w.topics[topic]; lanes != nil {
		return lanes, nil
	}
	partitions, err := w.client.Partitions(topic)
	if err == nil && len(partitions) == 0 {
		err = sarama.ErrLeaderNotAvailable
	}
	if err != nil {
		return nil, err
	}
	var lanes []*lane
	for _, p := range partitions {
		lanes = append(lanes, &lane{topic: topic, partition: p, leader: w.leader(topic, p)})
	}
	w.topics[topic] = lanes
	return lanes, nil
}

// noLeader stands for the broker of a partition that has none for the moment.
const noLeader = -1

func (w *writer) leader(topic string, partition int32) int32 {
	broker, err := w.client.Leader(topic, partition)
	if err != nil {
		return noLeader
	}
	return broker.ID()
}

// write takes one record, waiting while too much is on its way (I10). A record larger than the whole limit passes alone.
func (w *writer) write(ctx context.Context, r *change.Record) error {
	lanes, err := w.lanes(r.Topic)
	if err != nil {
		return err
	}
	l := lanes[w.hash(partitionKey(r))%uint32(len(lanes))]
	size := wireSize(r)
	counted := int64(size) + recordOverhead
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.makeRoom(ctx, counted); err != nil {
		return err
	}
	w.bytes += counted
	if w.divided {
		w.addLater(l, r, size, counted)
		return nil
	}
	if l.open != nil && l.open.size+size > w.conf.MaxMessageBytes {
		w.close(l)
	}
	if l.open == nil {
		l.open = w.newBatch(l)
	}
	w.mark(l)
	l.open.add(r, size, counted)
	w.count++
	if l.open.size >= sendAt {
		w.close(l)
	}
	return nil
}

// makeRoom waits until so many bytes more may be on their way. w.mu is held, but not while waiting.
func (w *writer) makeRoom(ctx context.Context, counted int64) error {
	room := func() bool { return w.bytes == 0 || w.bytes+counted <= w.conf.MaxInFlightBytes }
	for w.failed == nil && !room() {
		var err error
		if w.divided { // who flushes, pushes
			err = w.wait(ctx, w.changed, func() bool { return !w.divided || room() })
		} else {
			err = w.push(ctx, w.changed, room)
		}
		if err != nil {
			return err
		}
	}
	return w.failed
}

// flush sends everything and returns when all of it is acknowledged.
func (w *writer) flush(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.push(ctx, w.flushed, func() bool { return w.count == 0 })
}

// push sends every record, also those in small batches, until the condition holds. w.mu is held, but not while waiting.
func (w *writer) push(ctx context.Context, changed <-chan struct{}, holds func() bool) error {
	w.flushing = true
	for _, l := range w.dirty {
		l.dirty = false
		w.queue(l)
	}
	w.dirty = w.dirty[:0]
	err := w.wait(ctx, changed, holds)
	w.flushing = false
	return err
}

// wait returns when the condition holds, at the first failure, or with the context's error. w.mu is held, but not while waiting.
func (w *writer) wait(ctx context.Context, changed <-chan struct{}, holds func() bool) error {
	for w.failed == nil && !holds() {
		w.mu.Unlock()
		var err error
		select {
		case <-changed:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		w.mu.Lock()
		if err != nil {
			return err
		}
	}
	return w.failed
}

// wake tells those who wait that something changed.
func (w *writer) wake() {
	for _, waiting := range []chan struct{}{w.changed, w.flushed} {
		select {
		case waiting <- struct{}{}:
		default:
		}
	}
}

// mark puts a lane on the list of those to flush. w.mu is held.
func (w *writer) mark(l *lane) {
	if !l.dirty {
		l.dirty = true
		w.dirty = append(w.dirty, l)
	}
}

// rest is what a lane does when nothing of it is on its way any more: it queues again, or waits to be flushed. w.mu is held.
func (w *writer) rest(l *lane) {
	l.busy = false
	switch {
	case len(l.ready) > 0 || l.open != nil && w.flushing:
		w.queue(l)
	case l.open != nil:
		w.mark(l)
	}
}

// close ends the open batch of a lane, which is full. w.mu is held.
func (w *writer) close(l *lane) {
	w.packAhead(l.open)
	w.seal(l)
	w.queue(l)
}

// seal takes the open batch from a lane: no record is added to it from now on. w.mu is held.
func (w *writer) seal(l *lane) {
	l.sequence = l.open.seal(l.sequence)
	l.many = l.open.size > fewRecords
	l.ready = append(l.ready, l.open)
	l.open = nil
}

// packAhead packs a batch that may have to wait for its turn. w.mu is held.
func (w *writer) packAhead(b *batch) {
	p := b.close()
	if w.failed == nil {
		w.running.Go(func() { p.pack(&w.packers) }) // who sends it meets its error
	}
}

// queue makes a lane wait for its broker, and the broker work. w.mu is held.
func (w *writer) queue(l *lane) {
	if l.busy || w.failed != nil {
		return
	}
	l.busy = true
	n := w.nodes[l.leader]
	if n == nil {
		n = &node{id: l.leader}
		w.nodes[l.leader] = n
	}
	n.queue = append(n.queue, l)
	if n.running < requestsPerNode {
		n.running++
		w.running.Go(func() { w.serve(n) })
	}
}

// fail ends the writer with its first error.
func (w *writer) fail(err error) {
	w.mu.Lock()
	if w.failed == nil {
		w.failed = err
	}
	w.mu.Unlock()
	w.wake()
}

// stop makes the writer send nothing more and returns a channel that closes when nothing is on its way.
func (w *writer) stop() <-chan struct{} {
	w.fail(errStopped)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.running.Wait()
	}()
	return ended
}

var errStopped = errors.New("the session is over")

// recordError is an error that a record met, with its topic and, where it alone is to blame, its row.
type recordError struct {
	topic string
	owner
	err error
}

// Error names the topic and the cause.
func (e *recordError) Error() string { return "topic " + e.topic + ": " + e.err.Error() }

// Unwrap gives the cause.
func (e *recordError) Unwrap() error { return e.err }

// partitionKey is what chooses the partition: the record's wish, else its key, else the name of its table; never chance (I4).
func partitionKey(r *change.Record) []byte {
	switch {
	case r.PartitionBy != nil:
		return r.PartitionBy
	case r.Key != nil:
		return r.Key
	}
	return []byte(r.Table.String())
}

package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/fault"
)

// Transactional is the sink of `delivery: exactly_once`: what Commit is given becomes visible together with the records, or not at all (I5).
// Readers of the topics need isolation level read_committed.
//
// It writes no transaction when there is nothing to write, and it begins one with the first record. A transaction that is not finished
// within Config.TransactionTimeout is given up, as the brokers would do.
type Transactional struct {
	conf  Config
	id    string // transactional id
	topic string // of the checkpoint
	task  string // whose shard this is; empty = the number of shards is nobody's business
	shard checkpoint.Shard

	instance string   // who we are in the markers
	session  *session // nil when not open
	inTxn    bool
	timer    *time.Timer // runs while in a transaction
	closing  *closing    // the commit under way beside us, nil when there is none
	broken   error       // what the session ended with; only Open gets over it
}

// NewTransactional makes a sink with that transactional id, by convention "ctbridge.<task>.<shard>". Several shards of a task may share the
// checkpoint topic: each reads the entries of all.
func NewTransactional(c Config, transactionalID, checkpointTopic string) (*Transactional, error) {
	c = c.withDefaults()
	if err := c.check(); err != nil {
		return nil, err
	}
	if transactionalID == "" {
		return nil, fault.New(fault.Config, "kafka", errors.New("the transactional id is empty"), "")
	}
	if err := CheckTopicName(checkpointTopic); err != nil {
		return nil, fault.New(fault.Config, "checkpoint topic", err, "")
	}
	return &Transactional{conf: c, id: transactionalID, topic: checkpointTopic, instance: newInstance()}, nil
}

// Open fences every older instance with the same transactional id and then reads the checkpoint, so that nothing can be added to it behind
// our back (I2, I11).
func (t *Transactional) Open(ctx context.Context) (map[string][]byte, error) {
	t.end()
	ctx, cancel := t.conf.openDeadline(ctx)
	defer cancel()
	entries, err := t.open(ctx)
	if err != nil {
		err = t.giveUp(ctx, err)
		t.end()
		return nil, err
	}
	return entries, nil
}

func (t *Transactional) open(ctx context.Context) (map[string][]byte, error) {
	s, err := connect(ctx, t.conf)
	if err != nil {
		return nil, err
	}
	t.session = s
	if err := s.openCheckpoint(ctx, t.topic); err != nil {
		return nil, err
	}
	if err := s.produce(ctx, t.id, t.conf.TransactionTimeout); err != nil {
		return nil, err
	}
	entries, err := t.readAll(ctx)
	if err != nil {
		return nil, err
	}
	return t.divided(ctx, entries)
}

// openDeadline bounds an Open.
func (c Config) openDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, c.OpenTimeout, fmt.Errorf("Kafka did not answer within %v", c.OpenTimeout))
}

// EnsureTopic creates a missing topic with the settings of its role. Topics that were seen cost nothing.
func (t *Transactional) EnsureTopic(ctx context.Context, name string, role change.TopicRole) error {
	if err := t.opened(); err != nil {
		return err
	}
	return t.session.ensure(ctx, name, role)
}

// EnsureTopics does so for many topics, with few requests: see bridge.Sink.
func (t *Transactional) EnsureTopics(ctx context.Context, names []string, role change.TopicRole) (refused map[string]error, err error) {
	if err := t.opened(); err != nil {
		return nil, err
	}
	return t.session.ensureAll(ctx, names, role)
}

// Publish hands one record over and waits while too much is on its way. Nobody reads it before Commit. A record that is refused at once (too
// large, its topic denied) leaves the transaction as it was; every other error ends it.
func (t *Transactional) Publish(ctx context.Context, r *change.Record) error {
	err := t.opened()
	if err != nil {
		return err
	}
	if err = t.session.accept(ctx, r); err == nil {
		t.begin()
		err = t.session.send(ctx, r)
	} else if refused(err) {
		return err
	}
	if err != nil {
		return t.giveUp(ctx, err)
	}
	return nil
}

// refused reports an error about one record or table.
func refused(err error) bool {
	var table *change.TableError
	return errors.As(err, &table)
}

// Commit makes the records since the last Commit and the entries visible in one step. When it fails, the next Open tells what Kafka kept.
func (t *Transactional) Commit(ctx context.Context, entries []checkpoint.Entry) error {
	settled, err := t.CommitBehind(ctx, entries)
	if err == nil {
		_, err = settled(ctx)
	}
	return err
}

var errTimeUp = errors.New("the transaction took too long")

// begin begins a transaction, here only: the brokers hear of it with the first batch. We give up a little before they would.
func (t *Transactional) begin() {
	if !t.inTxn {
		t.inTxn = true
		w := t.session.writer
		t.timer = time.AfterFunc(t.conf.TransactionTimeout/10*9, func() { w.fail(errTimeUp) })
	}
}

func (t *Transactional) leaveTxn() {
	t.inTxn = false
	t.timer.Stop()
}

// Abort gives up everything since the last Commit and ends the session.
func (t *Transactional) Abort(ctx context.Context) error {
	if t.session == nil {
		return nil
	}
	err := t.abortTxn(ctx)
	t.end()
	if isFenced(err) {
		return t.verdict(ctx, err)
	}
	return nil // what could not be aborted now, the next Open aborts, or the brokers in time
}

// Close ends the session; an open transaction is aborted.
func (t *Transactional) Close() error {
	if t.session != nil {
		t.abortTxn(t.session.line.ctx) // if it fails, the brokers do it in time
		t.end()
	}
	return nil
}

// Ping reports whether Kafka answers. It may be called at any time, beside every other method.
func (t *Transactional) Ping(ctx context.Context) error { return Ping(ctx, t.conf) }

func (t *Transactional) opened() error {
	if t.session == nil {
		return errNotOpen
	}
	return t.broken
}

var errNotOpen = fault.New(fault.Retry, "kafka", errors.New("the sink is not open"), "")

// end ends the session, whatever state it is in.
func (t *Transactional) end() {
	if t.session != nil {
		if t.inTxn {
			t.leaveTxn()
		}
		t.session.close()
	}
	t.session, t.broken, t.closing = nil, nil, nil
}

// giveUp aborts after an error. The error of a producer that was fenced gets its meaning from who started last.
func (t *Transactional) giveUp(ctx context.Context, err error) error {
	if t.session == nil {
		return err
	}
	aborted := t.abortTxn(ctx)
	switch {
	case isFenced(err):
		err = t.verdict(ctx, err)
	case isFenced(aborted):
		err = t.verdict(ctx, aborted)
	}
	t.broken = err
	return err
}

// abortTxn aborts the open transaction within closeTime, also when the context has ended. A commit under way beside us comes to its end first: what it
// has begun cannot be taken back, and only what it left open can be aborted.
func (t *Transactional) abortTxn(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), closeTime, errors.New("abort took too long"))
	defer cancel()
	open := t.inTxn
	if t.inTxn {
		t.leaveTxn()
	}
	if c := t.closing; c != nil {
		t.session.writer.stop()
		select {
		case <-c.done:
		case <-ctx.Done():
			t.session.line.cut()
			return context.Cause(ctx)
		}
		open = open || c.err != nil
		t.closing = nil
	}
	if !open {
		return nil
	}
	ended := t.session.writer.stop()
	select {
	case <-ended:
	case <-ctx.Done():
		t.session.line.cut()
		return context.Cause(ctx)
	}
	return t.session.call(ctx, func() error { return t.session.writer.end(false) })
}

// verdict tells a takeover by another instance from a transaction that the brokers ended because it took too long: the last marker in the
// checkpoint topic names the instance that started last.
func (t *Transactional) verdict(ctx context.Context, fenced error) error {
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), closeTime, errors.New("Kafka did not answer in time"))
	defer cancel()
	s, err := connect(ctx, t.conf)
	if err != nil {
		return err
	}
	defer s.close()
	last, err := s.lastMarker(ctx, t.topic, markerPrefix+t.id)
	if err != nil {
		return err
	}
	if last.ID == t.instance {
		return fault.New(fault.Retry, "transaction", fmt.Errorf("the brokers ended it: %w", classify("", fenced)), "if this comes back, raise the transaction timeout")
	}
	return fault.New(fault.Fatal, "transaction", fmt.Errorf("another instance with the same task runs, since %s: %w", last.Started.Format(time.RFC3339), errFenced),
		"stop one of them, or give them different task names")
}

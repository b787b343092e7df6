package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/IBM/sarama"

	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/fault"
)

// closeTime bounds each step of ending a session: finishing what is in flight, then giving it up.
const closeTime = 5 * time.Second

// session is one life of a sink, from Open to the first error or Close. It has two clients on one line: front asks and reads and fails at
// once, back belongs to the producer and is patient.
type session struct {
	conf Config
	line *line

	front    sarama.Client
	back     sarama.Client
	producer sarama.AsyncProducer

	window  *window
	drained sync.WaitGroup // the goroutines that take acks and errors
	topics  map[string]*topicUse
}

// topicUse is a topic that is known to exist, with the last table that published to it.
type topicUse struct{ table change.TableID }

// connect starts a session without a producer.
func connect(ctx context.Context, c Config) (*session, error) {
	s := &session{conf: c, line: newLine(ctx, c), window: newWindow(c.MaxInFlightBytes), topics: map[string]*topicUse{}}
	conf := c.clientConfig(s.line.ctx, s.line)
	if err := s.call(ctx, func() error { return s.hello(conf) }); err != nil {
		s.line.cut()
		return nil, s.fail("connect to Kafka", err)
	}
	front, err := sarama.NewClient(c.Brokers, conf)
	if err != nil {
		s.line.cut()
		return nil, s.fail("connect to Kafka", err)
	}
	s.front = front
	return s, nil
}

// hello returns when one of the brokers lets us in; otherwise it says for each why not, which the client's own errors leave out.
func (s *session) hello(conf *sarama.Config) error {
	var errs []error
	for _, address := range s.conf.Brokers {
		broker := sarama.NewBroker(address)
		if err := broker.Open(conf); err != nil {
			return err
		}
		connected, err := broker.Connected()
		if connected {
			broker.Close()
			return nil
		}
		err = fmt.Errorf("broker %s: %w", address, err)
		if s.line.refused(s.conf.SASL.loginRequests()) {
			return fault.New(fault.Fatal, "log in to Kafka", err, "the broker closed the connection: check user name, password and SASL mechanism")
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// produce starts the producer; with a transactional id that fences every older producer of the same id.
func (s *session) produce(ctx context.Context, transactionalID string, patience time.Duration) error {
	conf := s.conf.producerConfig(s.front.Config(), s.line, transactionalID, patience, s.doomed)
	back, err := sarama.NewClient(s.conf.Brokers, conf)
	if err != nil {
		return s.fail("connect", err)
	}
	s.back = back
	var producer sarama.AsyncProducer
	err = s.call(ctx, func() error {
		if err := s.mayUse(transactionalID); err != nil {
			return err
		}
		var err error
		producer, err = sarama.NewAsyncProducerFromClient(back)
		return err
	})
	if err != nil {
		return s.fail("start producer", err)
	}
	s.producer = producer
	s.drained.Go(func() {
		for msg := range producer.Successes() {
			s.take(msg, nil)
		}
	})
	s.drained.Go(func() {
		for e := range producer.Errors() {
			s.take(e.Msg, e.Err)
		}
	})
	return nil
}

// mayUse fails when this user must not use the transactional id: the producer would ask again and again.
func (s *session) mayUse(transactionalID string) error {
	if transactionalID == "" {
		return nil
	}
	if err := s.front.RefreshTransactionCoordinator(transactionalID); errors.Is(err, sarama.ErrTransactionalIDAuthorizationFailed) {
		return err
	}
	return nil
}

func (s *session) take(msg *sarama.ProducerMessage, err error) {
	m := msg.Metadata.(*message)
	if m.offset != nil {
		*m.offset = msg.Offset
	}
	s.window.done(m, err)
	m.release()
}

// doomed reports whether the transaction can only be aborted: retries then have no point. Only retries of messages ask.
func (s *session) doomed() bool {
	return s.producer.TxnStatus()&sarama.ProducerTxnFlagInError != 0
}

// send hands one message over, waiting while the window is full (I10).
func (s *session) send(ctx context.Context, m *message) error {
	failed, err := s.window.enter(ctx, m.size)
	if failed != nil || err != nil {
		m.release()
		return s.failed("publish", failed, err)
	}
	select {
	case s.producer.Input() <- &m.ProducerMessage:
		return nil
	case <-s.window.timeUp:
		err = errTimeUp
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	topic := m.Topic
	s.window.done(m, err)
	m.release()
	return s.fail("publish to "+topic, err)
}

// flush returns when every message is acknowledged by all in-sync replicas (I1).
func (s *session) flush(ctx context.Context) error {
	failed, err := s.window.waitEmpty(ctx)
	return s.failed("publish", failed, err)
}

// failed turns the end of a wait into an error, naming the table whose record failed.
func (s *session) failed(where string, f *failure, err error) error {
	if f == nil {
		return s.fail(where, err)
	}
	return s.ofTable(f.table, s.fail(where+" to "+f.topic, f.err))
}

// fail classifies an error, with what the line knows about the connection.
func (s *session) fail(where string, err error) error {
	if err == nil {
		return nil
	}
	var code sarama.KError
	if trouble := s.line.lastTrouble(); trouble != nil && !errors.Is(err, trouble) && !errors.As(err, &code) {
		err = errors.Join(err, trouble)
	}
	out := classify(where, err)
	var known *fault.Error
	if errors.Is(err, io.EOF) && errors.As(out, &known) && known.Hint == "" && known.Class == fault.Retry {
		known.Hint = s.eofHint()
	}
	return out
}

// eofHint says what a connection that the broker closed at once often means.
func (s *session) eofHint() string {
	switch {
	case s.conf.TLS == nil && s.conf.SASL.Mechanism == "none":
		return "if this does not pass: does the listener ask for TLS or SASL?"
	case s.conf.TLS == nil:
		return "if this does not pass: does the listener ask for TLS, are SASL mechanism, user name and password right?"
	case s.conf.SASL.Mechanism == "none":
		return "if this does not pass: does the listener ask for SASL?"
	}
	return "if this does not pass: are SASL mechanism, user name and password right?"
}

// call runs a call of the client that knows no context. When the context ends first, the line is cut, which ends the call soon after.
func (s *session) call(ctx context.Context, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	s.line.cut()
	select {
	case err := <-done:
		if err == nil {
			return nil // it was done in time after all
		}
	case <-time.After(closeTime):
	}
	return context.Cause(ctx)
}

// Ping reports whether a broker lets us in. It uses a connection of its own and may be called at any time.
func Ping(ctx context.Context, c Config) error {
	s, err := connect(ctx, c.withDefaults())
	if err == nil {
		s.close()
	}
	return err
}

// close ends the session and gives up what is in flight. No byte that was handed over leaves after that.
func (s *session) close() {
	if s.producer != nil {
		if !s.window.empty() {
			s.line.cut()
		}
		s.producer.AsyncClose()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			s.drained.Wait()
		}()
		if !s.endsWithin(ended) {
			s.line.cut()
			s.endsWithin(ended)
		}
	}
	if s.back != nil {
		s.back.Close()
	}
	s.front.Close()
	s.line.cut()
}

func (s *session) endsWithin(ended <-chan struct{}) bool {
	timer := time.NewTimer(closeTime)
	defer timer.Stop()
	select {
	case <-ended:
		return true
	case <-timer.C:
		return false
	}
}

// accept checks a record before anything is done with it: its size, and that its topic is there.
func (s *session) accept(ctx context.Context, r *change.Record) error {
	if size := wireSize(r); size > s.conf.MaxMessageBytes {
		return &change.TableError{Table: r.Table, Err: fault.New(fault.Poison, "publish to "+r.Topic,
			fmt.Errorf("the record takes %d bytes, %d are allowed", size, s.conf.MaxMessageBytes),
			"raise max message bytes here and the topic's max.message.bytes, or leave a large column out")}
	}
	use := s.topics[r.Topic]
	if use == nil {
		if err := s.ensure(ctx, r.Topic, change.DataTopic); err != nil {
			return s.ofTable(r.Table, err)
		}
		use = s.topics[r.Topic]
	}
	use.table = r.Table
	return nil
}

// ofTable says which table an error of class Table is about. Records of no table are those of the checkpoint: without it nothing goes on.
func (s *session) ofTable(table change.TableID, err error) error {
	switch {
	case fault.ClassOf(err) != fault.Table:
		return err
	case table == change.TableID{}:
		return fault.New(fault.Fatal, "checkpoint", err, "")
	}
	return &change.TableError{Table: table, Err: err}
}

// checkpointMessage makes an entry a message of the checkpoint topic.
func (s *session) checkpointMessage(topic string, e checkpoint.Entry) (*message, error) {
	r := change.Record{Topic: topic, Key: []byte(e.Key), Value: e.Value}
	if size := wireSize(&r); size > s.conf.MaxMessageBytes {
		return nil, fault.New(fault.Fatal, "checkpoint", fmt.Errorf("entry %q takes %d bytes, %d are allowed", e.Key, size, s.conf.MaxMessageBytes),
			"raise max message bytes here and the checkpoint topic's max.message.bytes")
	}
	return newMessage(&r), nil
}

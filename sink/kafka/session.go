package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	"github.com/IBM/sarama"

	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/fault"
)

// closeTime bounds each step of ending a session: finishing what is in flight, then giving it up.
const closeTime = 5 * time.Second

// session is one life of a sink, from Open to the first error or Close.
type session struct {
	conf   Config
	line   *line
	client sarama.Client
	writer *writer         // nil for a session that only reads
	topics map[string]bool // that are known to exist
	limits map[string]int  // bytes of a record, where a topic has a limit of its own
}

// connect starts a session without a producer.
func connect(ctx context.Context, c Config) (*session, error) {
	s := &session{conf: c, line: newLine(ctx, c), topics: map[string]bool{}, limits: map[string]int{}}
	conf := c.clientConfig(s.line.ctx, s.line)
	var alive string
	err := s.call(ctx, func() error {
		var err error
		alive, err = s.hello(conf)
		return err
	})
	if err == nil {
		s.client, err = sarama.NewClient([]string{alive}, conf) // knows all others from the first metadata on
	}
	if err != nil {
		s.line.cut()
		return nil, s.fail("connect to Kafka", err)
	}
	return s, nil
}

// hello gives the first of the brokers that lets us in; otherwise it says for each why not, which the client's own errors leave out.
func (s *session) hello(conf *sarama.Config) (string, error) {
	var errs []error
	for _, address := range s.conf.Brokers {
		broker := sarama.NewBroker(address)
		if err := broker.Open(conf); err != nil {
			return "", err
		}
		connected, err := broker.Connected()
		if connected {
			broker.Close()
			return address, nil
		}
		err = fmt.Errorf("broker %s: %w", address, err)
		if s.line.refused(s.conf.SASL.loginRequests()) {
			return "", fault.New(fault.Fatal, "log in to Kafka", err, "the broker closed the connection: check user name, password and SASL mechanism")
		}
		errs = append(errs, err)
	}
	return "", errors.Join(errs...)
}

// produce starts the writer; with a transactional id that fences every older one of the same id. A batch is sent again for patience's length.
func (s *session) produce(ctx context.Context, transactionalID string, patience time.Duration) error {
	w := s.newWriter(transactionalID, patience)
	if err := s.call(ctx, w.init); err != nil {
		needed := producing
		if transactionalID != "" {
			needed = onTransactionalID(transactionalID)
		}
		return s.naming(needed, s.fail("start producer", err))
	}
	s.writer = w
	return nil
}

// send hands one record over, waiting while too much is on its way (I10).
func (s *session) send(ctx context.Context, r *change.Record) error {
	if err := s.writer.write(ctx, r); err != nil {
		return s.failed("publish to "+r.Topic, err)
	}
	return nil
}

// flush returns when every record is acknowledged by all in-sync replicas (I1).
func (s *session) flush(ctx context.Context) error {
	if err := s.writer.flush(ctx); err != nil {
		return s.failed("publish", err)
	}
	return nil
}

// failed gives an error of the writer its class, and its table when a record met it.
func (s *session) failed(where string, err error) error {
	var met *recordError
	if !errors.As(err, &met) {
		return s.fail(where, err)
	}
	return s.ofTable(met.owner, s.naming(onTopic(met.topic, "Write"), s.fail("publish to "+met.topic, met.err)))
}

// fail classifies an error, with what the line knows about the connection.
func (s *session) fail(where string, err error) error {
	if err == nil {
		return nil
	}
	if trouble := s.line.lastTrouble(); trouble != nil && !errors.Is(err, trouble) && codeOf(err) == sarama.ErrNoError {
		err = errors.Join(err, trouble)
	}
	out := classify(where, err)
	var known *fault.Error
	ended := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET)
	if ended && errors.As(out, &known) && known.Hint == "" && known.Class == fault.Retry {
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

// close ends the session and gives up what is on its way: none of it is sent any more, and its bytes are the caller's again.
func (s *session) close() {
	if s.writer != nil {
		ended := s.writer.stop()
		s.line.cut()
		select {
		case <-ended:
		case <-time.After(closeTime): // a request hangs on a connection that is closed
		}
	}
	s.client.Close()
	s.line.cut()
}

// accept checks a record before anything is done with it: its size, and that its topic is there.
func (s *session) accept(ctx context.Context, r *change.Record) error {
	most := s.conf.MaxMessageBytes
	if len(s.limits) > 0 {
		if own, has := s.limits[r.Topic]; has {
			most = own
		}
	}
	if size := batchOverhead + wireSize(r); size > most {
		return &change.TableError{Table: r.Table, Origin: r.Origin, Err: fault.New(fault.Poison, "publish to "+r.Topic,
			fmt.Errorf("the record takes %d bytes, %d are allowed", size, most),
			"raise max message bytes here and the topic's max.message.bytes, or leave a large column out")}
	}
	if s.topics[r.Topic] {
		return nil
	}
	return s.ofTable(owner{table: r.Table}, s.ensure(ctx, r.Topic, change.DataTopic))
}

// ofTable says which table, and with class Poison which row of it, an error is about. Records of no table belong to all, the checkpoint before
// all: without them nothing goes on.
func (s *session) ofTable(o owner, err error) error {
	switch class := fault.ClassOf(err); {
	case class != fault.Table && class != fault.Poison:
		return err
	case o.table == change.TableID{}:
		return fault.New(fault.Fatal, "shared by all tables", err, "")
	}
	return &change.TableError{Table: o.table, Origin: o.origin, Err: err}
}

// sendEntry hands over one entry of the checkpoint.
func (s *session) sendEntry(ctx context.Context, topic string, e checkpoint.Entry) error {
	r := change.Record{Topic: topic, Key: []byte(e.Key), Value: e.Value}
	if size := batchOverhead + wireSize(&r); size > s.conf.MaxMessageBytes {
		return fault.New(fault.Fatal, "checkpoint", fmt.Errorf("entry %q takes %d bytes, %d are allowed", e.Key, size, s.conf.MaxMessageBytes),
			"raise max message bytes here and the checkpoint topic's max.message.bytes")
	}
	return s.send(ctx, &r)
}

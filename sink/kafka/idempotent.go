package kafka

import (
	"context"
	"errors"

	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
)

// Idempotent is the sink of `delivery: at_least_once`: every record is acknowledged by all in-sync replicas before the checkpoint that covers
// it is saved (I1). After an error records may appear twice, in order; while the connection only breaks and comes back they do not.
type Idempotent struct {
	conf    Config
	store   checkpoint.Store
	session *session // nil when not open
	broken  error    // what the session ended with; only Open gets over it
}

// NewIdempotent makes a sink that keeps its checkpoint in store and closes it with itself.
func NewIdempotent(c Config, store checkpoint.Store) (*Idempotent, error) {
	c = c.withDefaults()
	if err := c.check(); err != nil {
		return nil, err
	}
	return &Idempotent{conf: c, store: store}, nil
}

// Open connects and loads the checkpoint.
func (i *Idempotent) Open(ctx context.Context) (map[string][]byte, error) {
	i.end()
	ctx, cancel := i.conf.openDeadline(ctx)
	defer cancel()
	entries, err := i.store.Load(ctx)
	if err != nil {
		return nil, err
	}
	if i.session, err = connect(ctx, i.conf); err != nil {
		return nil, err
	}
	if err := i.session.produce(ctx, "", i.conf.DeliveryTimeout); err != nil {
		i.end()
		return nil, err
	}
	return entries, nil
}

// EnsureTopic creates a missing topic with the settings of its role. Topics that were seen cost nothing.
func (i *Idempotent) EnsureTopic(ctx context.Context, name string, role change.TopicRole) error {
	if err := i.opened(); err != nil {
		return err
	}
	return i.session.ensure(ctx, name, role)
}

// EnsureTopics does so for many topics, with few requests: see bridge.Sink.
func (i *Idempotent) EnsureTopics(ctx context.Context, names []string, role change.TopicRole) (refused map[string]error, err error) {
	if err := i.opened(); err != nil {
		return nil, err
	}
	return i.session.ensureAll(ctx, names, role)
}

// Publish hands one record over and waits while too much is on its way. A record that is refused at once (too large, its topic denied) leaves
// the session as it was; every other error ends it.
func (i *Idempotent) Publish(ctx context.Context, r *change.Record) error {
	err := i.opened()
	if err != nil {
		return err
	}
	if err = i.session.accept(ctx, r); err == nil {
		err = i.session.send(ctx, r)
	} else if refused(err) {
		return err
	}
	i.broken = err
	return err
}

// Commit waits for all acks and then saves the entries.
func (i *Idempotent) Commit(ctx context.Context, entries []checkpoint.Entry) error {
	err := i.opened()
	if err != nil {
		return err
	}
	if err = i.session.flush(ctx); err == nil && len(entries) > 0 {
		err = i.store.Save(ctx, entries)
	}
	i.broken = err
	return err
}

// Abort ends the session and gives up what is not acknowledged yet.
func (i *Idempotent) Abort(context.Context) error {
	i.end()
	return nil
}

// Close ends the session and closes the store.
func (i *Idempotent) Close() error {
	i.end()
	return i.store.Close()
}

// Ping reports whether Kafka answers. It may be called at any time, beside every other method.
func (i *Idempotent) Ping(ctx context.Context) error { return Ping(ctx, i.conf) }

func (i *Idempotent) opened() error {
	if i.session == nil {
		return errNotOpen
	}
	return i.broken
}

func (i *Idempotent) end() {
	if i.session != nil {
		i.session.close()
	}
	i.session, i.broken = nil, nil
}

// Store is a checkpoint.Store on a compacted topic. Several records of a topic become visible together only in a transaction, so it is the
// transactional sink without records (I5): a Save is one transaction, and opening the store fences an older instance.
type Store struct {
	sink *Transactional
}

// NewStore makes a store with that transactional id, by convention "ctbridge.<task>.<shard>".
func NewStore(c Config, transactionalID, topic string) (*Store, error) {
	sink, err := NewTransactional(c, transactionalID, topic)
	if err != nil {
		return nil, err
	}
	return &Store{sink}, nil
}

// Load fences an older instance and reads the entries.
func (s *Store) Load(ctx context.Context) (map[string][]byte, error) { return s.sink.Open(ctx) }

// Save writes the entries, all or none. After an error it connects anew.
func (s *Store) Save(ctx context.Context, entries []checkpoint.Entry) error {
	if s.sink.opened() != nil {
		if _, err := s.sink.Open(ctx); err != nil {
			return err
		}
	}
	if err := s.sink.Commit(ctx, entries); err != nil {
		return errors.Join(err, s.sink.Abort(ctx))
	}
	return nil
}

// Close ends the connection.
func (s *Store) Close() error { return s.sink.Close() }

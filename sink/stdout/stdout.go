// Package stdout prints records instead of sending them, one JSON line each: for trying a configuration out. Nobody confirms that a line was
// read, so delivery is at least once, to whoever looks.
package stdout

import (
	"context"
	"io"

	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/fault"
)

// bufferBytes is how much is held back until Commit (I10).
const bufferBytes = 1 << 20

// Sink prints records. Lines are written with Commit, so that an aborted round shows nothing, unless it outgrew the buffer.
type Sink struct {
	out    io.Writer
	store  checkpoint.Store
	buffer []byte
}

// New makes a sink that prints to out and keeps its checkpoint in store, which it closes with itself.
func New(out io.Writer, store checkpoint.Store) *Sink { return &Sink{out: out, store: store} }

// Open loads the checkpoint.
func (s *Sink) Open(ctx context.Context) (map[string][]byte, error) {
	s.buffer = s.buffer[:0]
	return s.store.Load(ctx)
}

// EnsureTopic does nothing: any name will do.
func (s *Sink) EnsureTopic(context.Context, string, change.TopicRole) error { return nil }

// EnsureTopics does nothing, too.
func (s *Sink) EnsureTopics(context.Context, []string, change.TopicRole) (map[string]error, error) {
	return nil, nil
}

// Publish prints one record.
func (s *Sink) Publish(_ context.Context, r *change.Record) error {
	buffer, err := appendLine(s.buffer, r)
	if err != nil {
		return &change.TableError{Table: r.Table, Err: fault.New(fault.Poison, "print record of "+r.Topic, err, "")}
	}
	s.buffer = buffer
	if len(s.buffer) < bufferBytes {
		return nil
	}
	return s.write()
}

// Commit writes what was printed and then saves the entries (I1).
func (s *Sink) Commit(ctx context.Context, entries []checkpoint.Entry) error {
	if err := s.write(); err != nil {
		return err
	}
	if len(entries) == 0 {
		return nil
	}
	return s.store.Save(ctx, entries)
}

// Abort forgets what was not written yet.
func (s *Sink) Abort(context.Context) error {
	s.buffer = s.buffer[:0]
	return nil
}

// Close drops what was not committed and closes the store.
func (s *Sink) Close() error {
	s.buffer = nil
	return s.store.Close()
}

// Ping always succeeds.
func (s *Sink) Ping(context.Context) error { return nil }

func (s *Sink) write() error {
	_, err := s.out.Write(s.buffer)
	s.buffer = s.buffer[:0]
	if err != nil {
		return fault.New(fault.Fatal, "print records", err, "nobody reads the output any more")
	}
	return nil
}

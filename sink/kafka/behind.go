package kafka

import (
	"context"
	"time"

	"ctbridge/bridge/checkpoint"
)

// closing is a commit that is under way while records of the next transaction are written.
type closing struct {
	done  chan struct{} // closed at its end; what follows is set by then
	ended time.Time
	err   error
}

// CommitBehind begins what Commit does and returns. Records may be published meanwhile: they wait for the end of this transaction and belong to the next
// (I5). settled gives the commit's end and its error, and is called before the next commit.
func (t *Transactional) CommitBehind(ctx context.Context, entries []checkpoint.Entry) (settled func(context.Context) (time.Time, error), err error) {
	if err := t.opened(); err != nil {
		return nil, err
	}
	if _, err := t.settle(ctx); err != nil {
		return nil, err
	}
	if !t.inTxn && len(entries) == 0 {
		return t.settle, nil
	}
	t.begin()
	for i := 0; i < len(entries) && err == nil; i++ {
		err = t.session.sendEntry(ctx, t.topic, entries[i])
	}
	if err != nil {
		return nil, t.giveUp(ctx, err)
	}
	c := &closing{done: make(chan struct{})}
	t.closing, t.inTxn = c, false
	t.session.writer.divide()
	go t.close(ctx, c, t.session, t.timer)
	return t.settle, nil
}

// close waits for all acks (I1), ends the transaction and lets the next one begin.
func (t *Transactional) close(ctx context.Context, c *closing, s *session, timer *time.Timer) {
	defer close(c.done)
	c.err = t.commit(ctx, s)
	timer.Stop()
	if c.ended = time.Now(); c.err == nil {
		s.writer.join()
	} else {
		s.writer.fail(c.err) // whoever waits for room waits in vain
	}
}

func (t *Transactional) commit(ctx context.Context, s *session) error {
	if err := s.flush(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, t.conf.TransactionTimeout, errTimeUp)
	defer cancel()
	if err := s.call(ctx, func() error { return s.writer.end(true) }); err != nil {
		return s.fail("commit transaction", err)
	}
	return nil
}

// settle waits for the end of the commit under way.
func (t *Transactional) settle(ctx context.Context) (time.Time, error) {
	c := t.closing
	if c == nil {
		return time.Now(), t.opened()
	}
	<-c.done // its context ends with ours
	if c.err != nil {
		return c.ended, t.giveUp(ctx, c.err)
	}
	t.closing = nil
	return c.ended, nil
}

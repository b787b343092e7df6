package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"ctbridge/bridge/fault"
)

// GroupOptions say which group a replica joins.
type GroupOptions struct {
	Name    string // of the consumer group
	Task    string // whose replicas they are
	Topic   string // whose partitions stand for the shards
	Shards  int
	Session time.Duration // a replica that is silent for so long is taken for dead; default 6 s, the least that brokers allow by default
	Host    string        // of this process, for people and for Alone
	PID     int
	Log     *slog.Logger

	Rebalanced func()          // the group has given out shards anew; may be nil
	Reached    func(err error) // whether the group's coordinator answers; may be nil
}

// Replica does what the group says.
type Replica interface {
	// Assign gives it the shards to run. It stops others, and Running goes on naming these until they have ended.
	Assign(shards []int)
	// Running lists the shards that run or are being stopped, the former first.
	Running() []int
	// Changed tells that one has ended.
	Changed() <-chan struct{}
}

// Group is the membership of this process in the consumer group of a task's replicas. It is cooperative: shards that do not move run on while
// others change hands. Offsets are never committed, the position is in the checkpoint.
//
// The requests are the client's; what asks them is our own, like the producer, because the client's ConsumerGroup gives its shards up at the
// first connection that breaks, and cannot join with shards that it has already.
type Group struct {
	conf    Config
	options GroupOptions

	mu    sync.Mutex
	until time.Time // how long the others take us for alive

	// These belong to the goroutine of Run.
	member     string // id, given by the brokers
	generation int32
	joined     bool
	owns       bool // what runs was given by the group, or taken while it was empty, and is not lost
	described  bool // the topic was seen to
}

// heartbeats per session time-out; rebalances are noticed by them.
const heartbeats = 12

// NewGroup makes a membership; it starts nothing.
func NewGroup(c Config, o GroupOptions) (*Group, error) {
	c = c.withDefaults()
	if err := c.check(); err != nil {
		return nil, err
	}
	o.Session = cmp.Or(o.Session, 6*time.Second)
	c.ClientID = memberName(c.ClientID, o.Host, o.PID)
	c.DialTimeout = min(c.DialTimeout, o.Session/2)
	c.RequestTimeout = rebalanceTimeout(o.Session) + 5*time.Second // a join is answered when all have joined
	c.Data = TopicSettings{Partitions: int32(o.Shards), ReplicationFactor: c.Checkpoint.ReplicationFactor}
	return &Group{conf: c, options: o}, nil
}

// rebalanceTimeout is how long the group waits for its members to join again. They do so at once, while their shards run.
func rebalanceTimeout(session time.Duration) time.Duration { return 2 * session }

// Lease is nil while the other replicas must take this one for alive.
func (g *Group) Lease() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	if now.Before(g.until) && now.Round(0).Before(g.until.Round(0)) { // by both clocks: one of them stands still while a machine sleeps
		return nil
	}
	return fault.New(fault.Retry, "group "+g.options.Name, errors.New("the membership of this process is in doubt"), "")
}

func (g *Group) extend(until time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.until = until
}

// TakeEarly says that this process has taken the shards of an empty group, to run them while it joins.
func (g *Group) TakeEarly() {
	g.owns = true
	g.extend(time.Now().Add(g.options.Session + rebalanceTimeout(g.options.Session)))
}

// Run is a member until ctx ends, then leaves. Errors of class Fatal and Config end it, too; everything else passes.
func (g *Group) Run(ctx context.Context, r Replica) error {
	pause := firstBackoff
	for {
		before := g.joined
		err := g.connected(ctx, r)
		switch class := fault.ClassOf(err); {
		case ctx.Err() != nil:
			return nil
		case class == fault.Fatal || class == fault.Config:
			return err
		}
		g.reached(err)
		g.options.Log.Debug("the group of the replicas does not answer", "group", g.options.Name, "error", err)
		if g.Lease() != nil && g.joined {
			g.lose(r, "no answer within the session time-out")
		}
		if pause = min(pause*2, g.options.Session/heartbeats); before != g.joined {
			pause = firstBackoff
		}
		if !sleepFor(ctx, pause) {
			return nil
		}
	}
}

// connected is a member for as long as a connection lasts. It leaves the group when ctx ends.
func (g *Group) connected(ctx context.Context, r Replica) error {
	s, err := g.connect(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	if !g.described {
		g.described = true
		g.showShards(ctx, s)
	}
	for {
		step := g.beat
		if !g.joined {
			step = g.join
		}
		if err := step(ctx, s, r); err != nil {
			return err
		}
	}
}

func (g *Group) connect(ctx context.Context) (*session, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, g.options.Session, errors.New("Kafka did not answer within the session time-out"))
	defer cancel()
	return connect(ctx, g.conf)
}

// beat tells that we live until the group is to be joined anew. Leaving is up to Leave: what runs must have ended before.
func (g *Group) beat(ctx context.Context, s *session, r Replica) error {
	pause := time.NewTicker(g.options.Session / heartbeats)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-r.Changed():
			g.joined = false // lets the others have it
			return nil
		case <-pause.C:
		}
		if err := g.heartbeat(ctx, s, r); err != nil || !g.joined {
			return err
		}
	}
}

// lose gives everything up: others have it by now.
func (g *Group) lose(r Replica, why string) {
	if running := r.Running(); len(running) > 0 && g.owns {
		g.options.Log.Warn("this replica was taken for dead and gives up its shards", "shards", running, "reason", why)
	}
	g.joined, g.owns = false, false
	g.extend(time.Time{})
	r.Assign(nil)
}

// Leave tells the group that this replica is gone, so that others need not wait for its silence.
func (g *Group) Leave(ctx context.Context) error {
	if g.member == "" {
		return nil
	}
	s, err := g.connect(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	return g.leave(ctx, s)
}

func (g *Group) reached(err error) {
	if g.options.Reached != nil {
		g.options.Reached(err)
	}
}

// sleepFor waits and reports whether ctx still holds.
func sleepFor(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// protocol is the name under which replicas agree how to share. Brokers refuse a member that has none in common with the others: so replicas
// that disagree about the task or the number of its shards never run at the same time.
func (g *Group) protocol() string {
	return fmt.Sprintf("ctbridge-v1-%s-shards-%d", g.options.Task, g.options.Shards)
}

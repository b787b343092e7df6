package wiring

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"ctbridge/bridge"
	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/config"
	"ctbridge/bridge/fault"
	"ctbridge/bridge/shard"
	"ctbridge/metrics"
	"ctbridge/sink/kafka"
)

// replica is this process as one of those that share a task's shards.
type replica struct {
	task    *config.Task
	metrics *metrics.Metrics
	loads   []LoadListener
	log     *slog.Logger
	group   *kafka.Group // nil where the task is this process alone
	set     *shard.Set
	host    string
	begun   time.Time // of Run
}

func newReplica(t *config.Task, m *metrics.Metrics, loads []LoadListener, log *slog.Logger) (*replica, error) {
	r := &replica{task: t, metrics: m, loads: loads, log: log, host: replicaName()}
	m.Membership(r.who)
	if t.Replicated() {
		if err := r.newGroup(); err != nil {
			return nil, err
		}
	}
	r.set = shard.NewSet(shard.Options{
		Run: r.run, Fenced: func(err error) bool { return r.group != nil && kafka.IsFenced(err) },
		Revoked: &bridge.RevokedError{Within: t.HighAvailability.SessionTimeout}, Log: log,
	})
	return r, r.check()
}

// check builds a line, so that what is wrong with the configuration shows before anything starts.
func (r *replica) check() error {
	l, err := r.line(0, r.metrics)
	if err != nil {
		return err
	}
	return l.Close()
}

func (r *replica) newGroup() error {
	c, err := KafkaConfig(&r.task.Kafka)
	if err != nil {
		return err
	}
	h := &r.task.HighAvailability
	r.group, err = kafka.NewGroup(c, kafka.GroupOptions{
		Name: h.Group, Task: r.task.Name, Topic: h.Topic, Shards: r.task.ShardCount(), Session: h.SessionTimeout, Host: r.host, PID: os.Getpid(), Log: r.log,
		Rebalanced: r.metrics.Rebalanced, Reached: r.metrics.GroupReachable,
	})
	return err
}

// line builds the line of a shard.
func (r *replica) line(number int, o bridge.Observer) (*line, error) {
	log, n := r.log, r.task.ShardCount()
	if n > 1 {
		log = log.With("shard", number)
	}
	var may func() error
	if r.group != nil {
		may = r.group.Lease
	}
	task := *r.task
	if !r.begun.IsZero() && time.Since(r.begun) > task.Source.StartupTimeout {
		task.Source.StartupTimeout = forever // it has been well once: from now on neighbours that are away are waited for
	}
	return newLine(&task, checkpoint.Shard{Number: number, Of: n}, r.metrics, o, may, log)
}

const forever = 100 * 365 * 24 * time.Hour

// run moves the tables of one shard until ctx ends.
func (r *replica) run(ctx context.Context, number int) (err error) {
	observer := r.metrics.Shard(number)
	defer observer.Close()
	l, err := r.line(number, listening{observer, r.loads})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	return l.run(ctx)
}

// Run runs the shards that fall to this replica until ctx ends, then drains them and hands them over.
func (r *replica) Run(ctx context.Context) error {
	r.begun = time.Now()
	r.set.Begin(context.WithoutCancel(ctx)) // Stop ends them
	member, leave := context.WithCancel(context.WithoutCancel(ctx))
	defer leave()
	joined := make(chan error, 1)
	if r.group == nil {
		r.set.Assign(all(r.task.ShardCount()))
	} else {
		r.metrics.Replicated(r.task.ShardCount())
		if err := r.early(ctx); err != nil {
			return errors.Join(err, r.set.Stop())
		}
		go func() { joined <- r.group.Run(member, r.set) }()
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-r.set.Failed():
	case err = <-joined:
		return errors.Join(err, r.set.Stop())
	}
	err = errors.Join(err, r.set.Stop())
	if r.group == nil {
		return err
	}
	leave()
	<-joined
	r.leave(ctx)
	return err
}

// early starts at once where nobody else can be alive: joining an empty group takes the brokers' group.initial.rebalance.delay.ms (3 s unless
// changed), and joining one whose only member was killed takes the session time-out. If that was wrong, opening the sinks fences the other
// one, and both do then what the group says. Where others are alive it makes sure that this replica could take over.
func (r *replica) early(ctx context.Context) error {
	alone := false
	err := r.patiently(ctx, func() (err error) {
		alone, err = r.group.Alone(ctx)
		r.metrics.GroupReachable(err)
		return err
	})
	switch {
	case err != nil || ctx.Err() != nil:
		return err
	case alone:
		r.group.TakeEarly()
		r.set.Assign(all(r.task.ShardCount()))
		return nil
	}
	r.log.Info("other replicas run: this one waits for its share", "group", r.task.HighAvailability.Group)
	l, err := r.line(0, r.metrics)
	if err != nil {
		return err
	}
	return errors.Join(r.patiently(ctx, func() error { return l.rehearse(ctx) }), l.Close())
}

// patiently tries again what passes by itself, for as long as a start may take.
func (r *replica) patiently(ctx context.Context, try func() error) error {
	for ctx.Err() == nil {
		err := try()
		switch class := fault.ClassOf(err); {
		case err == nil || class == fault.Fatal || class == fault.Config:
			return err
		case ctx.Err() != nil:
			return nil
		case time.Since(r.begun) >= r.task.Source.StartupTimeout:
			return fmt.Errorf("not started within source.startup_timeout (%s): %w", r.task.Source.StartupTimeout, err)
		}
		r.log.Warn("not started yet", "error", err)
		wait(ctx, earlyPause)
	}
	return nil
}

// earlyPause is the pause between two tries at the start.
const earlyPause = 500 * time.Millisecond

// leave hands over at once: without it the others would wait for the session time-out, which is all that is lost when it fails.
func (r *replica) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.task.HighAvailability.SessionTimeout)
	defer cancel()
	if err := r.group.Leave(ctx); err != nil {
		r.log.Warn("the others are not told that this replica ends; they notice by its silence", "error", err)
	}
}

func all(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// who tells the status page who shares the task. Where the brokers do not answer it is this process alone.
func (r *replica) who() metrics.Membership {
	ctx, cancel := context.WithTimeout(context.Background(), whoTimeout)
	defer cancel()
	n := r.task.ShardCount()
	out := metrics.Membership{Shards: make([]metrics.ShardStatus, n), ShardOf: func(id change.TableID) int { return checkpoint.ShardOf(id, n) }}
	now, err := r.membership(ctx)
	if err != nil || len(now.Members) == 0 {
		now.Members = []kafka.GroupMember{{Host: r.host, PID: os.Getpid(), Shards: now.Running}}
	}
	for i := range out.Shards {
		out.Shards[i] = metrics.ShardStatus{Number: i, State: "waiting"}
	}
	for _, m := range now.Members {
		self := m.Host == r.host && m.PID == os.Getpid()
		if self {
			m.Shards = now.Running // it knows better than the last plan
		}
		name := fmt.Sprintf("%s:%d", m.Host, m.PID)
		out.Replicas = append(out.Replicas, metrics.ReplicaStatus{ID: name, Self: self, Shards: m.Shards})
		for _, s := range m.Shards {
			if s < n {
				out.Shards[s].State, out.Shards[s].Replica = "active", name
			}
		}
	}
	return out
}

const whoTimeout = 2 * time.Second

// Membership is who shares a task.
type Membership struct {
	Shards  int                 `json:"shards"`
	Running []int               `json:"running"` // by this process
	Role    metrics.Role        `json:"role"`
	Members []kafka.GroupMember `json:"members"` // empty where the task is this process alone
}

// membership asks the brokers.
func (r *replica) membership(ctx context.Context) (Membership, error) {
	out := Membership{Shards: r.task.ShardCount(), Running: r.set.Running(), Role: r.metrics.Role()}
	if r.group == nil {
		return out, nil
	}
	var err error
	out.Members, err = r.group.Members(ctx)
	return out, err
}

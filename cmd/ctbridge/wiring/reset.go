package wiring

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"ctbridge/bridge"
	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/checkpoint/file"
	checkpointsql "ctbridge/bridge/checkpoint/sql"
	"ctbridge/bridge/config"
	"ctbridge/bridge/fault"
	"ctbridge/sink/kafka"
	"ctbridge/source"
)

// ResetTo gives the reset that moves tables to where start_at would let them begin.
func ResetTo(s config.Start) checkpoint.Reset {
	switch at := startAt(s); {
	case at.Now:
		return checkpoint.Reset{To: checkpoint.ResetNow}
	case at.After != "":
		return checkpoint.Reset{To: checkpoint.ResetPosition, After: at.After}
	case !at.Time.IsZero():
		return checkpoint.Reset{To: checkpoint.ResetTime, Time: at.Time}
	}
	return checkpoint.Reset{To: checkpoint.ResetEarliest}
}

// Members asks the brokers how many replicas run a task; none where it has no group.
func Members(ctx context.Context, t *config.Task) (int, error) {
	if !t.Replicated() {
		return 0, nil
	}
	c, err := KafkaConfig(&t.Kafka)
	if err != nil {
		return 0, err
	}
	h := &t.HighAvailability
	group, err := kafka.NewGroup(c, kafka.GroupOptions{Name: h.Group, Task: t.Name, Topic: h.Topic, Shards: t.ShardCount(), Session: h.SessionTimeout, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return 0, err
	}
	members, err := group.Members(ctx)
	return len(members), err
}

// Move is what a reset would do to one table.
type Move struct {
	Table   change.TableID
	From    change.Position // where the table stands
	To      change.Position // where it would go on; not known before the task looks where Known is false
	Known   bool
	Again   int64 // rows that would be published again, and those that would never be; -1 = not counted
	Skipped int64
	Hole    *checkpoint.Hole
	Problem error // why it cannot be done
}

// countPatience is how long rows are counted for.
const countPatience = 10 * time.Second

// Moves tells what a reset would do to tables. Nothing is changed.
func (s *Survey) Moves(ctx context.Context, ids []change.TableID, r checkpoint.Reset) ([]Move, error) {
	newest, err := s.newest(ctx, ids)
	if err != nil {
		return nil, err
	}
	moves := make([]Move, len(ids))
	for i, id := range ids {
		n, there := newest[id]
		moves[i] = s.move(ctx, id, r, n, there)
	}
	return moves, nil
}

// newest asks the source where its tables stand, and whether they have holes.
func (s *Survey) newest(ctx context.Context, ids []change.TableID) (map[change.TableID]source.Newest, error) {
	out := make(map[change.TableID]source.Newest)
	if s.Source != nil {
		return out, nil
	}
	var asked []source.Progress
	for _, id := range ids {
		if captured, t := s.Found[id], s.table(id); captured != nil {
			asked = append(asked, source.Progress{
				Captured: captured, After: t.Position, Recent: &checkpoint.Window{}, Identity: t.Identity, Seen: t.Seen, Purged: t.Purged, Chosen: t.Chosen(),
			})
		}
	}
	window, err := s.poller.Poll(ctx, asked)
	if err != nil {
		return nil, err
	}
	for i := range asked {
		out[asked[i].Captured.Table.ID] = window.Newest[i]
	}
	return out, nil
}

func (s *Survey) move(ctx context.Context, id change.TableID, r checkpoint.Reset, n source.Newest, there bool) Move {
	m := Move{Table: id, From: s.table(id).Position, Again: -1, Skipped: -1}
	switch r.To {
	case checkpoint.ResetAcceptGap:
		m.acceptGap(s, n, there)
		return m
	case checkpoint.ResetEarliest:
		m.Known = true
	case checkpoint.ResetPosition:
		m.To, m.Known = r.After, true
	case checkpoint.ResetNow:
		m.To, m.Known = n.Position, there && n.Problem == nil
	case checkpoint.ResetTime:
		if there && n.Problem == nil {
			m.To, m.Problem = s.poller.Since(ctx, s.Found[id], r.Time)
			m.Known = m.Problem == nil
		}
	case checkpoint.ResetForget, checkpoint.ResetLoad: // the task decides
	}
	if r.To != checkpoint.ResetForget && s.Source == nil && !there {
		m.Problem = errors.New("no change table is found for it")
	}
	if m.Known && there && n.Problem == nil {
		m.count(ctx, s)
	}
	return m
}

func (m *Move) acceptGap(s *Survey, n source.Newest, there bool) {
	switch {
	case s.Source != nil:
		m.Problem = fmt.Errorf("the source must tell the hole: %w", s.Source)
	case !there:
		m.Problem = errors.New("no change table is found for it")
	case n.Problem != nil:
		m.Problem = n.Problem
	case n.Reset == nil:
		m.Problem = errors.New("it stands at no hole")
	default:
		m.Hole = &checkpoint.Hole{Kind: string(n.Reset.Kind), From: n.Reset.From, To: n.Reset.To}
		if m.Known = true; n.Reset.Kind != source.ResetRewound {
			m.To = m.From
		}
	}
}

// count counts between the two positions; a slow source is not waited for.
func (m *Move) count(ctx context.Context, s *Survey) {
	ctx, cancel := context.WithTimeout(ctx, countPatience)
	defer cancel()
	low, high := min(m.From, m.To), max(m.From, m.To)
	n := int64(0)
	if low < high {
		var err error
		if n, err = s.poller.Count(ctx, s.Found[m.Table], low, high); err != nil {
			return
		}
	}
	if m.To <= m.From {
		m.Again, m.Skipped = n, 0
	} else {
		m.Again, m.Skipped = 0, n
	}
}

// LeaveReset asks for resets in the checkpoint of a task that does not run; its next start carries them out. Written beside a running task they are
// not lost, but wait for its next start. It needs the file of a checkpoint for itself.
func LeaveReset(ctx context.Context, t *config.Task, resets map[change.TableID]checkpoint.Reset) (err error) {
	store, err := besides[storeOf(t)](t)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	entries, err := store.Load(ctx)
	if err != nil {
		return err
	}
	state, err := checkpoint.Decode(entries, checkpoint.Shard{}, time.Now())
	if err != nil {
		return err
	}
	var asked []checkpoint.Entry
	for id, r := range resets {
		asked = append(asked, state.Table(id).Ask(r))
	}
	return store.Save(ctx, asked)
}

func storeOf(t *config.Task) string {
	if t.Delivery == config.ExactlyOnce {
		return config.StoreKafka
	}
	return t.Checkpoint.Store
}

// besides opens each checkpoint store so that it can be written beside its owner, as far as it lets us.
var besides = map[string]func(t *config.Task) (checkpoint.Store, error){
	config.StoreKafka: func(t *config.Task) (checkpoint.Store, error) {
		c, err := KafkaConfig(&t.Kafka)
		if err != nil {
			return nil, err
		}
		return kafka.NewStore(c, "ctbridge."+t.Name+".reset", t.Checkpoint.Topic) // an id of its own: it fences no instance
	},
	config.StoreFile: func(t *config.Task) (checkpoint.Store, error) { return file.New(t.Checkpoint.Path), nil },
	config.StoreSQL: func(t *config.Task) (checkpoint.Store, error) {
		store, err := sqlStore(t)
		if err != nil {
			return nil, err
		}
		return beside{store}, nil
	},
}

// beside is a store in a table that does not claim the task.
type beside struct{ *checkpointsql.Store }

// Load reads.
func (b beside) Load(ctx context.Context) (map[string][]byte, error) { return b.Peek(ctx) }

// Save writes.
func (b beside) Save(ctx context.Context, entries []checkpoint.Entry) error {
	return b.Leave(ctx, entries)
}

// AskReset asks the running task for a reset and gives its id.
func AskReset(ctx context.Context, t *config.Task, id change.TableID, r checkpoint.Reset) error {
	return Ask(ctx, t, bridge.Request{ID: r.ID, Table: id, Action: bridge.ActionReset, Reset: &r})
}

// answerEach is how often the checkpoint is looked at for an answer.
const answerEach = 200 * time.Millisecond

// ResetAnswer waits until the task has carried out a reset.
func ResetAnswer(ctx context.Context, t *config.Task, id change.TableID, request string) (*checkpoint.Reset, error) {
	for {
		kept, err := Peek(ctx, t)
		if err == nil {
			if r, done := kept.State.Table(id).Resets.Find(request); done {
				return r, nil
			}
		}
		if ctx.Err() != nil {
			return nil, fault.New(fault.Retry, "", errors.Join(errors.New("no answer: does the task run, and does it read the table?"), err),
				"the request stays: the task carries it out when it comes to it")
		}
		wait(ctx, answerEach)
	}
}

package kafka

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/fault"
)

// shardsKey is the entry that says into how many shards the task is divided. It shares the checkpoint topic with the entries and is left out
// of what Open returns. Without it the task is undivided.
const shardsKey = "shards"

type shardsRecord struct {
	Version int `json:"v"`
	Of      int `json:"of"`
}

// transactionalID is the one of a task's shard. The same number has the same id whatever the number of shards.
func transactionalID(task string, shard int) string {
	return "ctbridge." + task + "." + strconv.Itoa(shard)
}

// ofShard makes a sink, or the sink of a store, one of a task's shards.
func ofShard(t *Transactional, err error, task string, shard checkpoint.Shard) (*Transactional, error) {
	if err == nil {
		t.task, t.shard = task, shard
	}
	return t, err
}

// NewShard makes the sink of one shard of a task.
func NewShard(c Config, task string, shard checkpoint.Shard, checkpointTopic string) (*Transactional, error) {
	t, err := NewTransactional(c, transactionalID(task, shard.Number), checkpointTopic)
	return ofShard(t, err, task, shard)
}

// NewShardStore makes the checkpoint store of one shard of a task.
func NewShardStore(c Config, task string, shard checkpoint.Shard, checkpointTopic string) (*Store, error) {
	sink, err := NewShard(c, task, shard, checkpointTopic)
	if err != nil {
		return nil, err
	}
	return &Store{sink}, nil
}

// divided makes sure that the checkpoint is divided into as many shards as this one belongs to.
//
// A table that moves to another shard must not be published by its former one any more: that one may be a process that has been taken for
// dead and comes back. So shard 0 alone changes the number, in this order: it fences every id that the former shards had, reads what they
// have committed until then, and commits the entries of the new shards with their number in one transaction. The other shards wait for the
// number; what they read with it contains what was committed before, and no former shard can commit after.
func (t *Transactional) divided(ctx context.Context, entries map[string][]byte) (map[string][]byte, error) {
	from, err := shardsIn(entries)
	if err != nil || t.task == "" || from == t.shard.Count() {
		delete(entries, shardsKey)
		return entries, err
	}
	if t.shard.Number > 0 {
		return nil, fault.New(fault.Retry, "checkpoint", fmt.Errorf("it is divided into %d shard(s), not %d yet", from, t.shard.Count()),
			"shard 0 changes that when it starts")
	}
	if err := t.divide(ctx, from); err != nil {
		return nil, err
	}
	return t.read(ctx)
}

// divide changes the number of shards.
func (t *Transactional) divide(ctx context.Context, from int) error {
	taken := make([]checkpoint.Entry, 0, from)
	for n := 1; n < from; n++ {
		id := transactionalID(t.task, n)
		if err := t.session.call(ctx, t.session.newWriter(id, t.conf.TransactionTimeout).init); err != nil {
			return t.session.fail("fence shard "+strconv.Itoa(n), err)
		}
		own, err := t.marker(id)
		if err != nil {
			return err
		}
		taken = append(taken, own)
	}
	if err := t.writeEntries(ctx, taken); err != nil {
		return err
	}
	entries, err := t.readAll(ctx)
	if err != nil {
		return err
	}
	moved, err := checkpoint.Reshard(entries, from, t.shard.Count())
	if err != nil {
		return err
	}
	var value []byte // none for an undivided task, which older programs can read
	if t.shard.Count() > 1 {
		if value, err = json.Marshal(shardsRecord{Version: 1, Of: t.shard.Count()}); err != nil {
			return err
		}
	}
	return t.writeEntries(ctx, append(moved, checkpoint.Entry{Key: shardsKey, Value: value}))
}

// read gives the entries without the number of shards, which is ours.
func (t *Transactional) read(ctx context.Context) (map[string][]byte, error) {
	entries, err := t.readAll(ctx)
	delete(entries, shardsKey)
	return entries, err
}

// readAll writes a marker of this instance and reads up to it.
func (t *Transactional) readAll(ctx context.Context) (map[string][]byte, error) {
	own, err := t.marker(t.id)
	if err == nil {
		err = t.writeEntries(ctx, []checkpoint.Entry{own})
	}
	if err != nil {
		return nil, err
	}
	return t.session.loadCheckpoint(ctx, t.topic, own)
}

// marker says that this instance has taken an id. Two markers of one instance differ.
func (t *Transactional) marker(id string) (checkpoint.Entry, error) {
	value, err := json.Marshal(marker{Version: 1, ID: t.instance, Started: time.Now().UTC()})
	return checkpoint.Entry{Key: markerPrefix + id, Value: value}, err
}

// writeEntries commits entries alone.
func (t *Transactional) writeEntries(ctx context.Context, entries []checkpoint.Entry) error {
	if len(entries) == 0 {
		return nil
	}
	t.begin()
	for _, e := range entries {
		if err := t.session.sendEntry(ctx, t.topic, e); err != nil {
			return err
		}
	}
	err := t.commit(ctx, t.session)
	if err == nil {
		t.leaveTxn()
	}
	return err
}

func shardsIn(entries map[string][]byte) (int, error) {
	value, there := entries[shardsKey]
	if !there {
		return 1, nil
	}
	var r shardsRecord
	err := json.Unmarshal(value, &r)
	if err == nil && (r.Version != 1 || r.Of < 1) {
		err = errors.New("it is of a newer program")
	}
	if err != nil {
		return 0, fault.New(fault.Fatal, fmt.Sprintf("checkpoint record %q", shardsKey), err, "restore the checkpoint from a copy")
	}
	return r.Of, nil
}

// IsFenced tells that a task was ended because another one has taken over its transactional id.
func IsFenced(err error) bool { return fault.ClassOf(err) == fault.Fatal && errors.Is(err, errFenced) }

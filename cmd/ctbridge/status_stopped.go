package main

import (
	"slices"
	"strings"
	"time"

	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/config"
	"ctbridge/cmd/ctbridge/wiring"
	"ctbridge/metrics"
)

// stoppedStatus is what a checkpoint tells of a task that nobody runs.
func stoppedStatus(t *config.Task, kept *wiring.Kept, now time.Time) *metrics.Status {
	out := &metrics.Status{
		Format: metrics.StatusFormat, Task: t.Name, State: metrics.StateStopped, Problems: []string{}, Now: now.UTC(),
		Neighbours: []metrics.NeighbourStatus{}, Shards: []metrics.ShardStatus{}, Replicas: []metrics.ReplicaStatus{}, Tables: []metrics.TableStatus{},
		Totals: metrics.Totals{History: []uint32{}},
	}
	if !kept.Saved.IsZero() {
		out.Checkpoint.CommittedAt = utc(kept.Saved)
	}
	for id, table := range kept.State.Tables {
		entry := metrics.TableStatus{
			Table: id.String(), Schema: id.Schema, Name: id.Name, State: metrics.StateStopped, Position: string(table.Position), History: []uint32{}, Load: stoppedLoad(table.Load),
		}
		if newest := table.Newest(); newest != nil {
			entry.Version = newest.Version
		}
		if at, known := kept.Times[checkpoint.TableKey(id)]; known {
			entry.CommittedAt = utc(at)
		}
		out.Tables = append(out.Tables, entry)
	}
	slices.SortFunc(out.Tables, func(a, b metrics.TableStatus) int { return strings.Compare(a.Table, b.Table) })
	out.Totals.Tables = len(out.Tables)
	return out
}

func stoppedLoad(l *checkpoint.Load) *metrics.LoadStatus {
	if l == nil {
		return nil
	}
	return &metrics.LoadStatus{State: string(l.State), Done: l.Rows, Total: max(l.Total, l.Rows), StartedAt: utc(l.Begin), EndedAt: utc(l.End)}
}

// utc is nil for a time that is not known.
func utc(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

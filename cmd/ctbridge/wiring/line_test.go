package wiring

import (
	"context"
	"errors"
	"testing"

	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/config"
)

// One replica may have to run all shards: together they hold what an undivided task may hold, and use as many connections but for the least
// that each needs.
func TestShardsShareTheBounds(t *testing.T) {
	t.Parallel()
	task := config.Defaults()
	if shareOf(task) != task {
		t.Error("an undivided task has not all of it")
	}
	task.Ordering, task.FullLoad.RowsPerSecond = config.OrderingTable, 1000
	for _, n := range []int{2, 4, 16} {
		task.Shards = n
		share := shareOf(task)
		if int(share.Memory.MaxBytes)*n > int(task.Memory.MaxBytes) || share.Commit.MaxBytes > share.Memory.MaxBytes ||
			share.Source.Horizon.LookbackRows*n > task.Source.Horizon.LookbackRows || share.FullLoad.RowsPerSecond*n > 1000 ||
			share.FullLoad.ParallelTables < 1 || share.Source.MaxConnections < 2 {
			t.Errorf("%d shards: each has %+v", n, share)
		}
	}
	if task.Memory.MaxBytes != config.Defaults().Memory.MaxBytes {
		t.Error("the task itself was changed")
	}
}

// sinkCalls counts what reaches a sink.
type sinkCalls struct {
	sink
	opened, published, committed int
}

func (s *sinkCalls) Open(context.Context) (map[string][]byte, error)  { s.opened++; return nil, nil }
func (s *sinkCalls) Publish(context.Context, *change.Record) error    { s.published++; return nil }
func (s *sinkCalls) Commit(context.Context, []checkpoint.Entry) error { s.committed++; return nil }

// Who is no member any more opens no sink; where records are visible at once, it publishes nothing either.
func TestGuard(t *testing.T) {
	t.Parallel()
	no := errors.New("no member")
	for _, records := range []bool{false, true} {
		calls := &sinkCalls{}
		var membership error
		g := &guard{sink: calls, may: func() error { return membership }, records: records}
		use := func() (open, publish, commit error) {
			_, open = g.Open(t.Context())
			return open, g.Publish(t.Context(), &change.Record{}), g.Commit(t.Context(), nil)
		}
		if open, publish, commit := use(); open != nil || publish != nil || commit != nil {
			t.Errorf("a member: %v, %v, %v", open, publish, commit)
		}
		membership = no
		open, publish, commit := use()
		if !errors.Is(open, no) || records != errors.Is(publish, no) || records != errors.Is(commit, no) || calls.opened != 1 {
			t.Errorf("no member, records %v: %v, %v, %v", records, open, publish, commit)
		}
	}
}

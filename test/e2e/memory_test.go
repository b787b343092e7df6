package e2e

import (
	"runtime"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"ctbridge/sink/embedded"
)

// Case 83: a transaction of any size passes through bounded memory (I10). It runs alone, before the parallel tests: the heap is that of the
// process. The broker forgets what it is sent, for its memory is the process's, too.
func TestCase83_LargeTransactionInBoundedMemory(t *testing.T) {
	const (
		rows  = 120_000
		bound = 48 << 20
	)
	s := newStand(t, func(o *embedded.Options) { o.NoRegistry, o.Broker = true, []kfake.Opt{kfake.BlackholeProduce()} })
	s.create("parcel")
	s.db.Exec(t, `INSERT INTO parcel__ct
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		SELECT '2023091103232500' || printf('%%019d', i), 'I', NULL, 'pos', 'INSERT', 't1', '2023-09-11 03:23:25.000000', i, hex(randomblob(150)), '1.50' FROM n`, rows)
	changes := s.deliveries()["at_least_once file"]
	runtime.GC()
	before := heap()
	r := s.start(changes, set{"memory.max_bytes": "2MiB", "commit.max_bytes": "1MiB", "kafka.max_message_bytes": "256KiB", "qlik.metadata": "none",
		"source.horizon.lookback_rows": "10000", "kafka.compression": "none"})
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	deadline := time.After(2 * time.Minute)
	var peak uint64
	for published := 0.0; published < rows; {
		select {
		case <-look.C:
			peak = max(peak, heap())
			published = r.metric(`ctbridge_events_published_total{operation="INSERT",table="parcel"}`)
		case <-deadline:
			t.Fatalf("%v of %d rows", published, rows)
		}
	}
	r.drain()
	t.Logf("heap %d MiB before, %d MiB at most", before>>20, peak>>20)
	if peak > before+bound {
		t.Errorf("the heap grew by %d MiB, %d MiB are allowed", (peak-before)>>20, bound>>20)
	}
}

// heap is what the last collection found in use: garbage depends on what else the process holds.
func heap() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

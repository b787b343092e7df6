package e2e

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ctbridge/sink/embedded"
)

// weather is what brokers answer in bad times; all of it passes. (Without the answer that no coordinator is there, for which the client
// library waits for seconds.)
var weather = map[kmsg.Key][]*kerr.Error{
	kmsg.Produce:            {kerr.NotLeaderForPartition, kerr.NotEnoughReplicas, kerr.RequestTimedOut},
	kmsg.AddPartitionsToTxn: {kerr.ConcurrentTransactions, kerr.CoordinatorLoadInProgress, kerr.NotCoordinator},
	kmsg.EndTxn:             {kerr.ConcurrentTransactions, kerr.CoordinatorNotAvailable, kerr.NotCoordinator},
	kmsg.InitProducerID:     {kerr.ConcurrentTransactions, kerr.CoordinatorLoadInProgress, kerr.NotCoordinator},
	kmsg.Fetch:              {kerr.NotLeaderForPartition},
	kmsg.ListOffsets:        {kerr.NotLeaderForPartition},
}

// Bad weather between bridge and brokers, leaders that move, and stops at any moment: every row once, in order, with counters without gap.
// With at_least_once a row may come again, but none is missing.
func TestEveryRowInBadWeather(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 83))
			s := newStand(t, func(o *embedded.Options) { o.NoRegistry, o.Broker = true, []kfake.Opt{kfake.NumBrokers(3)} })
			tables := []string{"a", "b", "c"}
			s.create(tables...)
			changes := set{"commit.max_records": fmt.Sprint(1 + random.IntN(20)), "source.page_rows": fmt.Sprint(1 + random.IntN(20)), "kafka.topics.data.partitions": "1"}
			once := seed%4 != 3
			if !once {
				changes["delivery"] = "at_least_once"
			}
			r := s.start(changes)
			const rows = 120
			for n := 1; n <= rows; n++ {
				s.add(tables[random.IntN(len(tables))], "I", n, fmt.Sprint("t", n/10), n, "x", nil)
				switch random.IntN(12) {
				case 0:
					if err := r.stop(); err != nil {
						t.Logf("stopped: %v", err)
					}
					r = s.start(changes)
				case 1:
					s.Cluster().ShufflePartitionLeaders()
				case 2:
					s.Cluster().RehashCoordinators()
				case 3, 4, 5:
					s.fault(random)
				}
			}
			eventually(t, func() bool { return s.published(tables) >= rows }, "%d rows", rows)
			if err := r.stop(); err != nil {
				t.Errorf("the last stop: %v", err)
			}
			if once {
				s.checkRows(rows, tables...)
			}
		})
	}
}

func (s *stand) fault(random *rand.Rand) {
	keys := slices.Sorted(maps.Keys(weather))
	key := keys[random.IntN(len(keys))]
	errs := weather[key]
	s.Cluster().Fault(kfake.Fault{Keys: []kmsg.Key{key}, Err: errs[random.IntN(len(errs))], Count: 1 + random.IntN(2)})
}

// published counts the rows that are there, each once.
func (s *stand) published(tables []string) int {
	sequences := map[any]bool{}
	for _, topic := range s.topics(tables) {
		if s.Cluster().TopicInfo(topic) == nil {
			continue
		}
		got, _ := s.tryAll(topic) // the reader meets the weather, too
		for _, m := range got {
			sequences[inner(decodeJSON(s, m.Value))["headers"].(tree)["changeSequence"]] = true
		}
	}
	return len(sequences)
}

package kafka_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint/memory"
	"ctbridge/bridge/fault"
	"ctbridge/sink/kafka"
)

// manyTopics are the topics of a first start with many tables.
func manyTopics(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = name(fmt.Sprintf("many%d", i))
	}
	return out
}

// answerCreation answers with a code for each topic and makes those a moment later that the code does not rule out.
func answerCreation(cluster *kfake.Cluster, r *kmsg.CreateTopicsRequest, code func(topic string) int16) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.CreateTopicsResponse)
	for i := range r.Topics {
		t := kmsg.NewCreateTopicsResponseTopic()
		t.Topic, t.ErrorCode = r.Topics[i].Topic, code(r.Topics[i].Topic)
		resp.Topics = append(resp.Topics, t)
		if slices.Contains([]int16{0, exists, timedOut}, t.ErrorCode) {
			go func() { _ = cluster.CreateTopic(t.Topic, 1, nil) }()
		}
	}
	return resp
}

// Error codes of the protocol.
const (
	internal, timedOut, denied       = -1, 7, 29
	exists, notController, overQuota = 36, 41, 89
)

// The number of requests grows with the hundreds of topics, not with the topics, and with the partitions of them.
func TestManyTopicsTakeFewRequests(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ topics, partitions, want int }{{250, 1, 3}, {30, 200, 3}, {4, 1000, 2}} {
		servers := broker(t)
		s := transactional(t, kafka.Config{Brokers: servers.Brokers(), Data: kafka.TopicSettings{Partitions: int32(test.partitions)}}, "task.0", "checkpoint")
		open(t, s)
		var creations, descriptions atomic.Int32
		servers.Cluster().Control(func(r kmsg.Request) (kmsg.Response, error, bool) {
			servers.Cluster().KeepControl()
			switch r.(type) {
			case *kmsg.CreateTopicsRequest:
				creations.Add(1)
			case *kmsg.MetadataRequest:
				descriptions.Add(1)
			}
			return nil, nil, false
		})
		topics := manyTopics(test.topics)
		for range 2 { // the second time they are known
			refused, err := s.EnsureTopics(t.Context(), append(topics, topics[0]), change.DataTopic)
			if err != nil || len(refused) > 0 {
				t.Fatalf("refused %v: %v", refused, err)
			}
		}
		if got := int(creations.Load()); got != test.want {
			t.Errorf("%d topics of %d partitions: %d requests to create, want %d", test.topics, test.partitions, got, test.want)
		}
		if got := int(descriptions.Load()); got > 5*test.want {
			t.Errorf("%d topics: %d requests to describe, want at most %d", test.topics, got, 5*test.want)
		}
		for _, topic := range topics {
			if n := len(servers.Cluster().PartitionInfos(topic)); n != test.partitions {
				t.Fatalf("%s has %d partitions, want %d", topic, n, test.partitions)
			}
		}
	}
}

// What is wrong with single topics is told by their names, and the others are made.
func TestManyTopicsFailOneByOne(t *testing.T) {
	t.Parallel()
	servers := broker(t)
	s := idempotent(t, kafka.Config{Brokers: servers.Brokers()}, &memory.Store{})
	open(t, s)
	topics := manyTopics(6)
	there := topics[0]
	answers := map[string]int16{topics[1]: denied, topics[2]: exists, topics[3]: timedOut, topics[4]: internal}
	if err := servers.Cluster().CreateTopic(there, 2, nil); err != nil {
		t.Fatal(err)
	}
	servers.Cluster().ControlKey(int16(kmsg.CreateTopics), func(r kmsg.Request) (kmsg.Response, error, bool) {
		servers.Cluster().KeepControl()
		return answerCreation(servers.Cluster(), r.(*kmsg.CreateTopicsRequest), func(topic string) int16 { return answers[topic] }), nil, true
	})
	refused, err := s.EnsureTopics(t.Context(), append(topics, "no/name"), change.DataTopic)
	if err != nil {
		t.Fatal(err)
	}
	expectTable(t, refused[topics[1]], topics[1])
	if hint := fault.HintOf(refused[topics[1]]); !strings.Contains(hint, "--operation Create --topic "+topics[1]) {
		t.Errorf("the hint does not tell the grant: %q", hint)
	}
	expectTable(t, refused["no/name"], "no/name")
	if err := refused[topics[4]]; err == nil || fault.ClassOf(err) != fault.Retry || !strings.Contains(err.Error(), topics[4]) {
		t.Errorf("%s: %v", topics[4], err)
	}
	if len(refused) != 3 {
		t.Errorf("refused: %v", refused)
	}
	for _, topic := range []string{there, topics[2], topics[3], topics[5]} {
		if err := s.Publish(t.Context(), record(topic, "k", "v")); err != nil {
			t.Errorf("%s: %v", topic, err)
		}
	}
	if err := s.Commit(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// A quota on creations, a controller that moves and one that has closed the idle connection are waited for.
func TestTopicsThatArePutOff(t *testing.T) {
	t.Parallel()
	servers := broker(t)
	s := transactional(t, kafka.Config{Brokers: servers.Brokers()}, "task.0", "checkpoint")
	open(t, s)
	topics := manyTopics(5)
	asked := 0
	servers.Cluster().ControlKey(int16(kmsg.CreateTopics), func(r kmsg.Request) (kmsg.Response, error, bool) {
		servers.Cluster().KeepControl()
		asked++
		if asked == 1 {
			return nil, errors.New("the broker closes the connection"), true
		}
		return answerCreation(servers.Cluster(), r.(*kmsg.CreateTopicsRequest), func(topic string) int16 {
			switch {
			case asked == 2:
				return notController
			case asked == 3 && topic > topics[1]:
				return overQuota
			}
			return 0
		}), nil, true
	})
	refused, err := s.EnsureTopics(t.Context(), topics, change.DataTopic)
	if err != nil || len(refused) > 0 || asked != 4 {
		t.Errorf("asked %d times, refused %v: %v", asked, refused, err)
	}
}

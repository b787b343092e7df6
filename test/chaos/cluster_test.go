package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ctbridge/test/stack/servers"
)

// cluster are faults of three real brokers, with three replicas of each topic of which two must have a record.
func cluster() []scenario {
	return []scenario{
		{name: "nodes stopped one after the other", nodes: true, runs: 2, fault: rolling},
		{name: "kill -9 of the node that leads", nodes: true, runs: 2, fault: func(st *stage) { st.lose(st.leader(st.task+".one", 0)) }},
		{name: "kill -9 of the node that leads, at_least_once", nodes: true, config: atLeastOnce, fault: func(st *stage) { st.lose(st.leader(st.task+".one", 0)) }},
		{name: "kill -9 of the transaction coordinator", nodes: true, runs: 2, fault: func(st *stage) { st.lose(st.coordinator("ctbridge."+st.task+".0", 1)) }},
		{name: "kill -9 of the group coordinator", nodes: true, fault: func(st *stage) { st.lose(st.coordinator("ctbridge."+st.task, 0)) }},
		{name: "leaders and coordinators elected anew", nodes: true, fault: elections},
		{name: "two of three nodes down", nodes: true, fault: twoDown},
		{name: "two of three nodes down, at_least_once", nodes: true, config: atLeastOnce, fault: twoDown},
	}
}

var allNodes = []int32{1, 2, 3}

// rolling stops each node as an upgrade does; its leaders move, and the events flow while it is away.
func rolling(st *stage) {
	for _, id := range allNodes {
		st.control((*servers.Stack).Stop, servers.Node(int(id)))
		st.flows(200)
		st.control((*servers.Stack).Start, servers.Node(int(id)))
		st.whole()
	}
}

// lose ends a node as a power cut does. The recovery that is measured is that of two nodes alone.
func (st *stage) lose(id int32) {
	st.Helper()
	st.control((*servers.Stack).Kill, servers.Node(int(id)))
	st.lift()
	st.recovers()
	st.endures(time.Second, time.Minute)
	st.flows(200)
	st.control((*servers.Stack).Start, servers.Node(int(id)))
	st.whole()
}

// elections moves all leaders, and with those of two internal topics the coordinators, by the hands of an operator: partitions get another order
// of replicas, by turns with one of them taken away and copied anew, and then the first of them is elected.
func elections(st *stage) {
	topics := []string{"__transaction_state", "__consumer_offsets", st.task + ".one", st.task + ".two", st.task + ".three", "ctbridge." + st.task + ".checkpoint"}
	id := "ctbridge." + st.task + ".0"
	for turn := range 7 {
		before := st.coordinator(id, 1)
		st.reassign(topics, int32(turn), 3-turn%2)
		st.elect(topics)
		if turn > 0 {
			eventually(st, time.Minute, func() bool { return st.coordinator(id, 1) != before }, func() string { return "another coordinator" })
		}
		st.flows(50)
	}
	st.whole()
}

// twoDown leaves one node, which takes nothing more; that it says NOT_ENOUGH_REPLICAS a producer beside the bridge finds out.
func twoDown(st *stage) {
	topic := st.task + "-probe"
	st.createTopic(topic)
	left := st.leader(topic, 0)
	for _, id := range allNodes {
		if id != left {
			st.control((*servers.Stack).Kill, servers.Node(int(id)))
		}
	}
	eventually(st, time.Minute, func() bool { st.mustLive(); return errors.Is(st.probe(topic), kerr.NotEnoughReplicas) },
		func() string { return "NOT_ENOUGH_REPLICAS; last answer " + fmt.Sprint(st.probe(topic)) })
	before, _ := st.read.state()
	st.endures(2*time.Second, time.Minute)
	if after, _ := st.read.state(); after != before {
		st.Errorf("%d events came through with one replica of each", after-before)
	}
	for _, id := range allNodes {
		st.control((*servers.Stack).Start, servers.Node(int(id)))
	}
	st.lift()
	st.whole()
}

// probe asks for a record to be taken, once.
func (st *stage) probe(topic string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(os.Getenv(servers.Kafka3Variable), ",")...), kgo.DisableIdempotentWrite(),
		kgo.RecordRetries(0), kgo.DefaultProduceTopic(topic))
	if err != nil {
		return err
	}
	defer client.Close()
	return client.ProduceSync(ctx, kgo.StringRecord("x")).FirstErr()
}

// ask sends a request until it is answered without an error that passes.
func (st *stage) ask(what string, once func(context.Context) error) {
	st.Helper()
	var err error
	eventually(st, time.Minute, func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		err = once(ctx)
		return err == nil
	}, func() string { return fmt.Sprintf("%s: %v", what, err) })
}

// metadata gives what the cluster says of topics; of all without a name.
func (st *stage) metadata(ctx context.Context, topics ...string) (*kmsg.MetadataResponse, error) {
	request := kmsg.NewPtrMetadataRequest()
	for _, name := range topics {
		topic := kmsg.NewMetadataRequestTopic()
		topic.Topic = kmsg.StringPtr(name)
		request.Topics = append(request.Topics, topic)
	}
	return request.RequestWith(ctx, st.operator)
}

func (st *stage) leader(topic string, partition int32) (node int32) {
	st.Helper()
	st.ask("leader of "+topic, func(ctx context.Context) error {
		answer, err := st.metadata(ctx, topic)
		if err != nil {
			return err
		}
		for _, p := range answer.Topics[0].Partitions {
			if p.Partition == partition && p.Leader > 0 {
				node = p.Leader
				return nil
			}
		}
		return errors.New("no leader")
	})
	return node
}

// coordinator gives the node that coordinates a group (0) or a transactional id (1).
func (st *stage) coordinator(key string, kind int8) (node int32) {
	st.Helper()
	st.ask("coordinator of "+key, func(ctx context.Context) error {
		request := kmsg.NewPtrFindCoordinatorRequest()
		request.CoordinatorType, request.CoordinatorKeys = kind, []string{key}
		answer, err := request.RequestWith(ctx, st.operator)
		if err != nil {
			return err
		}
		node = answer.Coordinators[0].NodeID
		return kerr.ErrorForCode(answer.Coordinators[0].ErrorCode)
	})
	return node
}

// whole waits until all brokers are there and have all records of all partitions.
func (st *stage) whole() {
	st.Helper()
	st.ask("all replicas", func(ctx context.Context) error {
		answer, err := st.metadata(ctx)
		if err != nil {
			return err
		}
		if len(answer.Brokers) < len(allNodes) {
			return fmt.Errorf("%d brokers", len(answer.Brokers))
		}
		for _, t := range answer.Topics {
			for _, p := range t.Partitions {
				if len(p.ISR) < len(allNodes) {
					return fmt.Errorf("%s/%d has the replicas %v in sync", *t.Topic, p.Partition, p.ISR)
				}
			}
		}
		return nil
	})
}

func (st *stage) createTopic(name string) {
	st.Helper()
	st.ask("create "+name, func(ctx context.Context) error {
		request := kmsg.NewPtrCreateTopicsRequest()
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, 1, -1
		request.Topics = append(request.Topics, topic)
		answer, err := request.RequestWith(ctx, st.operator)
		if err != nil {
			return err
		}
		if err = kerr.ErrorForCode(answer.Topics[0].ErrorCode); errors.Is(err, kerr.TopicAlreadyExists) {
			return nil
		}
		return err
	})
}

// reassign gives each partition its replicas in an order that the turn decides, the first count of them.
func (st *stage) reassign(topics []string, turn int32, count int) {
	st.Helper()
	st.ask("reassignment", func(ctx context.Context) error {
		now, err := st.metadata(ctx, topics...)
		if err != nil {
			return err
		}
		request := kmsg.NewPtrAlterPartitionAssignmentsRequest()
		for _, t := range now.Topics {
			topic := kmsg.NewAlterPartitionAssignmentsRequestTopic()
			topic.Topic = *t.Topic
			for _, p := range t.Partitions {
				partition := kmsg.NewAlterPartitionAssignmentsRequestTopicPartition()
				partition.Partition = p.Partition
				for i := range count {
					partition.Replicas = append(partition.Replicas, allNodes[(int(turn+p.Partition)+i)%len(allNodes)])
				}
				topic.Partitions = append(topic.Partitions, partition)
			}
			request.Topics = append(request.Topics, topic)
		}
		answer, err := request.RequestWith(ctx, st.operator)
		if err != nil {
			return err
		}
		for _, t := range answer.Topics {
			for _, p := range t.Partitions {
				err = errors.Join(err, kerr.ErrorForCode(p.ErrorCode))
			}
		}
		return err
	})
	st.ask("end of the reassignment", func(ctx context.Context) error {
		answer, err := kmsg.NewPtrListPartitionReassignmentsRequest().RequestWith(ctx, st.operator)
		if err == nil && len(answer.Topics) > 0 {
			err = fmt.Errorf("%d topics under way", len(answer.Topics))
		}
		return err
	})
}

// elect makes the first replica of each partition its leader.
func (st *stage) elect(topics []string) {
	st.Helper()
	st.ask("election", func(ctx context.Context) error {
		request := kmsg.NewPtrElectLeadersRequest() // no topic = all
		answer, err := request.RequestWith(ctx, st.operator)
		if err != nil {
			return err
		}
		for _, t := range answer.Topics {
			for _, p := range t.Partitions {
				if e := kerr.ErrorForCode(p.ErrorCode); slices.Contains(topics, t.Topic) && e != nil && !errors.Is(e, kerr.ElectionNotNeeded) {
					err = errors.Join(err, fmt.Errorf("%s/%d: %w", t.Topic, p.Partition, e))
				}
			}
		}
		return err
	})
}

package kafka_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint/memory"
	"ctbridge/bridge/fault"
	"ctbridge/sink/kafka"
	"ctbridge/sink/sinktest"
)

func expectTable(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil || fault.ClassOf(err) != fault.Table || fault.HintOf(err) == "" {
		t.Errorf("want an error of class table with a hint, got %v", err)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("want %q in the error: %v", word, err)
		}
	}
}

func TestTopicsGetTheSettingsOfTheirRole(t *testing.T) {
	t.Parallel()
	servers := broker(t)
	c := kafka.Config{
		Brokers:    servers.Brokers(),
		Data:       kafka.TopicSettings{Partitions: 3, Config: map[string]string{"retention.ms": "1000"}},
		Metadata:   kafka.TopicSettings{Partitions: 1},
		Checkpoint: kafka.TopicSettings{Partitions: 9, Config: map[string]string{"segment.bytes": "2097152", "cleanup.policy": "delete"}},
	}
	s := transactional(t, c, "task.0", "checkpoint")
	open(t, s)
	for name, role := range map[string]change.TopicRole{"data": change.DataTopic, "metadata": change.MetadataTopic} {
		if err := s.EnsureTopic(t.Context(), name, role); err != nil {
			t.Fatal(err)
		}
	}
	for topic, want := range map[string]struct {
		partitions int
		config     map[string]string
	}{
		"data":       {3, map[string]string{"retention.ms": "1000"}},
		"metadata":   {1, map[string]string{"cleanup.policy": "compact"}},
		"checkpoint": {1, map[string]string{"cleanup.policy": "compact", "segment.bytes": "2097152", "min.cleanable.dirty.ratio": "0.1"}},
	} {
		info := servers.Cluster().TopicInfo(topic)
		if info == nil {
			t.Fatalf("topic %s was not created", topic)
		}
		if n := len(servers.Cluster().PartitionInfos(topic)); n != want.partitions {
			t.Errorf("%s has %d partitions, want %d", topic, n, want.partitions)
		}
		for name, value := range want.config {
			if got := info.Configs[name]; got == nil || *got != value {
				t.Errorf("%s: %s is %v, want %s", topic, name, got, value)
			}
		}
	}
}

func TestCase78_ReplicationFactorAboveBrokers(t *testing.T) {
	eachKafka(t, func(t *testing.T, c kafka.Config) {
		c.Data.ReplicationFactor = 3
		s := transactional(t, c, name("task"), name("checkpoint"))
		open(t, s)
		expectTable(t, s.EnsureTopic(t.Context(), name("parcel"), change.DataTopic), "replication factor 3", "1 broker")

		c.Checkpoint.ReplicationFactor = 3
		s = transactional(t, c, name("task"), name("checkpoint"))
		defer s.Close()
		_, err := s.Open(t.Context())
		if err == nil || fault.ClassOf(err) != fault.Fatal || !strings.Contains(err.Error(), "replication factor 3") {
			t.Errorf("checkpoint topic: %v", err)
		}
	})
}

func TestCase78_CreationOff(t *testing.T) {
	eachKafka(t, func(t *testing.T, c kafka.Config) {
		checkpoint := name("checkpoint")
		open(t, transactional(t, c, name("task"), checkpoint))
		no := false
		c.CreateTopics = &no
		s := transactional(t, c, name("task"), checkpoint)
		open(t, s)
		missing := name("parcel")
		expectTable(t, s.EnsureTopic(t.Context(), missing, change.DataTopic), missing)
		err := s.Publish(t.Context(), record(missing, "k", "1"))
		expectTable(t, err, missing, "shop.parcel")
		var table *change.TableError
		if !errors.As(err, &table) || table.Table != parcel {
			t.Errorf("the error does not name the table: %v", err)
		}
	})
}

func TestCase78_CheckpointTopicMustBeCompacted(t *testing.T) {
	eachKafka(t, func(t *testing.T, c kafka.Config) {
		topic := name("checkpoint")
		s := transactional(t, c, name("task"), name("other"))
		open(t, s)
		if err := s.EnsureTopic(t.Context(), topic, change.DataTopic); err != nil { // cleanup.policy=delete
			t.Fatal(err)
		}
		s = transactional(t, c, name("task"), topic)
		defer s.Close()
		_, err := s.Open(t.Context())
		if err == nil || fault.ClassOf(err) != fault.Fatal || !strings.Contains(err.Error(), topic) || !strings.Contains(fault.HintOf(err), "compact") {
			t.Errorf("got class %v: %v", fault.ClassOf(err), err)
		}
	})
}

func TestTopicNames(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{
		"shop.parcel": true, "a": true, "A_b-9.": true, "...": true, strings.Repeat("x", 249): true,
		"": false, ".": false, "..": false, "shop/parcel": false, "größe": false, "a b": false, "a\n": false, "a:b": false, strings.Repeat("x", 250): false,
	}
	servers := broker(t)
	s := transactional(t, kafka.Config{Brokers: servers.Brokers()}, "task.0", "checkpoint")
	open(t, s)
	for topic, legal := range tests {
		err := s.EnsureTopic(t.Context(), topic, change.DataTopic)
		if legal {
			if err != nil {
				t.Errorf("%q: %v", topic, err)
			}
			continue
		}
		expectTable(t, err, fmt.Sprintf("%q", topic))
	}
}

// Five tables, and the topic of the fifth may not be written to. The error names that table and no other, wherever it shows: at once, or
// only when Kafka refuses the transaction.
func TestDeniedTopicStopsOneTable(t *testing.T) {
	t.Parallel()
	for name, denied := range map[string][]kmsg.ACLOperation{
		"nothing allowed":  nil,
		"only to describe": {kmsg.ACLOperationDescribe},
	} {
		for _, kind := range []string{"transactional", "idempotent"} {
			t.Run(name+" "+kind, func(t *testing.T) {
				t.Parallel()
				c := deniedBroker(t, denied)
				s := sinkOf(t, kind, c)
				open(t, s)
				for i := range 5 {
					table := change.TableID{Schema: "shop", Name: fmt.Sprintf("t%d", i)}
					err := s.Publish(t.Context(), &change.Record{Table: table, Topic: fmt.Sprintf("topic%d", i), Key: []byte("k"), Value: []byte("v")})
					if i < 4 {
						if err != nil {
							t.Fatal(err)
						}
						continue
					}
					expectDenied(t, err, table)
				}
				if err := s.Commit(t.Context(), nil); err != nil {
					t.Errorf("the others cannot go on: %v", err)
				}
			})
		}
	}
}

// The right is taken away while records are on their way.
func TestTopicDeniedLater(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"transactional", "idempotent"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			servers := broker(t)
			s := sinkOf(t, kind, kafka.Config{Brokers: servers.Brokers()})
			open(t, s)
			publishAll := func() error {
				var err error
				for i := range 100 {
					table := change.TableID{Schema: "shop", Name: fmt.Sprintf("t%d", i%5)}
					r := &change.Record{Table: table, Topic: fmt.Sprintf("topic%d", i%5), Key: []byte("k"), Value: []byte("v")}
					if err = s.Publish(t.Context(), r); err != nil {
						return err
					}
				}
				return s.Commit(t.Context(), nil)
			}
			if err := publishAll(); err != nil {
				t.Fatal(err)
			}
			servers.Cluster().ControlKey(-1, func(r kmsg.Request) (kmsg.Response, error, bool) {
				servers.Cluster().KeepControl()
				return deny(r, "topic3")
			})
			err := publishAll()
			expectDenied(t, err, change.TableID{Schema: "shop", Name: "t3"})
		})
	}
}

// deny answers as a broker does whose user may describe a topic and not write to it.
func deny(r kmsg.Request, topic string) (kmsg.Response, error, bool) {
	const authorizationFailed = 29
	switch r := r.(type) {
	case *kmsg.AddPartitionsToTxnRequest:
		resp := r.ResponseKind().(*kmsg.AddPartitionsToTxnResponse)
		found := false
		for _, asked := range r.Topics {
			st := kmsg.NewAddPartitionsToTxnResponseTopic()
			st.Topic = asked.Topic
			for _, p := range asked.Partitions {
				sp := kmsg.NewAddPartitionsToTxnResponseTopicPartition()
				sp.Partition, sp.ErrorCode = p, 55 // OPERATION_NOT_ATTEMPTED
				if asked.Topic == topic {
					found, sp.ErrorCode = true, authorizationFailed
				}
				st.Partitions = append(st.Partitions, sp)
			}
			resp.Topics = append(resp.Topics, st)
		}
		return resp, nil, found
	case *kmsg.ProduceRequest:
		return denyProduce(r, topic, authorizationFailed)
	case *kmsg.MetadataRequest:
		if len(r.Topics) != 1 || r.Topics[0].Topic == nil || *r.Topics[0].Topic != topic || !r.IncludeTopicAuthorizedOperations {
			return nil, nil, false
		}
		resp := r.ResponseKind().(*kmsg.MetadataResponse)
		st := kmsg.NewMetadataResponseTopic()
		st.Topic, st.AuthorizedOperations = &topic, 1<<8 // describe
		resp.Topics = append(resp.Topics, st)
		return resp, nil, true
	}
	return nil, nil, false
}

func denyProduce(r *kmsg.ProduceRequest, topic string, code int16) (kmsg.Response, error, bool) {
	resp := r.ResponseKind().(*kmsg.ProduceResponse)
	found := false
	for _, asked := range r.Topics {
		st := kmsg.NewProduceResponseTopic()
		st.Topic = asked.Topic
		found = found || asked.Topic == topic
		for _, p := range asked.Partitions {
			sp := kmsg.NewProduceResponseTopicPartition()
			sp.Partition = p.Partition
			if asked.Topic == topic {
				sp.ErrorCode = code
			}
			st.Partitions = append(st.Partitions, sp)
		}
		resp.Topics = append(resp.Topics, st)
	}
	return resp, nil, found
}

func expectDenied(t *testing.T, err error, table change.TableID) {
	t.Helper()
	var concerned *change.TableError
	if !errors.As(err, &concerned) || concerned.Table != table || fault.ClassOf(err) != fault.Table || !strings.Contains(fault.HintOf(err), "grant") {
		t.Errorf("want an error of table %v with the grant it needs, got %v", table, err)
	}
}

// deniedBroker lets the user do everything but what it leaves out on topic4.
func deniedBroker(t *testing.T, onTopic4 []kmsg.ACLOperation) kafka.Config {
	t.Helper()
	acls := allow(kmsg.ACLResourceTypeTransactionalId, "task.0", kmsg.ACLOperationAll)
	acls = append(acls, allow(kmsg.ACLResourceTypeCluster, "kafka-cluster", kmsg.ACLOperationIdempotentWrite)...)
	for _, topic := range []string{"checkpoint", "topic0", "topic1", "topic2", "topic3"} {
		acls = append(acls, allow(kmsg.ACLResourceTypeTopic, topic, kmsg.ACLOperationAll)...)
	}
	acls = append(acls, allow(kmsg.ACLResourceTypeTopic, "topic4", onTopic4...)...)
	servers := broker(t, kfake.EnableSASL(), kfake.EnableACLs(), kfake.User("PLAIN", "bridge", secret, acls...))
	for _, topic := range []string{"topic0", "topic1", "topic2", "topic3", "topic4"} {
		if err := servers.Cluster().CreateTopic(topic, 2, nil); err != nil {
			t.Fatal(err)
		}
	}
	return kafka.Config{Brokers: servers.Brokers(), SASL: kafka.SASL{Mechanism: "PLAIN", Username: "bridge", Password: secret}}
}

func sinkOf(t *testing.T, kind string, c kafka.Config) sinktest.Sink {
	t.Helper()
	if kind == "idempotent" {
		return idempotent(t, c, &memory.Store{})
	}
	return transactional(t, c, "task.0", "checkpoint")
}

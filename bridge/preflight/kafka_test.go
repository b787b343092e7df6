package preflight

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/bridge/preflight/facts"
)

func TestKafkaChecks(t *testing.T) {
	t.Parallel()
	topic := func(c *facts.Cluster, name string, role change.TopicRole, edit func(*facts.Topic)) {
		one := healthy(name, role)
		edit(&one)
		c.Topics = append(c.Topics, one)
	}
	missing := func(name string, role change.TopicRole, err error) facts.Topic {
		return facts.Topic{Name: name, Role: role, Err: err, New: map[string]string{"partitions": "6", "replication.factor": "-1", "retention.ms": "100"}}
	}
	for name, c := range map[string]struct {
		check  string
		change func(w *World, c *facts.Cluster)
		want   []want
	}{
		"reached": {"reach", func(*World, *facts.Cluster) {}, []want{{Pass, "brokers", "3 brokers: a:9092, b:9092, c:9092", ""}}},
		"settings hidden": {"reach", func(_ *World, c *facts.Cluster) { c.Hidden, c.Settings = denied("not authorised"), nil },
			[]want{{Pass, "brokers", "", ""}, {Warn, "brokers", "not authorised", "kafka-acls --bootstrap-server a:9092 --add --allow-principal User:task --operation DescribeConfigs --cluster"}}},
		"version":   {"version", func(*World, *facts.Cluster) {}, []want{{Pass, "kafka.version 3.6.0", "Kafka 3.7 or later", ""}}},
		"too new":   {"version", func(w *World, _ *facts.Cluster) { w.Task.Kafka.Version = "3.9.0" }, []want{{Fail, "kafka.version 3.9.0", "3.7 to 3.8", "oldest broker"}}},
		"newest":    {"version", func(_ *World, c *facts.Cluster) { c.Oldest, c.Newest = "4.1", "" }, []want{{Pass, "kafka.version 3.6.0", "4.1", ""}}},
		"10 is > 9": {"version", func(w *World, c *facts.Cluster) { w.Task.Kafka.Version, c.Newest = "3.10.1", "3.9" }, []want{{Fail, "kafka.version 3.10.1", "", ""}}},
		"topics":    {"topics", func(*World, *facts.Cluster) {}, []want{{Pass, "3 topics", "exist", ""}}},
		"new topic": {"topics", func(_ *World, c *facts.Cluster) {
			c.Topics = append(c.Topics, missing("shop.parcel", change.DataTopic, nil))
		},
			[]want{{Pass, "2 topics", "exist", ""}, {Pass, "1 topic", "may be made", ""}}},
		"may not be made": {"topics", func(w *World, c *facts.Cluster) {
			w.Task.Kafka.CreateTopics = false
			c.Topics = append(c.Topics, missing("shop.parcel", change.DataTopic, denied("unknown topic")))
		}, []want{{Fail, "shop.parcel", "unknown topic", "kafka-topics --bootstrap-server a:9092 --create --topic shop.parcel --partitions 6 --config retention.ms=100"}, {Pass, "2 topics", "", ""}}},
		"no right to make": {"topics", func(_ *World, c *facts.Cluster) {
			c.Topics = append(c.Topics, missing("shop.parcel", change.DataTopic, denied("not authorised")))
		}, []want{{Fail, "shop.parcel", "not authorised", "--operation Create --operation Describe --operation Write --topic shop.parcel"}, {Pass, "2 topics", "", ""}}},
		"no right to write": {"topics", func(_ *World, c *facts.Cluster) {
			topic(c, "cp", change.CheckpointTopic, func(t *facts.Topic) { t.Err = denied("not authorised") })
		}, []want{{Fail, "cp", "not authorised", "--operation Describe --operation Write --operation Read --topic cp"}, {Pass, "2 topics", "", ""}}},
		"leaderless": {"topics", func(_ *World, c *facts.Cluster) {
			topic(c, "cp", change.CheckpointTopic, func(t *facts.Topic) { t.Leaderless = 1 })
		},
			[]want{{Fail, "cp", "1 of 3 partitions have no leader", "away"}, {Pass, "2 topics", "", ""}}},
		"replicated": {"replication", func(*World, *facts.Cluster) {}, []want{{Pass, "3 topics", "one replica to spare", ""}}},
		"more in sync than there are": {"replication", func(_ *World, c *facts.Cluster) {
			topic(c, "cp", change.CheckpointTopic, func(t *facts.Topic) { t.Replicas, t.InSync = 1, 1 })
		}, []want{{Fail, "cp", "min.insync.replicas is 2 and there are 1 replica", "--entity-name cp --add-config min.insync.replicas=1"}, {Pass, "2 topics", "", ""}}},
		"out of sync": {"replication", func(_ *World, c *facts.Cluster) {
			topic(c, "cp", change.CheckpointTopic, func(t *facts.Topic) { t.InSync = 1 })
		},
			[]want{{Fail, "cp", "1 of 3 replicas in sync", "away"}, {Pass, "2 topics", "", ""}}},
		"none to spare": {"replication", func(_ *World, c *facts.Cluster) {
			topic(c, "cp", change.CheckpointTopic, func(t *facts.Topic) { t.Settings["min.insync.replicas"] = "3" })
		}, []want{{Warn, "cp", "one broker that is away stops the task", "spare"}, {Pass, "2 topics", "", ""}}},
		"one replica": {"replication", func(_ *World, c *facts.Cluster) {
			topic(c, "cp", change.CheckpointTopic, func(t *facts.Topic) { t.Replicas, t.InSync, t.Settings = 1, 1, nil })
		}, []want{{Warn, "cp", "the checkpoint with it", "replication factor"}, {Pass, "2 topics", "", ""}}},
		"policies": {"cleanup", func(*World, *facts.Cluster) {}, []want{{Pass, "3 topics", "fit their use", ""}}},
		"checkpoint is deleted": {"cleanup", func(_ *World, c *facts.Cluster) {
			topic(c, "cp", change.CheckpointTopic, func(t *facts.Topic) { t.Settings["cleanup.policy"] = "delete" })
		}, []want{{Fail, "cp", "would be lost", "cleanup.policy=compact"}}},
		"metadata is deleted": {"cleanup", func(w *World, c *facts.Cluster) {
			w.Task.Topics["meta"] = change.MetadataTopic
			topic(c, "meta", change.MetadataTopic, func(t *facts.Topic) { t.Settings["cleanup.policy"] = "delete" })
		}, []want{{Warn, "meta", "schemas of messages", "cleanup.policy=compact"}}},
		"letters are deleted": {"cleanup", func(w *World, c *facts.Cluster) {
			w.Task.Topics["letters"] = change.DeadLetterTopic
			topic(c, "letters", change.DeadLetterTopic, func(t *facts.Topic) { t.Settings["cleanup.policy"], t.Settings["retention.ms"] = "delete", "1000" })
		}, []want{{Warn, "letters", "retention.ms 1000", "retention.ms=-1"}}},
		"letters are compacted": {"cleanup", func(w *World, c *facts.Cluster) {
			w.Task.Topics["letters"] = change.DeadLetterTopic
			topic(c, "letters", change.DeadLetterTopic, func(*facts.Topic) {})
		}, []want{{Warn, "letters", "policy is compact", "cleanup.policy=delete"}}},
		"small letters": {"size", func(w *World, c *facts.Cluster) {
			w.Task.Topics["letters"] = change.DeadLetterTopic
			topic(c, "letters", change.DeadLetterTopic, func(*facts.Topic) {})
		}, []want{{Warn, "letters", "bad_records.max_bytes is 8 MiB", "max.message.bytes=8388608"}, {Pass, "3 topics", "", ""}}},
		"data is compacted": {"cleanup", func(_ *World, c *facts.Cluster) {
			topic(c, "shop.parcel", change.DataTopic, func(t *facts.Topic) { t.Settings["cleanup.policy"] = "compact,delete" })
		}, []want{{Warn, "shop.parcel", "only the last change", ""}}},
		"compacted without keys": {"cleanup", func(w *World, c *facts.Cluster) {
			w.Layout.(*layout).found.Tables = append(w.Layout.(*layout).found.Tables, captured(scan))
			topic(c, "shop.scan", change.DataTopic, func(t *facts.Topic) { t.Settings["cleanup.policy"] = "compact" })
		}, []want{{Fail, "shop.scan", "records of shop.scan have no key", "source.keys"}}},
		"sizes": {"size", func(*World, *facts.Cluster) {}, []want{{Pass, "3 topics", "1 MiB", ""}}},
		"small topic": {"size", func(_ *World, c *facts.Cluster) {
			topic(c, "shop.parcel", change.DataTopic, func(t *facts.Topic) { t.Settings["max.message.bytes"] = "1000" })
		}, []want{{Fail, "shop.parcel", "1000 bytes at most", "--entity-name shop.parcel --add-config max.message.bytes=1048576"}, {Pass, "2 topics", "", ""}}},
		"small brokers": {"size", func(w *World, c *facts.Cluster) {
			w.Task.Kafka.MaxMessageBytes = 8 << 20
			c.Settings["replica.fetch.max.bytes"] = "1048576"
			own := missing("shop.parcel", change.DataTopic, nil)
			own.New["max.message.bytes"] = "8388608"
			c.Topics = append(c.Topics, own, missing("shop.depot", change.DataTopic, nil), healthy("cp", change.CheckpointTopic))
		}, []want{{Fail, "cp", "1.0 MiB at most", ""}, {Fail, "1 new topic", "message.max.bytes", `max.message.bytes: "8388608"`}, {Warn, "brokers", "one by one", ""}, {Pass, "1 topic", "", ""}}},
		"no transactions": {"transactions", func(*World, *facts.Cluster) {}, nil},
		"transactions": {"transactions", func(_ *World, c *facts.Cluster) {
			c.Transactions = []facts.Transactions{{ID: "ctbridge.orders.0", Coordinator: "b:9092", State: "Ongoing"}}
		}, []want{{Pass, "ctbridge.orders.0", "b:9092; a transaction is open", ""}}},
		"transactions denied": {"transactions", func(_ *World, c *facts.Cluster) {
			c.Transactions = []facts.Transactions{{ID: "ctbridge.orders.0", Err: denied("not authorised")}, {ID: "ctbridge.orders.1"}}
			c.Settings["transaction.max.timeout.ms"] = "1000"
		}, []want{{Fail, "kafka.transaction_timeout", "1m0s is more than", ""}, {Fail, "ctbridge.orders.0", "not authorised", "--operation Describe --operation Write --transactional-id ctbridge.orders.0"}, {Pass, "1 transactional id", "answer", ""}}},
		"no group":    {"group", func(*World, *facts.Cluster) {}, nil},
		"empty group": {"group", func(_ *World, c *facts.Cluster) { c.Group = &facts.Group{ID: "g"} }, []want{{Pass, "g", "no replica", ""}}},
		"group":       {"group", func(_ *World, c *facts.Cluster) { c.Group = &facts.Group{ID: "g", Members: 2} }, []want{{Pass, "g", "2 replicas", ""}}},
		"group denied": {"group", func(_ *World, c *facts.Cluster) { c.Group = &facts.Group{ID: "g", Err: denied("not authorised")} },
			[]want{{Fail, "g", "not authorised", "--operation Read --operation Describe --group g"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, _, _, cluster := world()
			c.change(w, cluster)
			compare(t, name, examine(t, w, AreaKafka, c.check), c.want)
		})
	}
}

func TestRegistryChecks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		check  string
		change func(w *World, r *registry)
		want   []want
	}{
		"none":      {"reach", func(w *World, _ *registry) { w.Registry = nil }, nil},
		"reached":   {"reach", func(*World, *registry) {}, []want{{Pass, "http://r", "answers", ""}}},
		"away":      {"reach", func(_ *World, r *registry) { r.err = denied("401") }, []want{{Fail, "http://r", "401", "ask for it"}}},
		"away once": {"schemas", func(_ *World, r *registry) { r.err = denied("401") }, nil},
		"read only": {"mode", func(_ *World, r *registry) { r.mode = "READONLY" }, []want{{Fail, "mode", "READONLY", "READWRITE"}}},
		"import":    {"mode", func(_ *World, r *registry) { r.mode = "IMPORT" }, []want{{Warn, "mode", "IMPORT", ""}}},
		"no modes":  {"mode", func(_ *World, r *registry) { r.mode = "" }, []want{{Pass, "mode", "no modes", ""}}},
		"new":       {"schemas", func(*World, *registry) {}, []want{{Pass, "2 schemas", "would take them", ""}}},
		"known":     {"schemas", func(_ *World, r *registry) { r.known = map[string]int{"shop.parcel-value": 5} }, []want{{Pass, "1 schema", "registered already", ""}, {Pass, "1 schema", "new", ""}}},
		"refused": {"schemas", func(_ *World, r *registry) {
			r.newest = map[string]string{"shop.parcel-value": `"int"`, "shop.depot-value": `"int"`}
			r.refuses = map[string][]string{"shop.parcel-value": {"a\n  b"}}
		}, []want{{Fail, "shop.parcel-value", "under BACKWARD: a b", "ctbridge plan"}, {Pass, "1 schema", "new", ""}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, _, _, _ := world()
			r := &registry{mode: "READWRITE"}
			w.Registry = r
			c.change(w, r)
			compare(t, name, examine(t, w, AreaRegistry, c.check), c.want)
		})
	}
}

func TestAge(t *testing.T) {
	t.Parallel()
	for d, text := range map[time.Duration]string{
		0: "0s", 999 * time.Millisecond: "1s", -3 * time.Second: "-3s", 61 * time.Second: "1m1s", 3*time.Hour + 5*time.Minute: "3h5m", 30 * time.Hour: "1d6h", 300 * 24 * time.Hour: "300 days",
	} {
		if got := age(d); got != text {
			t.Errorf("%v: %s, want %s", d, got, text)
		}
	}
	for n, text := range map[int64]string{1000: "1000 bytes", 2048: "2 KiB", 1 << 20: "1 MiB", 3 << 19: "1.5 MiB", 2 << 30: "2 GiB"} {
		if got := sizeText(n); got != text {
			t.Errorf("%d: %s, want %s", n, got, text)
		}
	}
}

func TestShellWords(t *testing.T) {
	t.Parallel()
	for word, quoted := range map[string]string{"a.b-c_1": "a.b-c_1", "User:CN=x,O=y": "User:CN=x,O=y", "a b": "'a b'", "it's": `'it'\''s'`, "": "''", "$(x)": "'$(x)'"} {
		if got := shell(word); got != quoted {
			t.Errorf("%s: %s, want %s", word, got, quoted)
		}
	}
}

// A registry in trouble is asked about one schema, not about all.
func TestTroubledRegistryIsAskedOnce(t *testing.T) {
	t.Parallel()
	w, _, _, _ := world()
	r := &troubled{}
	w.Registry = r
	got := examine(t, w, AreaRegistry, "schemas")
	compare(t, "schemas", got, []want{{Fail, "shop.depot-value", "boom", ""}})
	p, err := NewPlan(t.Context(), w)
	if err != nil || r.asked != 2 || len(p.Unknown) != 1 || !strings.Contains(p.Unknown[0], "boom") {
		t.Errorf("%d questions, %v, %+v", r.asked, err, p)
	}
}

type troubled struct {
	registry
	asked int
}

func (r *troubled) Lookup(context.Context, string, string) (int, bool, error) {
	r.asked++
	return 0, false, fault.New(fault.Retry, "", errors.New("boom"), "")
}

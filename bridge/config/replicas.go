package config

import "time"

// Orderings.
const (
	OrderingTask  = "task"
	OrderingTable = "table"
)

// HighAvailability says how replicas find each other.
type HighAvailability struct {
	Enabled        bool          `yaml:"enabled" default:"true" doc:"Join the group of the task's replicas, so that they take over from each other and a second process started by mistake only waits. false is for brokers that grant no groups: then two processes of one task must never run. Without effect where the checkpoint is not in Kafka: such a task is one process."`
	Group          string        `yaml:"group" default:"ctbridge.{task}" doc:"Consumer group of the replicas, over {task}. It holds no offsets."`
	Topic          string        `yaml:"topic" default:"ctbridge.{task}.shards" doc:"Topic whose partitions stand for the shards in that group, over {task}. Nothing is written to it; it lets the tools of Kafka show who runs what."`
	SessionTimeout time.Duration `yaml:"session_timeout" default:"6s" min:"1s" max:"10m" doc:"After so long without a sign of life a replica is taken for dead. The brokers' group.min.session.timeout.ms (6 s unless changed) is the least."`
}

// ShardCount is how many shards the task is divided into.
func (t *Task) ShardCount() int {
	if t.Ordering == OrderingTable {
		return t.Shards
	}
	return 1
}

// Replicated tells whether processes of this task take over from each other.
func (t *Task) Replicated() bool {
	return t.HighAvailability.Enabled && t.Checkpoint.Store == StoreKafka
}

func (r *rules) checkReplicas() {
	if r.broken("ordering") {
		return
	}
	if r.Ordering == OrderingTask {
		r.noEffect("with ordering task, which is one shard", "set ordering: table, or remove it", "shards")
	}
	if r.Ordering == OrderingTable && r.Checkpoint.Store != StoreKafka {
		r.wrong("ordering", "use checkpoint.store: kafka", "is impossible with store %s: shards need one checkpoint that fences", r.Checkpoint.Store)
	}
	if r.Ordering == OrderingTable && r.Debezium.TransactionTopic != "" {
		r.wrong("debezium.transaction_topic", "use ordering: task, or remove it", "is impossible with ordering table: each shard knows a part of a transaction")
	}
	const at = "high_availability."
	switch {
	case !r.HighAvailability.Enabled:
		r.noEffect("without high availability", "set high_availability.enabled: true", at+"group", at+"topic", at+"session_timeout")
	case r.Checkpoint.Store != StoreKafka:
		r.noEffect("with store "+r.Checkpoint.Store, "use checkpoint.store: kafka", at+"enabled", at+"group", at+"topic", at+"session_timeout")
	}
	if r.HighAvailability.Group == "" {
		r.wrong(at+"group", "remove it for ctbridge.{task}", "is empty")
	}
}

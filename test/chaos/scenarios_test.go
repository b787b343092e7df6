package chaos

import (
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ctbridge/test/chaos/proxy"
	"ctbridge/test/stack/servers"
)

const (
	inFile      = "delivery: at_least_once\ncheckpoint: {store: file, path: \"{dir}/checkpoint\"}\n"
	atLeastOnce = "delivery: at_least_once\n"
)

// Texts in the statements of the bridge, by which a proxy knows the moment.
const (
	discovery = "pg_attribute"
	reading   = "LIMIT $3" // pages alone have three arguments
)

func scenarios() []scenario {
	var all []scenario
	for _, group := range [][]scenario{processes(), databases(), brokers(), transactions(), registries(), idles(), others(), cluster()} {
		all = append(all, group...)
	}
	return all
}

func processes() []scenario {
	return []scenario{
		{name: "kill -9", daily: true, runs: 5, fault: kills},
		{name: "kill -9, MariaDB", engine: "mysql", runs: 3, fault: kills},
		{name: "kill -9, SQLite", engine: "sqlite", runs: 3, fault: kills},
		{name: "kill -9, at_least_once", config: atLeastOnce, runs: 3, fault: kills},
		{name: "kill -9, checkpoint in a file", config: inFile, runs: 3, fault: kills},
		{name: "SIGTERM", runs: 3, fault: func(st *stage) { st.drain(); st.start(); st.lift() }},
		{name: "SIGSTOP for a minute", soak: true, fault: func(st *stage) {
			st.signal(syscall.SIGSTOP)
			st.endures(2*time.Second, time.Minute)
			st.signal(syscall.SIGCONT)
		}},
		{name: "second instance", fault: secondInstance},
		{name: "clock jumps", arm: crookedClock, fault: func(st *stage) { st.endures(12*time.Second, 12*time.Second) }},
		{name: "source's clock jumps", daily: true, arm: func(st *stage) { st.work.stamp = crookedStamp }, fault: func(st *stage) { st.flows(200) }},
	}
}

func databases() []scenario {
	cut := func(c proxy.Cut) func(*stage) {
		return func(st *stage) { st.happens(st.database.CutAt(c).Fired()) }
	}
	early := func(name string, c proxy.Cut) scenario {
		var armed *proxy.Cut
		return scenario{name: name, runs: 2, arm: func(st *stage) { armed = st.database.CutAt(c) }, fault: func(st *stage) { st.happens(armed.Fired()) }}
	}
	return []scenario{
		{name: "database restart", soak: true, daily: true, alone: true, runs: 2, fault: func(st *stage) { st.control((*servers.Stack).Restart, servers.Postgres) }},
		{name: "database crash", alone: true, runs: 2, fault: func(st *stage) { st.crash(servers.Postgres, 10*time.Second) }},
		{name: "database crash, MariaDB", alone: true, engine: "mysql", runs: 2, fault: func(st *stage) { st.crash(servers.MariaDB, 10*time.Second) }},
		{name: "database frozen", alone: true, fault: func(st *stage) { st.freeze(servers.Postgres) }},
		{name: "database's network cut", soak: true, daily: true, runs: 3, fault: func(st *stage) { st.database.CutAll() }},
		{name: "database's network cut, MariaDB", engine: "mysql", runs: 3, fault: func(st *stage) { st.database.CutAll() }},
		{name: "sessions ended by pg_terminate_backend", soak: true, runs: 2, fault: terminate},
		{name: "database's network stalls", soak: true, fault: func(st *stage) {
			st.database.Stall()
			st.endures(2*time.Second, time.Minute)
			st.database.Flow()
		}},
		{name: "database refuses at the start", daily: true, arm: func(st *stage) { st.database.Refuse() }, fault: func(st *stage) {
			st.endures(time.Second, 20*time.Second)
			st.database.Admit()
		}},
		{name: "database refuses later", fault: func(st *stage) {
			st.database.Refuse()
			st.database.CutAll()
			st.endures(time.Second, time.Minute)
			st.database.Admit()
		}},
		early("database lost at the first connect", proxy.Cut{}),
		early("database lost at the log-in", proxy.Cut{Nth: 2}),
		early("database lost at discovery", proxy.Cut{Text: discovery}),
		early("database lost in an answer to discovery", proxy.Cut{Text: discovery, After: 100}),
		early("database lost at the first fetch", proxy.Cut{Text: reading}),
		early("database lost in mid-fetch", proxy.Cut{Text: reading, After: 700}),
		{name: "database lost at any later fetch", soak: true, runs: 3, fault: func(st *stage) {
			st.database.CutAll() // statements are told by their text once a connection
			cut(proxy.Cut{Text: reading, Nth: 1 + st.random.IntN(3), After: 1 + st.random.IntN(2000)})(st)
		}},
	}
}

func brokers() []scenario {
	breaks := func(r proxy.Rule) func(*stage) {
		return func(st *stage) {
			r.Nth = 1 + st.random.IntN(10)
			st.happens(st.broker.Break(r).Fired())
		}
	}
	return []scenario{
		{name: "broker restart", soak: true, daily: true, alone: true, runs: 2, fault: func(st *stage) { st.control((*servers.Stack).Restart, servers.Kafka) }},
		{name: "broker outage", alone: true, fault: func(st *stage) { st.crash(servers.Kafka, 10*time.Minute) }},
		{name: "broker outage, at_least_once", alone: true, config: atLeastOnce, fault: func(st *stage) { st.crash(servers.Kafka, 30*time.Second) }},
		{name: "broker frozen", alone: true, fault: func(st *stage) { st.freeze(servers.Kafka) }},
		{name: "broker's network cut", soak: true, daily: true, runs: 3, fault: func(st *stage) { st.broker.CutAll() }},
		{name: "broker's network stalls", soak: true, fault: func(st *stage) {
			st.broker.Stall()
			st.endures(2*time.Second, time.Minute)
			st.broker.Flow()
		}},
		{name: "broker refuses at the start", arm: func(st *stage) { st.broker.Refuse() }, fault: func(st *stage) {
			st.endures(time.Second, 20*time.Second)
			st.broker.Admit()
		}},
		{name: "produce lost before the broker has it", soak: true, runs: 3, fault: breaks(proxy.Rule{Key: kmsg.Produce, Act: proxy.CutBefore})},
		{name: "produce lost after the append", soak: true, daily: true, runs: 3, fault: breaks(proxy.Rule{Key: kmsg.Produce, Act: proxy.CutAfter, Count: 3})},
		{name: "produce lost after the append, at_least_once", config: atLeastOnce, runs: 3, fault: breaks(proxy.Rule{Key: kmsg.Produce, Act: proxy.CutAfter, Count: 3})},
		{name: "produce appended, never answered", fault: breaks(proxy.Rule{Key: kmsg.Produce, Act: proxy.Swallow})},
		{name: "leaders change, three brokers", engine: "sqlite", threeBrokers: true, daily: true, runs: 3, fault: func(st *stage) {
			for range 20 {
				st.embedded.Cluster().ShufflePartitionLeaders()
				st.flows(10)
			}
		}},
		{name: "NOT_ENOUGH_REPLICAS", soak: true, daily: true, runs: 2, fault: notEnoughReplicas},
	}
}

// transactions are faults of Kafka's transactions, in which the checkpoint is.
func transactions() []scenario {
	breaks := func(r proxy.Rule) func(*stage) {
		return func(st *stage) {
			r.Nth = 1 + st.random.IntN(5)
			st.happens(st.broker.Break(r).Fired())
		}
	}
	opening := func(name string, r proxy.Rule) scenario {
		var armed *proxy.Rule
		return scenario{name: name, arm: func(st *stage) { armed = st.broker.Break(r) }, fault: func(st *stage) { st.happens(armed.Fired()) }}
	}
	return []scenario{
		{name: "commit lost before the broker has it", soak: true, runs: 3, fault: breaks(proxy.Rule{Key: kmsg.EndTxn, Act: proxy.CutBefore})},
		{name: "commit done, answer lost", soak: true, daily: true, runs: 3, fault: breaks(proxy.Rule{Key: kmsg.EndTxn, Act: proxy.CutAfter})},
		{name: "commit done, answer lost three times", soak: true, runs: 3, fault: breaks(proxy.Rule{Key: kmsg.EndTxn, Act: proxy.CutAfter, Count: 3})},
		{name: "partitions added to a transaction, answer lost", runs: 2, fault: breaks(proxy.Rule{Key: kmsg.AddPartitionsToTxn, Act: proxy.CutAfter})},
		{name: "coordinator moved", soak: true, runs: 2, fault: breaks(proxy.Rule{Key: kmsg.EndTxn, Act: proxy.Answer, Code: kerr.NotCoordinator.Code, Count: 3})},
		{name: "coordinator away", runs: 2, fault: breaks(proxy.Rule{Key: kmsg.EndTxn, Act: proxy.Answer, Code: kerr.CoordinatorNotAvailable.Code, Count: 3})},
		{name: "coordinators change, three brokers", engine: "sqlite", threeBrokers: true, runs: 2, fault: func(st *stage) {
			for range 10 {
				st.embedded.Cluster().RehashCoordinators()
				st.flows(10)
			}
		}},
		{name: "producer fenced", soak: true, daily: true, runs: 3, fault: fence},
		{name: "producer fenced, by the broker's word alone", runs: 2, fault: breaks(proxy.Rule{Key: kmsg.EndTxn, Act: proxy.Answer, Code: kerr.ProducerFenced.Code})},
		opening("transactional id opened, answer lost", proxy.Rule{Key: kmsg.InitProducerID, Act: proxy.CutAfter}),
		opening("checkpoint lost in mid-read", proxy.Rule{Key: kmsg.Fetch, Act: proxy.CutAfter}),
		{name: "checkpoint lost in mid-read of a restart", runs: 2, fault: func(st *stage) {
			st.kill()
			r := st.broker.Break(proxy.Rule{Key: kmsg.Fetch, Act: proxy.CutAfter, Count: 2})
			st.start()
			st.happens(r.Fired())
		}},
		{name: "member thrown out of the group", fault: breaks(proxy.Rule{Key: kmsg.Heartbeat, Act: proxy.Answer, Code: kerr.UnknownMemberID.Code})},
	}
}

func registries() []scenario {
	return []scenario{
		{name: "registry away when a table comes", daily: true, avro: true, runs: 2, fault: registryFault(proxy.Gone)},
		{name: "registry stores and answers 500", avro: true, runs: 2, fault: registryFault(proxy.FailAfter)},
		{name: "registry answers 409", avro: true, runs: 2, fault: registryFault(proxy.Conflict)},
		{name: "registry away at the start", avro: true, arm: func(st *stage) { st.registry.Set(proxy.Gone) }, fault: func(st *stage) {
			st.endures(time.Second, 20*time.Second)
			st.registry.Set(proxy.Well)
		}},
		{name: "registry crash", alone: true, avro: true, fault: func(st *stage) {
			eventually(st, time.Minute, func() bool { return len(st.read.partitions()) == 3 }, func() string { return "the reader to have all schemas" })
			st.control((*servers.Stack).Kill, servers.Registry)
			st.flows(100)
			st.control((*servers.Stack).Start, servers.Registry)
		}},
	}
}

// idles are times in which nothing happens, which is when connections get lost.
func idles() []scenario {
	return []scenario{
		{name: "nothing for a minute", fault: silence(func(*stage) {})},
		{name: "nothing for a minute, idle_session_timeout", poll: "3s", dsn: "idle_session_timeout=1000", fault: silence(func(*stage) {})},
		{name: "nothing for a minute, wait_timeout of MariaDB", engine: "mysql", poll: "3s", dsn: "wait_timeout=1", fault: silence(func(*stage) {})},
		{name: "nothing for a minute, the broker's connections cut", fault: silence(func(st *stage) { st.broker.CutAll() })},
		{name: "nothing for a minute, a firewall forgets the database", poll: "1s", patience: 4 * time.Minute, fault: silence(func(st *stage) { st.database.Forget() })},
		{name: "nothing for a minute, a firewall forgets the database, MariaDB", engine: "mysql", poll: "1s", dsn: "readTimeout=10s", fault: silence(func(st *stage) { st.database.Forget() })},
		{name: "nothing for a minute, a firewall forgets the broker", patience: 4 * time.Minute, fault: silence(func(st *stage) { st.broker.Forget() })},
		{name: "consumers frozen", fault: frozenConsumers},
	}
}

func others() []scenario {
	return []scenario{
		{name: "large transaction", daily: true, alone: true, allowed: largeMemory, patience: 20 * time.Minute, fault: largeTransaction},
		{name: "disk of the checkpoint full", daily: true, config: inFile, disk: true, fault: fullDisk},
		{name: "1,000 tables, three active", threeBrokers: true, arm: idleTables, fault: func(st *stage) { st.endures(2*time.Second, 10*time.Second) }},
		{name: "1,000 tables, one active, real broker", alone: true, discover: "1h", arm: manyTables, fault: oneActive},
	}
}

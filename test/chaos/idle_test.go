package chaos

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ctbridge/test/chaos/proxy"
	"ctbridge/test/stack/servers"
)

// silence lets the source give nothing for a while, in which a connection may get lost; then it gives again.
func silence(meanwhile func(*stage)) func(*stage) {
	return func(st *stage) {
		st.hush()
		meanwhile(st)
		st.endures(5*time.Second, time.Minute)
		st.mustLive()
		st.work.quiet.Store(false)
	}
}

// hush stops the writer and waits until all has been read that it wrote.
func (st *stage) hush() {
	st.Helper()
	st.work.quiet.Store(true)
	eventually(st, time.Minute, func() bool {
		st.mustLive()
		_, events, _ := st.work.sums()
		distinct, _ := st.read.state()
		return distinct >= events
	}, func() string { return "all that was written before the silence" })
}

// frozenConsumers hold connections and a group, and have asked for committed records whose arrival they do not even look at.
func frozenConsumers(st *stage) {
	between := st.proxy(proxy.NewKafka(os.Getenv(servers.KafkaVariable)))
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for i := range 3 {
		options := []kgo.Opt{kgo.SeedBrokers(between.Addr()), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.ConsumeRegex(),
			kgo.ConsumeTopics("^" + regexp.QuoteMeta(st.task) + `\.`), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart())}
		if i > 0 {
			options = append(options, kgo.ConsumerGroup(st.task+"-frozen"))
		}
		client, err := kgo.NewClient(options...)
		if err != nil {
			st.Fatal(err)
		}
		st.Cleanup(client.Close)
		if i < 2 && client.PollFetches(ctx).NumRecords() == 0 {
			st.Fatal("a consumer got nothing before it froze")
		}
	}
	between.Stall()
	st.Cleanup(between.Flow) // before the clients are closed, which say goodbye
	st.flows(200)
	st.endures(2*time.Second, time.Minute)
	st.flows(200)
}

// manyTables makes a thousand tables in which nothing happens, and one in which everything does.
func manyTables(st *stage) {
	begin := time.Now()
	st.create("late")
	st.work.lateShare.Store(1)
	idleTables(st)
	st.Logf("1,000 tables made in %.1f s", time.Since(begin).Seconds())
	st.Cleanup(st.dropTopics)
}

// oneActive waits for the long first start, in which each table gets a topic, and counts statements when all is calm.
func oneActive(st *stage) {
	eventually(st, 15*time.Minute, func() bool { st.mustLive(); return strings.Contains(st.log.String(), "msg=started") }, func() string { return "the start: " + st.log.tail() })
	st.Logf("start with 1,004 tables: %s", steps(st.log.String()))
	st.flows(500)
	st.hush()
	polls := st.polls()
	st.database.Count(readyForQuery)
	const seconds = 15
	<-time.After(seconds * time.Second)
	polls, answers := st.polls()-polls, st.database.Counted()
	st.Logf("%.0f polls with %d statements in %d s", polls, answers, seconds)
	used := usedTables(st)
	if polls < 5 || float64(answers) > polls+float64(used*(seconds+1))+1 { // a look-back a second and used table, and one of each may be under way
		st.Errorf("%d statements in %.0f polls of %d used tables", answers, polls, used)
	}
	st.work.quiet.Store(false)
}

// usedTables counts the tables that have rows: the writer may have begun before it was told to write into one alone.
func usedTables(st *stage) (n int) {
	for _, table := range allTables {
		var used bool
		if err := st.work.db.DB.QueryRow("SELECT EXISTS (SELECT 1 FROM " + table + "__ct)").Scan(&used); err != nil {
			st.Fatal(err)
		}
		if used {
			n++
		}
	}
	return n
}

var logTime = regexp.MustCompile(`(?m)^time=(\S+) .*$`)

// steps tells from the log how long a start was at what.
func steps(log string) string {
	at := func(text string, last bool) time.Time {
		var found time.Time
		for _, line := range logTime.FindAllStringSubmatch(log, -1) {
			if strings.Contains(line[0], text) && (last || found.IsZero()) {
				found, _ = time.Parse(time.RFC3339, line[1])
			}
		}
		return found
	}
	begin, first, last, end := at("msg=starting", false), at("table begins", false), at("table begins", true), at("msg=started", true)
	return fmt.Sprintf("%.1f s to the first table, %.1f s to the last, %.1f s to the end of the start", first.Sub(begin).Seconds(), last.Sub(begin).Seconds(), end.Sub(begin).Seconds())
}

// readyForQuery ends each of PostgreSQL's answers (manual, "Message Formats").
const readyForQuery = "Z\x00\x00\x00\x05I"

func (st *stage) polls() float64 {
	st.Helper()
	n, ok := st.metric("ctbridge_poll_duration_seconds_count")
	if !ok {
		st.Fatal("the metrics do not answer")
	}
	return n
}

// dropTopics spares later scenarios a broker with thousands of partitions.
func (st *stage) dropTopics() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	client, err := kgo.NewClient(kgo.SeedBrokers(os.Getenv(servers.KafkaVariable)))
	if err != nil {
		st.Error(err)
		return
	}
	defer client.Close()
	all, err := kmsg.NewPtrMetadataRequest().RequestWith(ctx, client)
	if err != nil {
		st.Error(err)
		return
	}
	request := kmsg.NewPtrDeleteTopicsRequest()
	request.TimeoutMillis = 60000
	for _, t := range all.Topics {
		if strings.HasPrefix(*t.Topic, st.task+".") {
			topic := kmsg.NewDeleteTopicsRequestTopic()
			topic.Topic = t.Topic
			request.Topics, request.TopicNames = append(request.Topics, topic), append(request.TopicNames, *t.Topic)
		}
	}
	if _, err := request.RequestWith(ctx, client); err != nil {
		st.Error(err)
	}
}

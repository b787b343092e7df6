package kafka_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/preflight/facts"
	"ctbridge/sink/kafka"
)

func survey(t *testing.T, c kafka.Config, use kafka.Use) (*facts.Cluster, map[string]facts.Topic) {
	t.Helper()
	out, err := kafka.Survey(t.Context(), c, use)
	if err != nil {
		t.Fatal(err)
	}
	topics := make(map[string]facts.Topic)
	for _, topic := range out.Topics {
		topics[topic.Name] = topic
	}
	return out, topics
}

// What is there is described, what is not is rehearsed, and nothing is made.
func TestSurvey(t *testing.T) {
	t.Parallel()
	eachKafka(t, func(t *testing.T, c kafka.Config) {
		c.Data = kafka.TopicSettings{Partitions: 4, Config: map[string]string{"max.message.bytes": "2000", "cleanup.policy": "compact"}}
		suffix := time.Now().Format(".150405.000000")
		s := transactional(t, c, "ctbridge.task"+suffix+".0", "checkpoint"+suffix)
		open(t, s)
		if err := s.EnsureTopic(t.Context(), "data"+suffix, change.DataTopic); err != nil {
			t.Fatal(err)
		}
		out, topics := survey(t, c, kafka.Use{Task: "task" + suffix, Shards: 2, Group: "group" + suffix, Topics: map[string]change.TopicRole{
			"data" + suffix: change.DataTopic, "checkpoint" + suffix: change.CheckpointTopic, "new" + suffix: change.MetadataTopic, "not legal": change.DataTopic}})
		if len(out.Brokers) != 1 || out.Oldest == "" || out.Settings["message.max.bytes"] == "" || out.Hidden != nil {
			t.Errorf("%+v", out)
		}
		for i, x := range out.Transactions {
			if x.Err != nil || x.Coordinator == "" || x.ID != fmt.Sprintf("ctbridge.task%s.%d", suffix, i) {
				t.Errorf("%+v", x)
			}
		}
		if g := out.Group; len(out.Transactions) != 2 || g == nil || g.Err != nil || g.Members != 0 {
			t.Errorf("%+v, %+v", out.Transactions, g)
		}
		data := topics["data"+suffix]
		if !data.Exists || data.Err != nil || data.Partitions != 4 || data.Replicas != 1 || data.InSync != 1 || data.Leaderless != 0 || data.Settings["max.message.bytes"] != "2000" ||
			data.Settings["cleanup.policy"] != "compact" || data.New != nil {
			t.Errorf("%+v", data)
		}
		fresh := topics["new"+suffix]
		if fresh.Exists || fresh.Err != nil || fresh.New["cleanup.policy"] != "compact" || fresh.New["partitions"] != "-1" {
			t.Errorf("%+v", fresh)
		}
		if bad := topics["not legal"]; bad.Err == nil || bad.Exists {
			t.Errorf("%+v", bad)
		}
		if _, again := survey(t, c, kafka.Use{Topics: map[string]change.TopicRole{"new" + suffix: change.DataTopic}}); again["new"+suffix].Exists {
			t.Error("the survey has made a topic")
		}
		if err := s.Commit(t.Context(), []checkpoint.Entry{{Key: "task", Value: []byte("{}")}}); err != nil {
			t.Errorf("the survey disturbed the task that runs: %v", err)
		}
		entries, written, err := kafka.PeekCheckpoint(t.Context(), c, "checkpoint"+suffix)
		if err != nil || string(entries["task"]) != "{}" || written["task"].IsZero() {
			t.Errorf("%v, %v, %v", entries, written, err)
		}
	})
}

func TestSurveyOfWhatIsRefused(t *testing.T) {
	t.Parallel()
	acls := allow(kmsg.ACLResourceTypeTopic, "readable", kmsg.ACLOperationRead)
	servers := broker(t, kfake.EnableSASL(), kfake.EnableACLs(), kfake.User("PLAIN", "bridge", secret, acls...))
	if err := servers.Cluster().CreateTopic("readable", 1, nil); err != nil {
		t.Fatal(err)
	}
	c := kafka.Config{Brokers: servers.Brokers(), SASL: kafka.SASL{Mechanism: "PLAIN", Username: "bridge", Password: secret}}
	out, topics := survey(t, c, kafka.Use{Task: "task", Shards: 1, Group: "replicas", Topics: map[string]change.TopicRole{"readable": change.DataTopic, "hidden": change.DataTopic}})
	if out.Group.Err == nil || out.Hidden == nil || out.Transactions[0].Err == nil || !strings.Contains(out.Transactions[0].Err.Error(), "transactional id") {
		t.Errorf("%+v, %+v", out, out.Transactions)
	}
	for _, name := range []string{"readable", "hidden"} {
		if err := topics[name].Err; err == nil || !strings.Contains(err.Error(), "grant") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Topics that cannot be made say why, before anybody tries.
func TestSurveyRehearses(t *testing.T) {
	t.Parallel()
	never := false
	for name, c := range map[string]struct {
		change func(*kafka.Config)
		want   string
	}{
		"too many replicas": {func(c *kafka.Config) { c.Data.ReplicationFactor = 5 }, "replication"},
		"not to be made":    {func(c *kafka.Config) { c.CreateTopics = &never }, "kafka.create_topics"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conf := kafka.Config{Brokers: broker(t).Brokers()}
			c.change(&conf)
			_, topics := survey(t, conf, kafka.Use{Topics: map[string]change.TopicRole{"data": change.DataTopic}})
			if err := topics["data"].Err; err == nil || !strings.Contains(err.Error(), c.want) || topics["data"].New == nil {
				t.Errorf("%+v", topics["data"])
			}
		})
	}
}

func TestSurveyEndsWithItsContext(t *testing.T) {
	t.Parallel()
	servers := broker(t)
	servers.Cluster().Control(func(kmsg.Request) (kmsg.Response, error, bool) {
		servers.Cluster().KeepControl()
		<-t.Context().Done()
		return nil, nil, false
	})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := kafka.Survey(ctx, kafka.Config{Brokers: servers.Brokers()}, kafka.Use{}); err == nil || time.Since(began) > 20*time.Second {
		t.Errorf("%v after %s", err, time.Since(began))
	}
}

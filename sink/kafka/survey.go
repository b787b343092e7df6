package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/IBM/sarama"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/bridge/preflight/facts"
)

// Use says what of a cluster a task would use.
type Use struct {
	Topics map[string]change.TopicRole
	Task   string // whose transactional ids are used, of so many shards
	Shards int    // 0 = no transactions are used
	Group  string // of the task's replicas, empty where there is none
}

// Survey asks a cluster about what a task would use of it. Nothing is made, changed or fenced, so that it may be called while the task runs. Its error
// says that the cluster cannot be asked at all.
func Survey(ctx context.Context, c Config, use Use) (*facts.Cluster, error) {
	c = c.withDefaults()
	if err := c.check(); err != nil {
		return nil, err
	}
	s, err := connect(ctx, c)
	if err != nil {
		return nil, err
	}
	defer s.close()
	out := &facts.Cluster{}
	if err := s.surveyBrokers(ctx, out); err != nil {
		return nil, err
	}
	if err := s.surveyTopics(ctx, use.Topics, out); err != nil {
		return nil, err
	}
	for shard := range use.Shards {
		out.Transactions = append(out.Transactions, s.surveyTransactions(ctx, transactionalID(use.Task, shard)))
	}
	if use.Group != "" {
		out.Group = s.surveyGroup(ctx, use.Group)
	}
	return out, nil
}

// brokerSettings are those of a broker that decide what it takes.
var brokerSettings = []string{"message.max.bytes", "replica.fetch.max.bytes", "replica.fetch.response.max.bytes", "transaction.max.timeout.ms",
	"auto.create.topics.enable", "num.partitions", "default.replication.factor", "min.insync.replicas"}

func (s *session) surveyBrokers(ctx context.Context, out *facts.Cluster) error {
	lowest := int16(-1)
	err := s.call(ctx, func() error {
		if err := s.client.RefreshMetadata(); err != nil {
			return err
		}
		for _, broker := range s.client.Brokers() {
			out.Brokers = append(out.Brokers, broker.Addr())
			_ = broker.Open(s.client.Config()) // it may be open; the question tells
			level, err := fetchLevel(broker)
			if err != nil {
				return fmt.Errorf("broker %s: %w", broker.Addr(), err)
			}
			if lowest < 0 || level < lowest {
				lowest = level
			}
		}
		return nil
	})
	if err != nil {
		return s.fail("ask the brokers", err)
	}
	slices.Sort(out.Brokers)
	out.Oldest, out.Newest = releasesOf(lowest)
	out.Settings, out.Hidden = s.brokerSettings(ctx)
	return nil
}

// fetchLevel is the newest version of a fetch that a broker understands.
func fetchLevel(broker *sarama.Broker) (int16, error) {
	const fetch = 1
	answer, err := broker.ApiVersions(&sarama.ApiVersionsRequest{Version: 2})
	if err == nil {
		err = noError(sarama.KError(answer.ErrorCode))
	}
	if err != nil {
		return 0, err
	}
	for _, key := range answer.ApiKeys {
		if key.ApiKey == fetch {
			return key.MaxVersion, nil
		}
	}
	return 0, sarama.ErrIncompleteResponse
}

// releases tells which Kafka releases speak up to a version of the fetch request (protocol guide, and FetchRequest.json of each release).
var releases = []struct {
	fetch         int16
	first, latest string
}{{18, "4.1", ""}, {17, "3.9", "4.0"}, {16, "3.7", "3.8"}, {14, "3.5", "3.6"}, {13, "3.1", "3.4"}, {12, "2.7", "3.0"}, {11, "2.3", "2.6"}, {0, "0.11", "2.2"}}

func releasesOf(fetch int16) (first, latest string) {
	for _, r := range releases {
		if fetch >= r.fetch {
			return r.first, r.latest
		}
	}
	return "", ""
}

// brokerSettings gives of each setting the value that the least generous broker has.
func (s *session) brokerSettings(ctx context.Context) (map[string]string, error) {
	var asked []*sarama.ConfigResource
	for _, b := range s.client.Brokers() {
		asked = append(asked, &sarama.ConfigResource{Type: sarama.BrokerResource, Name: strconv.Itoa(int(b.ID())), ConfigNames: brokerSettings})
	}
	all, err := s.settings(ctx, asked)
	out := map[string]string{}
	for _, one := range all {
		if one.hidden != nil {
			return nil, one.hidden
		}
		for name, value := range one.values {
			if known, found := out[name]; !found || less(value, known) {
				out[name] = value
			}
		}
	}
	return out, err
}

func less(a, b string) bool {
	x, errX := strconv.ParseInt(a, 10, 64)
	y, errY := strconv.ParseInt(b, 10, 64)
	return errX == nil && errY == nil && x < y
}

// described are the settings of one resource, or why they are hidden.
type described struct {
	values map[string]string
	hidden error
}

func (s *session) settings(ctx context.Context, asked []*sarama.ConfigResource) (map[string]described, error) {
	out := make(map[string]described, len(asked))
	err := s.call(ctx, func() error {
		admin, err := sarama.NewClusterAdminFromClient(s.client)
		if err != nil {
			return err
		}
		answers, err := admin.DescribeConfigs(asked, sarama.DescribeConfigsOptions{})
		for _, a := range answers {
			d := described{values: map[string]string{}, hidden: unhinted(s.fail("read the settings of "+a.Name, noError(a.ErrorCode)))}
			for _, e := range a.Configs {
				d.values[e.Name] = e.Value
			}
			out[a.Name] = d
		}
		return err
	})
	return out, s.fail("read settings", err)
}

// topicSettings are those of a topic that matter.
var topicSettings = []string{"max.message.bytes", "cleanup.policy", "min.insync.replicas", "retention.ms", "message.timestamp.type"}

func (s *session) surveyTopics(ctx context.Context, roles map[string]change.TopicRole, out *facts.Cluster) error {
	names := slices.Sorted(maps.Keys(roles))
	if len(names) == 0 {
		return nil
	}
	found, err := s.describeAll(ctx, names)
	if err != nil {
		return err
	}
	var asked []*sarama.ConfigResource
	var absent []string
	for _, name := range names {
		t := s.surveyTopic(name, roles[name], found[name])
		if t.Exists {
			asked = append(asked, &sarama.ConfigResource{Type: sarama.TopicResource, Name: name, ConfigNames: topicSettings})
		}
		if t.New != nil {
			absent = append(absent, name)
		}
		out.Topics = append(out.Topics, t)
	}
	refused := s.rehearse(ctx, absent, roles)
	settings, err := s.settings(ctx, asked)
	if err != nil {
		return err
	}
	for i := range out.Topics {
		t := &out.Topics[i]
		t.Settings, t.Hidden = settings[t.Name].values, settings[t.Name].hidden
		if t.New != nil {
			t.Err = refused(t.Name)
		}
	}
	return nil
}

func (s *session) surveyTopic(name string, role change.TopicRole, found *sarama.TopicMetadata) facts.Topic {
	t := facts.Topic{Name: name, Role: role}
	switch {
	case CheckTopicName(name) != nil:
		t.Err = CheckTopicName(name)
	case found == nil:
		t.Err = s.fail("describe topic "+name, sarama.ErrIncompleteResponse)
	case errors.Is(found.Err, sarama.ErrUnknownTopicOrPartition):
		t.New = s.newSettings(role)
	default:
		t.Exists = found.Err == sarama.ErrNoError || found.Err == sarama.ErrLeaderNotAvailable
		t.Err = s.usable(name, found)
		count(&t, found)
	}
	return t
}

func count(t *facts.Topic, found *sarama.TopicMetadata) {
	t.Partitions = len(found.Partitions)
	for i, p := range found.Partitions {
		if p.Leader < 0 {
			t.Leaderless++
		}
		if i == 0 || len(p.Replicas) < t.Replicas {
			t.Replicas = len(p.Replicas)
		}
		if i == 0 || len(p.Isr) < t.InSync {
			t.InSync = len(p.Isr)
		}
	}
}

// rehearse asks the brokers to check the making of topics, and no more. What it returns tells why one cannot be made.
func (s *session) rehearse(ctx context.Context, names []string, roles map[string]change.TopicRole) (refused func(name string) error) {
	if !*s.conf.CreateTopics {
		return func(name string) error {
			return fault.New(fault.Table, "topic "+name, sarama.ErrUnknownTopicOrPartition, "create it, or set kafka.create_topics: true")
		}
	}
	details := make(map[string]*sarama.TopicDetail, len(names))
	for _, name := range names {
		settings := s.conf.settings(roles[name])
		details[name] = settings.detail()
	}
	answers := make(map[string]*sarama.TopicError)
	var failed error
	if len(details) > 0 {
		failed = s.call(ctx, func() error {
			controller, err := s.client.Controller()
			if err != nil {
				return err
			}
			answer, err := controller.CreateTopics(sarama.NewCreateTopicsRequest(s.client.Config().Version, details, s.conf.RequestTimeout, true))
			if err == nil {
				answers = answer.TopicErrors
			}
			return err
		})
	}
	return func(name string) error {
		answer := answers[name]
		switch {
		case failed != nil:
			return s.fail("create topic "+name, failed)
		case answer == nil:
			return s.fail("create topic "+name, sarama.ErrIncompleteResponse)
		case answer.Err == sarama.ErrNoError || answer.Err == sarama.ErrTopicAlreadyExists:
			return nil
		}
		return s.fail("create topic "+name, answer)
	}
}

func (s *session) newSettings(role change.TopicRole) map[string]string {
	settings := s.conf.settings(role)
	out := maps.Clone(settings.Config)
	out["partitions"], out["replication.factor"] = strconv.Itoa(int(settings.Partitions)), strconv.Itoa(int(settings.ReplicationFactor))
	return out
}

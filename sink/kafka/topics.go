package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/IBM/sarama"

	"ctbridge/bridge/fault"
)

// maxTopicName is the longest name that Kafka takes: with the partition's suffix it must fit a file name of 255 bytes.
const maxTopicName = 249

// CheckTopicName reports why a name is not a legal topic name (org.apache.kafka.common.internals.Topic): letters, digits, '.', '_' and
// '-', at most 249 of them, and neither "." nor "..".
func CheckTopicName(name string) error {
	var err error
	switch {
	case name == "":
		err = errors.New("the name is empty")
	case name == "." || name == "..":
		err = fmt.Errorf("%q is not a name", name)
	case len(name) > maxTopicName:
		err = fmt.Errorf("the name has %d characters, at most %d are allowed", len(name), maxTopicName)
	default:
		if i := strings.IndexFunc(name, illegal); i >= 0 {
			err = fmt.Errorf("character %q is not allowed", []rune(name[i:])[0])
		}
	}
	if err == nil {
		return nil
	}
	return fault.New(fault.Table, fmt.Sprintf("topic %q", name), err, "topic names are made of letters, digits, '.', '_' and '-'")
}

func illegal(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-')
}

// usable reports why a topic that exists cannot be written to.
func (s *session) usable(name string, found *sarama.TopicMetadata) error {
	switch {
	case found.Err != sarama.ErrNoError && found.Err != sarama.ErrLeaderNotAvailable:
		return s.naming(onTopic(name, "Describe", "Write"), s.fail("topic "+name, found.Err))
	case !mayWrite(found):
		return s.naming(onTopic(name, "Write"), s.fail("topic "+name, sarama.ErrTopicAuthorizationFailed))
	}
	return nil
}

// mayWrite reads the bit field of KIP-430. Brokers without authorizer, and old ones, leave it out: the smallest number.
func mayWrite(found *sarama.TopicMetadata) bool {
	const none, write = -1 << 31, 1 << 4
	ops := found.TopicAuthorizedOperations
	return ops == none || ops == 0 || ops&write != 0
}

// describe asks for a topic with the rights this user has on it. A missing topic is not an error but found.Err.
func (s *session) describe(ctx context.Context, name string) (*sarama.TopicMetadata, error) {
	found, err := s.describeAll(ctx, []string{name})
	if err != nil {
		return nil, err
	}
	if found[name] == nil {
		return nil, s.fail("describe topic "+name, sarama.ErrIncompleteResponse)
	}
	return found[name], nil
}

// describeAll asks for several topics at once. What the brokers do not answer is missing in the result.
func (s *session) describeAll(ctx context.Context, names []string) (map[string]*sarama.TopicMetadata, error) {
	out := make(map[string]*sarama.TopicMetadata, len(names))
	err := s.call(ctx, func() error {
		broker, err := s.anyBroker(names...)
		if err != nil {
			return err
		}
		request := sarama.NewMetadataRequest(s.client.Config().Version, names)
		request.IncludeTopicAuthorizedOperations = true
		response, err := broker.GetMetadata(request)
		if err != nil {
			return err
		}
		for _, t := range response.Topics {
			out[t.Name] = t
		}
		return nil
	})
	return out, s.fail("describe "+topicsOf(names), err)
}

// topicsOf names topics in an error: one, or the first of many.
func topicsOf(names []string) string {
	if len(names) == 1 {
		return "topic " + names[0]
	}
	return fmt.Sprintf("topic %s and %d more", names[0], len(names)-1)
}

// anyBroker gives a connected broker and leaves fresh metadata of the topics in the client.
func (s *session) anyBroker(topics ...string) (*sarama.Broker, error) {
	if err := s.client.RefreshMetadata(topics...); err != nil && (codeOf(err) == sarama.ErrNoError || errors.Is(err, sarama.ErrSASLAuthenticationFailed)) {
		return nil, err
	}
	if broker := s.client.LeastLoadedBroker(); broker != nil {
		return broker, nil
	}
	return nil, sarama.ErrOutOfBrokers
}

func (t TopicSettings) detail() *sarama.TopicDetail {
	entries := make(map[string]*string, len(t.Config))
	for name, value := range maps.All(t.Config) {
		entries[name] = &value
	}
	return &sarama.TopicDetail{NumPartitions: t.Partitions, ReplicationFactor: t.ReplicationFactor, ConfigEntries: entries}
}

// led tells that every partition of a topic has a leader.
func led(t *sarama.TopicMetadata) bool {
	if t == nil || t.Err != sarama.ErrNoError {
		return false
	}
	for _, p := range t.Partitions {
		if p.Err != sarama.ErrNoError {
			return false
		}
	}
	return len(t.Partitions) > 0
}

// verifyCompacted reports an existing checkpoint topic that would lose entries in time.
func (s *session) verifyCompacted(ctx context.Context, name string) error {
	policy, err := s.cleanupPolicy(ctx, name)
	if err != nil {
		return err
	}
	if policy != "" && policy != "compact" {
		return fault.New(fault.Fatal, "checkpoint topic "+name, fmt.Errorf("its cleanup.policy is %q", policy),
			"set it to compact, or the checkpoint will be lost: kafka-configs --alter --entity-type topics --entity-name "+name+" --add-config cleanup.policy=compact")
	}
	return nil
}

// cleanupPolicy reads how a topic forgets; "" where the brokers do not say.
func (s *session) cleanupPolicy(ctx context.Context, name string) (policy string, err error) {
	var entries []sarama.ConfigEntry
	err = s.call(ctx, func() error {
		admin, err := sarama.NewClusterAdminFromClient(s.client)
		if err != nil {
			return err
		}
		asked := []*sarama.ConfigResource{{Type: sarama.TopicResource, Name: name, ConfigNames: []string{"cleanup.policy"}}}
		answers, err := admin.DescribeConfigs(asked, sarama.DescribeConfigsOptions{})
		for _, a := range answers {
			entries, err = append(entries, a.Configs...), errors.Join(err, noError(a.ErrorCode))
		}
		return err
	})
	if err != nil {
		return "", s.naming(onTopic(name, "DescribeConfigs"), s.fail("read settings of topic "+name, err))
	}
	for _, e := range entries {
		if e.Name == "cleanup.policy" {
			policy = e.Value
		}
	}
	return policy, nil
}

// Exists reports whether a topic is there.
func Exists(ctx context.Context, c Config, topic string) (bool, error) {
	s, err := connect(ctx, c.withDefaults())
	if err != nil {
		return false, err
	}
	defer s.close()
	found, err := s.describe(ctx, topic)
	if err != nil {
		return false, err
	}
	if errors.Is(found.Err, sarama.ErrUnknownTopicOrPartition) {
		return false, nil
	}
	return true, s.naming(onTopic(topic, "Describe"), s.fail("topic "+topic, noError(found.Err)))
}

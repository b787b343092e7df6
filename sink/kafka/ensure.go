package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/IBM/sarama"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
)

// One request asks for that many topics and partitions at most. The brokers make the topics of a request together and refuse more than 10,000
// partitions in one (QuorumController.MAX_RECORDS_PER_BATCH).
const (
	topicsPerRequest     = 100
	partitionsPerRequest = 2000
)

// perRequest is how many topics with these settings go into one request.
func (t TopicSettings) perRequest() int {
	return min(topicsPerRequest, max(1, partitionsPerRequest/max(1, int(t.Partitions))))
}

// ensure creates a topic that does not exist; a known one costs nothing. Errors have the class that fits a data topic.
func (s *session) ensure(ctx context.Context, name string, role change.TopicRole) error {
	if s.topics[name] {
		return nil
	}
	refused, err := s.ensureAll(ctx, []string{name}, role)
	if err != nil {
		return err
	}
	return refused[name]
}

// ensureAll creates the topics that do not exist, many with one request. What is wrong with a topic is told by its name; an error is about all.
func (s *session) ensureAll(ctx context.Context, names []string, role change.TopicRole) (refused map[string]error, err error) {
	refused = make(map[string]error)
	var asked []string
	for _, name := range names {
		if err := CheckTopicName(name); err != nil {
			refused[name] = err
		} else if !s.topics[name] {
			asked = append(asked, name)
		}
		if role == change.DeadLetterTopic {
			s.limits[name] = s.conf.MaxLetterBytes
		}
	}
	slices.Sort(asked) // several tables may share one
	settings := s.conf.settings(role)
	for some := range slices.Chunk(slices.Compact(asked), settings.perRequest()) {
		if err := s.ensureSome(ctx, some, settings, refused); err != nil {
			return nil, err
		}
	}
	return refused, nil
}

// ensureSome does so for as many as go into one request.
func (s *session) ensureSome(ctx context.Context, names []string, settings TopicSettings, refused map[string]error) error {
	found, err := s.describeAll(ctx, names)
	if err != nil {
		return err
	}
	var missing []string
	for _, name := range names {
		if t := found[name]; t != nil && errors.Is(t.Err, sarama.ErrUnknownTopicOrPartition) {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		made, err := s.create(ctx, missing, settings, refused)
		if err == nil {
			err = s.awaitLeaders(ctx, made, found)
		}
		if err != nil {
			return err
		}
	}
	for _, name := range names {
		if refused[name] != nil {
			continue
		}
		if err := s.take(ctx, name, found[name]); err != nil {
			refused[name] = err
		}
	}
	return nil
}

// take gets ready to write to a topic that exists.
func (s *session) take(ctx context.Context, name string, found *sarama.TopicMetadata) error {
	if found == nil {
		return s.fail("describe topic "+name, sarama.ErrIncompleteResponse)
	}
	if err := s.usable(name, found); err != nil {
		return err
	}
	if s.writer != nil { // what it has to ask for, it asks for now
		if err := s.call(ctx, func() error { _, err := s.writer.lanes(name); return err }); err != nil {
			return s.naming(onTopic(name, "Write"), s.fail("topic "+name, err))
		}
	}
	s.topics[name] = true
	return nil
}

// create makes topics and tells which the brokers have taken on. Those that they put off, because of a quota or because the controller moves, it
// asks for again.
func (s *session) create(ctx context.Context, names []string, settings TopicSettings, refused map[string]error) (made []string, err error) {
	if !*s.conf.CreateTopics {
		for _, name := range names {
			refused[name] = fault.New(fault.Table, "topic "+name, sarama.ErrUnknownTopicOrPartition,
				"create it, or let the bridge do so by switching topic creation on")
		}
		return nil, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.conf.OpenTimeout, errors.New("the brokers put it off for too long"))
	defer cancel()
	for try := 0; len(names) > 0; try++ {
		answers, pause, err := s.askToCreate(ctx, names, settings)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, s.fail("create "+topicsOf(names), err)
		}
		var again []string
		for _, name := range names {
			switch told := s.created(name, answers[name], settings); {
			case err != nil || putOff(told):
				again = append(again, name)
			case told == nil:
				made = append(made, name)
			default:
				refused[name] = told
			}
		}
		if names = again; len(names) == 0 {
			break
		}
		if err := wait(ctx, max(pause, backoff(try))); err != nil {
			return nil, s.fail("create "+topicsOf(names), err)
		}
	}
	return made, nil
}

// putOff reports an answer to ask again after.
func putOff(err error) bool {
	return errors.Is(err, sarama.ErrThrottlingQuotaExceeded) || errors.Is(err, sarama.ErrNotController)
}

// askToCreate asks the controller once and tells how long it wants to be left in peace. io.EOF says that it had closed the connection, as brokers
// do with idle ones.
func (s *session) askToCreate(ctx context.Context, names []string, settings TopicSettings) (answers map[string]*sarama.TopicError, pause time.Duration, err error) {
	details := make(map[string]*sarama.TopicDetail, len(names))
	for _, name := range names {
		details[name] = settings.detail()
	}
	request := sarama.NewCreateTopicsRequest(s.client.Config().Version, details, s.conf.RequestTimeout/2, false)
	err = s.call(ctx, func() error {
		controller, err := s.client.Controller()
		if err != nil {
			return err
		}
		answer, err := controller.CreateTopics(request)
		if err != nil {
			controller.Close()
			return err
		}
		answers, pause = answer.TopicErrors, answer.ThrottleTime
		for _, t := range answers {
			if errors.Is(t.Err, sarama.ErrNotController) {
				_, _ = s.client.RefreshController() // if it fails, the next question meets it
				break
			}
		}
		return nil
	})
	return answers, pause, err
}

// created reads the answer about one topic. A topic that is there by now is as good, and one that the brokers did not finish in time will be.
func (s *session) created(name string, answer *sarama.TopicError, settings TopicSettings) error {
	if answer == nil {
		return s.fail("create topic "+name, sarama.ErrIncompleteResponse)
	}
	switch err := error(answer); answer.Err {
	case sarama.ErrNoError, sarama.ErrTopicAlreadyExists, sarama.ErrRequestTimedOut:
		return nil
	case sarama.ErrInvalidReplicationFactor:
		return s.fail("create topic "+name, fmt.Errorf("replication factor %d, but the cluster has %d broker(s): %w", settings.ReplicationFactor, len(s.client.Brokers()), err))
	case sarama.ErrTopicAuthorizationFailed, sarama.ErrClusterAuthorizationFailed:
		return s.naming(onTopic(name, "Create"), fault.New(fault.Table, "create topic "+name, err, ""))
	default:
		return s.fail("create topic "+name, err)
	}
}

// leaderPoll is how often new topics are looked at until they have leaders.
const leaderPoll = 20 * time.Millisecond

// awaitLeaders returns when every partition of new topics has a leader, with what is known of them then in found.
func (s *session) awaitLeaders(ctx context.Context, names []string, found map[string]*sarama.TopicMetadata) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.conf.OpenTimeout, errors.New("the new topic got no leaders in time"))
	defer cancel()
	for len(names) > 0 {
		fresh, err := s.describeAll(ctx, names)
		if err != nil {
			return err
		}
		maps.Copy(found, fresh)
		names = slices.DeleteFunc(names, func(name string) bool { return led(found[name]) })
		if len(names) == 0 {
			break
		}
		if err := wait(ctx, leaderPoll); err != nil {
			return s.fail("create "+topicsOf(names), err)
		}
	}
	return nil
}

// wait pauses, or returns early with the cause of the context's end.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

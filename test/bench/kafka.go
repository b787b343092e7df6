package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/IBM/sarama"

	"ctbridge/sink/kafka"
)

// records are what was read from topics. The bytes of all lie one behind another, so that a producer that sends them again has no garbage to look at.
type records struct {
	count, bytes int // of keys and values
	first, last  time.Time
	partitions   [][]span // empty unless kept
	data         []byte
}

// span is one record in the data: its key, then its value.
type span struct{ at, key, value int }

func (r *records) key(s span) []byte   { return r.data[s.at : s.at+s.key] }
func (r *records) value(s span) []byte { return r.data[s.at+s.key : s.at+s.key+s.value] }

func (r *records) add(m *kafka.Message, keep bool) {
	if r.count == 0 || m.Timestamp.Before(r.first) {
		r.first = m.Timestamp
	}
	if m.Timestamp.After(r.last) {
		r.last = m.Timestamp
	}
	r.count++
	r.bytes += len(m.Key) + len(m.Value)
	if !keep {
		return
	}
	for len(r.partitions) <= int(m.Partition) {
		r.partitions = append(r.partitions, nil)
	}
	r.partitions[m.Partition] = append(r.partitions[m.Partition], span{len(r.data), len(m.Key), len(m.Value)})
	r.data = append(append(r.data, m.Key...), m.Value...)
}

// readTopics reads all committed records of topics.
func readTopics(ctx context.Context, p *place, topics []string, keep bool) (*records, error) {
	out := &records{}
	options := kafka.TailOptions{Topics: topics, From: kafka.FromStart, Exit: true}
	err := kafka.Tail(ctx, kafka.Config{Brokers: []string{p.brokers}}, options, func(m *kafka.Message) error {
		out.add(m, keep)
		return nil
	})
	return out, err
}

// sent is one record to send again.
type sent struct {
	span
	partition int32
}

// mixed puts the records of all partitions into one order: within a partition as they were, between them by chance, as keys come.
func (r *records) mixed() []sent {
	var which []int32
	for p, list := range r.partitions {
		for range list {
			which = append(which, int32(p))
		}
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(which), func(i, j int) { which[i], which[j] = which[j], which[i] })
	next := make([]int, len(r.partitions))
	out := make([]sent, len(which))
	for i, p := range which {
		out[i] = sent{r.partitions[p][next[p]], p}
		next[p]++
	}
	return out
}

// controller is the broker that makes and deletes topics. Requests of their own take many topics at once: one by one, a thousand take a minute.
func controller(p *place) (sarama.Client, *sarama.Broker, error) {
	config := sarama.NewConfig()
	config.Version = sarama.V3_6_0_0
	client, err := sarama.NewClient([]string{p.brokers}, config)
	if err != nil {
		return nil, nil, err
	}
	broker, err := client.Controller()
	if err != nil {
		client.Close()
	}
	return client, broker, err
}

func createTopics(p *place, partitions int, topics ...string) error {
	client, broker, err := controller(p)
	if err != nil {
		return err
	}
	defer client.Close()
	settings := map[string]*string{}
	for name, value := range topicSettings {
		settings[name] = &value
	}
	details := map[string]*sarama.TopicDetail{}
	for _, topic := range topics {
		details[topic] = &sarama.TopicDetail{NumPartitions: int32(partitions), ReplicationFactor: 1, ConfigEntries: settings}
	}
	response, err := broker.CreateTopics(sarama.NewCreateTopicsRequest(client.Config().Version, details, time.Minute, false))
	if err != nil {
		return err
	}
	for topic, failed := range response.TopicErrors {
		if failed.Err != sarama.ErrNoError {
			return fmt.Errorf("create topic %s: %w", topic, failed)
		}
	}
	return nil
}

// deleteTopics gives the disk back; topics that are not there are none to delete.
func deleteTopics(p *place, topics ...string) error {
	client, broker, err := controller(p)
	if err != nil {
		return err
	}
	defer client.Close()
	_, err = broker.DeleteTopics(sarama.NewDeleteTopicsRequest(client.Config().Version, topics, time.Minute))
	return err
}

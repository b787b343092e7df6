package kafka

import (
	"errors"

	"github.com/IBM/sarama"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
)

// verdict is what an error code means for the task.
type verdict struct {
	class fault.Class
	hint  string
}

// verdicts by error code of the Kafka protocol; every other code passes by itself.
var verdicts = map[sarama.KError]verdict{
	sarama.ErrClusterAuthorizationFailed:         {fault.Fatal, "grant IdempotentWrite on the cluster, or Write on the topics, to this user"},
	sarama.ErrTransactionalIDAuthorizationFailed: {fault.Fatal, "grant Write and Describe on the transactional id to this user"},
	sarama.ErrSASLAuthenticationFailed:           {fault.Fatal, "check SASL mechanism, user name and password"},
	sarama.ErrUnsupportedSASLMechanism:           {fault.Fatal, "the brokers do not offer this SASL mechanism on this listener"},
	sarama.ErrIllegalSASLState:                   {fault.Fatal, "does this listener ask for SASL?"},
	sarama.ErrUnsupportedVersion:                 {fault.Fatal, "set the version to that of the oldest broker"},
	sarama.ErrInvalidTransactionTimeout:          {fault.Config, "the brokers' transaction.max.timeout.ms is lower than the transaction timeout"},

	sarama.ErrTopicAuthorizationFailed: {fault.Table, "grant Write and Describe on the topic to this user"},
	sarama.ErrInvalidTopic:             {fault.Table, "map the table to a legal topic name"},
	sarama.ErrInvalidReplicationFactor: {fault.Table, "lower the replication factor or add brokers"},
	sarama.ErrInvalidPartitions:        {fault.Table, "mend the number of partitions in the topic settings"},
	sarama.ErrInvalidConfig:            {fault.Table, "mend the topic settings"},
	sarama.ErrPolicyViolation:          {fault.Table, "the brokers' policy refuses the topic settings"},
	sarama.ErrMessageSizeTooLarge:      {fault.Poison, "raise the topic's max.message.bytes, or lower the bridge's max message bytes to it"},
	sarama.ErrMessageSetSizeTooLarge:   {fault.Poison, "raise the topic's segment.bytes"},
	sarama.ErrInvalidRecord:            {fault.Table, "the broker refuses the record: a compacted topic needs keys"},
}

// classify names what was being done and gives the error its class. Codes decide, never text.
func classify(where string, err error) error {
	var known *fault.Error
	var table *change.TableError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known) || errors.As(err, &table):
		return err
	}
	if v, ok := certificateVerdict(err); ok {
		return fault.New(v.class, where, err, v.hint)
	}
	if errors.Is(err, sarama.ErrProducerFenced) {
		err = errFenced
	}
	v := verdicts[codeOf(err)]
	return fault.New(v.class, where, err, v.hint)
}

// codeOf gives the protocol's error code in an error, 0 without one. The client's wrapper of a code with the broker's words hides the code
// from errors.As, but not from errors.Is.
func codeOf(err error) sarama.KError {
	var code sarama.KError
	if errors.As(err, &code) {
		return code
	}
	for code := range verdicts {
		if errors.Is(err, code) {
			return code
		}
	}
	return sarama.ErrNoError
}

// errFenced stands for code 90, which the client cannot spell.
var errFenced = errors.New("a newer producer with the same transactional id is at work")

// certificateVerdict knows the failures of a TLS handshake.
func certificateVerdict(err error) (verdict, bool) {
	if class, hint, known := fault.Handshake(err, "the broker"); known {
		return verdict{class, hint}, true
	}
	var handshake *handshakeError
	if errors.As(err, &handshake) {
		return verdict{fault.Retry, "if this does not pass: does this listener speak TLS?"}, true
	}
	return verdict{}, false
}

// isFenced reports whether a producer with a newer epoch of the same transactional id exists. The epoch also moves on when the brokers end a
// transaction that took too long: only the checkpoint topic tells which of the two it was.
func isFenced(err error) bool {
	return errors.Is(err, errFenced) || errors.Is(err, sarama.ErrProducerFenced) || errors.Is(err, sarama.ErrInvalidProducerEpoch)
}

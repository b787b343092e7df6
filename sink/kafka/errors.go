package kafka

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"

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

// certificateVerdict knows the failures of a TLS handshake that no retry mends.
func certificateVerdict(err error) (verdict, bool) {
	var unknown x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	var host x509.HostnameError
	var alert *net.OpError
	var plain tls.RecordHeaderError
	var handshake *handshakeError
	switch {
	case errors.As(err, &unknown):
		return verdict{fault.Fatal, "add the CA that signed the broker's certificate"}, true
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return verdict{fault.Fatal, "the broker's certificate has expired or is not valid yet; check the clock, then renew it"}, true
	case errors.As(err, &invalid):
		return verdict{fault.Fatal, "the broker's certificate does not fit its use"}, true
	case errors.As(err, &host):
		return verdict{fault.Fatal, "use a broker address that the certificate names, or set the server name"}, true
	case errors.As(err, &alert) && alert.Op == "remote error": // how crypto/tls marks an alert of the other side
		return verdict{fault.Fatal, "the broker refuses this client's certificate, or asks for one"}, true
	case errors.As(err, &plain):
		return verdict{fault.Fatal, "this listener does not speak TLS"}, true
	case errors.As(err, &handshake):
		return verdict{fault.Retry, "if this does not pass: does this listener speak TLS?"}, true
	}
	return verdict{}, false
}

// isFenced reports whether a producer with a newer epoch of the same transactional id exists. The epoch also moves on when the brokers end a
// transaction that took too long: only the checkpoint topic tells which of the two it was.
func isFenced(err error) bool {
	return errors.Is(err, errFenced) || errors.Is(err, sarama.ErrProducerFenced) || errors.Is(err, sarama.ErrInvalidProducerEpoch)
}

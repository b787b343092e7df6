package kafka

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/IBM/sarama"

	"ctbridge/bridge/fault"
)

// right is what a request wants to be allowed: operations on a resource, by their names in kafka-acls.
type right struct {
	resource   string // option of kafka-acls
	name       string // empty for the cluster
	operations []string
}

func onTopic(name string, operations ...string) right { return right{"--topic", name, operations} }

func onTransactionalID(id string) right {
	return right{"--transactional-id", id, []string{"Write", "Describe"}}
}

// producing is the right that a producer without a transactional id needs of brokers before 2.8; newer ones let in who may write to any topic.
var producing = right{"--cluster", "", []string{"IdempotentWrite"}}

// denials are the codes that say that a right is missing.
var denials = []sarama.KError{
	sarama.ErrTopicAuthorizationFailed, sarama.ErrGroupAuthorizationFailed, sarama.ErrClusterAuthorizationFailed, sarama.ErrTransactionalIDAuthorizationFailed,
}

func isDenied(err error) bool {
	return slices.ContainsFunc(denials, func(code sarama.KError) bool { return errors.Is(err, code) })
}

// Denied reports an error that says that a right is missing.
func Denied(err error) bool { return isDenied(err) }

// naming gives an error that a right is missing the command that grants it; every other error stays as it is.
func (s *session) naming(r right, err error) error {
	var known *fault.Error
	if err == nil || !isDenied(err) || !errors.As(err, &known) {
		return err
	}
	known.Hint = "this user may not; grant it: " + s.conf.grant(r)
	return err
}

// unhinted takes the hint away that an error got for its code alone, for whoever knows better which right is missing.
func unhinted(err error) error {
	var known *fault.Error
	if isDenied(err) && errors.As(err, &known) {
		known.Hint = ""
	}
	return err
}

// grant is the command that gives the right to the user of the configuration.
func (c Config) grant(r right) string {
	principal := "User:" + c.SASL.Username
	if c.SASL.Username == "" {
		principal = "User:<who the brokers take this client for>"
	}
	var b strings.Builder
	b.WriteString("kafka-acls --bootstrap-server " + strings.Join(c.Brokers, ",") + " --add --allow-principal " + quoted(principal))
	for _, operation := range r.operations {
		b.WriteString(" --operation " + operation)
	}
	b.WriteString(" " + r.resource)
	if r.name != "" {
		b.WriteString(" " + quoted(r.name))
	}
	return b.String()
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_.:,/=@-]+$`)

// quoted is a word of a shell.
func quoted(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

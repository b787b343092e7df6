package preflight

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
	"ctbridge/bridge/preflight/facts"
)

func (d *doctor) reachKafka(ctx context.Context, n *notes) {
	c, err := d.brokers(ctx)
	d.reached(err)
	if err != nil {
		n.failed("brokers", err)
		return
	}
	n.pass("brokers", many(len(c.Brokers), "broker")+": "+strings.Join(c.Brokers, ", "))
	if c.Hidden != nil {
		n.unknown("brokers", "their settings may not be read, so that size limits are not known", c.Hidden).
			Commands = []string{d.acl("--operation DescribeConfigs --cluster")}
	}
}

// acl is the command that lets the task do something.
func (d *doctor) acl(what string) string {
	principal := "PRINCIPAL"
	if d.Task.Principal != "" {
		principal = shell("User:" + d.Task.Principal)
	}
	return "kafka-acls --bootstrap-server " + d.bootstrap() + " --add --allow-principal " + principal + " " + what
}

func (d *doctor) bootstrap() string {
	if len(d.Task.Brokers) == 0 {
		return "BROKER"
	}
	return d.Task.Brokers[0]
}

// shell quotes a word where a shell would take it apart.
func shell(word string) string {
	if word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+:,./@") == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// kafkaVersion compares kafka.version with what all brokers speak.
func (d *doctor) kafkaVersion(ctx context.Context, n *notes) {
	c, err := d.brokers(ctx)
	if err != nil || c.Oldest == "" {
		return // reach tells
	}
	speak := "all brokers speak the protocol of Kafka " + c.Oldest
	if c.Newest != "" && newer(d.Task.Kafka.Version, c.Newest) {
		n.fail("kafka.version "+d.Task.Kafka.Version, "the oldest broker speaks the protocol of Kafka "+c.Oldest+" to "+c.Newest, "set kafka.version to that of the oldest broker")
		return
	}
	n.pass("kafka.version "+d.Task.Kafka.Version, speak+" or later")
}

// newer compares the first two numbers of releases.
func newer(a, b string) bool {
	x, y := release(a), release(b)
	return slices.Compare(x[:], y[:]) > 0
}

func release(text string) (out [2]int) {
	parts := strings.Split(text, ".")
	for i := range min(len(parts), len(out)) {
		out[i], _ = strconv.Atoi(parts[i])
	}
	return out
}

// topics tells which exist and which would be made, or cannot.
func (d *doctor) topics(ctx context.Context, n *notes) {
	c, err := d.brokers(ctx)
	if err != nil {
		return // reach tells
	}
	there, new := 0, 0
	for _, t := range c.Topics {
		switch {
		case t.Err != nil:
			d.topicFails(n, &t)
		case t.Leaderless > 0:
			n.fail(t.Name, fmt.Sprintf("%d of %d partitions have no leader", t.Leaderless, t.Partitions), "are brokers away?")
		case t.Exists:
			there++
		default:
			new++
		}
	}
	if there > 0 {
		n.pass(many(there, "topic"), "exist and may be written to")
	}
	if new > 0 {
		n.pass(many(new, "topic"), "may be made by the first start (kafka.create_topics)")
	}
}

// topicFails names the right that is missing, or the command that makes the topic.
func (d *doctor) topicFails(n *notes, t *facts.Topic) {
	f := n.failed(t.Name, t.Err)
	topic := "--topic " + shell(t.Name)
	switch {
	case t.New != nil && !d.Task.Kafka.CreateTopics:
		f.Commands = []string{d.create(t)}
	case t.New != nil:
		f.Commands = []string{d.acl("--operation Create --operation Describe --operation Write " + topic), d.create(t)}
	default:
		f.Commands = []string{d.acl("--operation Describe --operation Write " + topic)}
	}
	if t.Role == change.CheckpointTopic {
		f.Commands[0] = strings.Replace(f.Commands[0], "--operation Write", "--operation Write --operation Read", 1)
	}
}

// create is the command that makes a topic as a start would.
func (d *doctor) create(t *facts.Topic) string {
	out := "kafka-topics --bootstrap-server " + d.bootstrap() + " --create --topic " + shell(t.Name)
	for _, key := range sorted(t.New) {
		value := t.New[key]
		switch {
		case (key == "partitions" || key == "replication.factor") && value == "-1":
		case key == "partitions":
			out += " --partitions " + value
		case key == "replication.factor":
			out += " --replication-factor " + value
		default:
			out += " --config " + shell(key+"="+value)
		}
	}
	return out
}

func sorted(m map[string]string) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func (d *doctor) alter(topic, setting string) string {
	return "kafka-configs --bootstrap-server " + d.bootstrap() + " --alter --entity-type topics --entity-name " + shell(topic) + " --add-config " + shell(setting)
}

// replication looks at what stands behind acks=all.
func (d *doctor) replication(ctx context.Context, n *notes) {
	c, err := d.brokers(ctx)
	if err != nil {
		return // reach tells
	}
	var single []string
	well := 0
	for _, t := range c.Topics {
		if !t.Exists || t.Err != nil || t.Replicas == 0 {
			continue
		}
		least := number(t.Settings["min.insync.replicas"], 1)
		switch {
		case least > int64(t.Replicas):
			n.fail(t.Name, fmt.Sprintf("min.insync.replicas is %d and there are %s: no record is ever acknowledged", least, replicas(t.Replicas)), "lower min.insync.replicas, or add replicas").
				Commands = []string{d.alter(t.Name, fmt.Sprintf("min.insync.replicas=%d", max(1, t.Replicas-1)))}
		case int64(t.InSync) < least:
			n.fail(t.Name, fmt.Sprintf("%d of %s in sync, min.insync.replicas is %d: nothing can be written now", t.InSync, replicas(t.Replicas), least), "are brokers away?")
		case t.Replicas > 1 && least == int64(t.Replicas):
			n.warn(t.Name, fmt.Sprintf("min.insync.replicas is %d of %s: one broker that is away stops the task", least, replicas(t.Replicas)), "leave one replica to spare")
		case t.Replicas == 1:
			single = append(single, t.Name)
		default:
			well++
		}
	}
	switch {
	case len(single) > 0 && len(c.Brokers) == 1:
		n.warn(many(len(single), "topic"), "one replica, on the only broker: what that broker loses is lost", "fine for tests; elsewhere use three brokers and replication factor 3")
	case len(single) > 0:
		n.warn(some(single), "one replica: what its broker loses is lost, the checkpoint with it", "raise the replication factor to 3 (kafka-reassign-partitions)")
	}
	if well > 0 {
		n.pass(many(well, "topic"), "replicated, with one replica to spare")
	}
}

func replicas(n int) string {
	if n == 1 {
		return "1 replica"
	}
	return strconv.Itoa(n) + " replicas"
}

// some names the first few of a list.
func some(list []string) string {
	const most = 3
	if len(list) <= most {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), len(list)-most)
}

func number(text string, otherwise int64) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return otherwise
	}
	return n
}

// cleanup looks for policies that take away what must stay, or that refuse records.
func (d *doctor) cleanup(ctx context.Context, n *notes) {
	c, err := d.brokers(ctx)
	if err != nil {
		return // reach tells
	}
	keyless := d.keyless(ctx)
	looked := 0
	for _, t := range c.Topics {
		policy, known := t.Settings["cleanup.policy"]
		if !t.Exists || !known {
			continue
		}
		looked++
		compacts := strings.Contains(policy, "compact")
		switch {
		case t.Role == change.CheckpointTopic && policy != "compact":
			n.fail(t.Name, "the checkpoint's cleanup.policy is "+policy+": it would be lost, and a start refuses it", "set it to compact").Commands = []string{d.alter(t.Name, "cleanup.policy=compact")}
		case t.Role == change.MetadataTopic && !compacts:
			n.warn(t.Name, "the cleanup.policy of metadata is "+policy+": schemas of messages that are still there are deleted in time", "set it to compact, or retention.ms to -1").
				Commands = []string{d.alter(t.Name, "cleanup.policy=compact")}
		case t.Role == change.DeadLetterTopic && policy != "delete":
			n.warn(t.Name, "cleanup.policy is "+policy+": dead letters are deleted by the next one of the same key", "set it to delete").Commands = []string{d.alter(t.Name, "cleanup.policy=delete")}
		case t.Role == change.DeadLetterTopic && t.Settings["retention.ms"] != "-1":
			n.warn(t.Name, "dead letters are deleted after retention.ms "+t.Settings["retention.ms"], "set retention.ms to -1 to keep them until they are replayed").Commands = []string{d.alter(t.Name, "retention.ms=-1")}
		case t.Role == change.DataTopic && compacts && keyless[t.Name] != "":
			n.fail(t.Name, "cleanup.policy is "+policy+", and records of "+keyless[t.Name]+" have no key: the brokers refuse them", "name the key in source.keys, or set cleanup.policy to delete").
				Commands = []string{d.alter(t.Name, "cleanup.policy=delete")}
		case t.Role == change.DataTopic && compacts:
			n.warn(t.Name, "cleanup.policy is "+policy+": only the last change of each key stays, older ones go", "right for a copy of the table, wrong for its history").
				Commands = []string{d.alter(t.Name, "cleanup.policy=delete")}
		}
	}
	if looked > 0 && len(n.list) == 0 {
		n.pass(many(looked, "topic"), "cleanup policies fit their use")
	}
}

// keyless names, by topic, a table whose records have no key.
func (d *doctor) keyless(ctx context.Context) map[string]string {
	out := make(map[string]string)
	messages, _ := d.compiled(ctx)
	for _, m := range messages {
		if m.topic != "" && len(m.recordKey()) == 0 && m.output.KeyMode != envelope.KeySchemaAndTable && m.output.KeyMode != envelope.KeyTransactionID {
			out[m.topic] = m.version.ID.String()
		}
	}
	return out
}

// sizesOfMessages compares kafka.max_message_bytes with what topics and brokers take.
func (d *doctor) sizesOfMessages(ctx context.Context, n *notes) {
	c, err := d.brokers(ctx)
	if err != nil {
		return // reach tells
	}
	most := d.Task.Kafka.MaxMessageBytes
	ours := "kafka.max_message_bytes is " + sizeText(most)
	letters := d.Task.Kafka.MaxLetterBytes
	brokers := number(c.Settings["message.max.bytes"], 0)
	looked, new := 0, 0
	for _, t := range c.Topics {
		limit := number(t.Settings["max.message.bytes"], 0)
		if own := number(t.New["max.message.bytes"], 0); own > 0 {
			limit = own
		} else if t.New != nil {
			limit = brokers
		}
		switch {
		case limit == 0:
		case t.Role == change.DeadLetterTopic && limit < letters:
			n.warn(t.Name, fmt.Sprintf("the topic takes dead letters of %s at most, bad_records.max_bytes is %s: what does not fit stops its table", sizeText(limit), sizeText(letters)), "raise the one or lower the other").
				Commands = []string{d.alter(t.Name, fmt.Sprintf("max.message.bytes=%d", letters))}
		case limit >= most:
			looked++
		case t.Exists:
			n.fail(t.Name, fmt.Sprintf("the topic takes records of %s at most, %s: a larger one stops its table", sizeText(limit), ours), "raise the one or lower the other").
				Commands = []string{d.alter(t.Name, fmt.Sprintf("max.message.bytes=%d", most))}
		default:
			new++
		}
	}
	if new > 0 {
		n.fail(many(new, "new topic"), fmt.Sprintf("would take records of %s at most (message.max.bytes of the brokers), %s", sizeText(brokers), ours),
			fmt.Sprintf("set kafka.topics.data.config: {max.message.bytes: \"%d\"}, or lower kafka.max_message_bytes", most))
	}
	if fetch := number(c.Settings["replica.fetch.max.bytes"], most); fetch < most {
		n.warn("brokers", fmt.Sprintf("replica.fetch.max.bytes is %s, %s: replicas fetch larger records one by one", sizeText(fetch), ours), "raise replica.fetch.max.bytes of the brokers")
	}
	if looked > 0 {
		n.pass(many(looked, "topic"), "take what "+ours+" allows")
	}
}

// transactional looks at what delivery exactly_once stands on.
func (d *doctor) transactional(ctx context.Context, n *notes) {
	c, err := d.brokers(ctx)
	if err != nil || len(c.Transactions) == 0 {
		return // reach tells, or none are used
	}
	limit := time.Duration(number(c.Settings["transaction.max.timeout.ms"], 0)) * time.Millisecond
	if limit > 0 && d.Task.Kafka.TransactionTimeout > limit {
		n.fail("kafka.transaction_timeout", fmt.Sprintf("%s is more than transaction.max.timeout.ms of the brokers, %s", age(d.Task.Kafka.TransactionTimeout), age(limit)), "lower it")
	}
	well, open := 0, ""
	for _, x := range c.Transactions {
		if x.Err != nil {
			n.failed(x.ID, x.Err).Commands = []string{d.acl("--operation Describe --operation Write --transactional-id " + shell(x.ID))}
			continue
		}
		well++
		if x.State == "Ongoing" {
			open = "; a transaction is open: the task runs, or was killed a moment ago"
		}
	}
	switch first := c.Transactions[0]; {
	case well == 1 && len(c.Transactions) == 1:
		n.pass(first.ID, "the coordinator is "+first.Coordinator+open)
	case well > 0:
		n.pass(many(well, "transactional id"), "their coordinators answer"+open)
	}
}

// group looks at how replicas find each other.
func (d *doctor) group(ctx context.Context, n *notes) {
	c, err := d.brokers(ctx)
	if err != nil || c.Group == nil {
		return // reach tells, or none is used
	}
	g := c.Group
	switch {
	case g.Err != nil:
		n.failed(g.ID, g.Err).Commands = []string{d.acl("--operation Read --operation Describe --group " + shell(g.ID))}
	case g.Members == 0:
		n.pass(g.ID, "no replica runs now")
	default:
		n.pass(g.ID, many(g.Members, "replica")+" of the task run now")
	}
}

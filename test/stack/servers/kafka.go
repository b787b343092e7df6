package servers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

const kafkaVersion = "4.3.1"

// kafka is one Apache Kafka node that is broker and KRaft controller in one process. Who comes without login may do everything; at the port
// guarded [User] logs in with the stack's password, by PLAIN, and may do what tests grant.
type kafka struct{}

const guarded = "guarded"

func (kafka) name() string    { return Kafka }
func (kafka) ports() []string { return []string{"client", "controller", guarded} }
func (kafka) account() string { return "" }

func (kafka) prepare(ctx context.Context, s site) error {
	return formatKafka(ctx, s, kafkaProperties(s))
}

// formatKafka writes the configuration of a node and makes its data folder.
func formatKafka(ctx context.Context, s site, properties string) error {
	files := map[string]string{"server.properties": properties, "log4j2.properties": kafkaLogging}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	args := append(jvm(s), "-XX:+UseSerialGC", loggingOption, "-cp", s.tools.KafkaJars+"/*",
		"kafka.tools.StorageTool", "format", "-t", clusterID, "-c", "server.properties")
	return s.helper(ctx, s.tools.Java, args...)
}

// clusterID is a fixed base64 UUID: stacks never talk to each other, and a fixed name keeps logs comparable.
const clusterID = "Y3RicmlkZ2Uuc3RhY2suMQ"

func (kafka) command(s site) command { return runKafka(s, "-Xmx512m") }

func runKafka(s site, options ...string) command {
	return command{
		path: s.tools.Java,
		args: append(append(jvm(s), options...), loggingOption, "-cp", s.tools.KafkaJars+"/*", "kafka.Kafka", "server.properties"),
		stop: syscall.SIGTERM, abort: syscall.SIGKILL,
	}
}

// jvm keeps the files that Java programs leave in the temporary folder within the server's own, and does without the
// second compiler: a start then takes half the processor time, and the broker's cost per record stays the same.
func jvm(s site) []string {
	return []string{"-Djava.io.tmpdir=" + s.dir, "-XX:-UsePerfData", "-XX:TieredStopAtLevel=1", "-Djava.awt.headless=true"}
}

const loggingOption = "-Dlog4j2.configurationFile=log4j2.properties"

func (kafka) ready(ctx context.Context, s site) error {
	return askKafka(ctx, address(s.ports["client"]))
}

func kafkaProperties(s site) string {
	client, controller, guard := address(s.ports["client"]), address(s.ports["controller"]), address(s.ports[guarded])
	lines := []string{
		"process.roles=broker,controller",
		"node.id=1",
		"controller.quorum.voters=1@" + controller,
		fmt.Sprintf("listeners=PLAINTEXT://%s,CONTROLLER://%s,GUARDED://%s", client, controller, guard),
		fmt.Sprintf("advertised.listeners=PLAINTEXT://%s,GUARDED://%s", client, guard),
		"listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,GUARDED:SASL_PLAINTEXT",
		"listener.name.guarded.sasl.enabled.mechanisms=PLAIN",
		fmt.Sprintf("listener.name.guarded.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_%s=%q;", User, s.password),
		"authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
		"super.users=User:ANONYMOUS",
		"inter.broker.listener.name=PLAINTEXT",
	}
	return strings.Join(append(lines, sharedProperties(s, 1)...), "\n") + "\n"
}

// sharedProperties are those of every node: few partitions of the internal topics, because each costs files and time at the first use.
func sharedProperties(s site, replicas int) []string {
	return []string{
		"controller.listener.names=CONTROLLER",
		"log.dirs=" + filepath.Join(s.dir, "data"),
		"auto.create.topics.enable=false",
		"group.initial.rebalance.delay.ms=0",
		"broker.heartbeat.interval.ms=1000",
		"broker.session.timeout.ms=5000", // after a crash a node waits for the end of its own old session
		fmt.Sprint("offsets.topic.replication.factor=", replicas),
		"offsets.topic.num.partitions=5",
		fmt.Sprint("transaction.state.log.replication.factor=", replicas),
		fmt.Sprint("transaction.state.log.min.isr=", (replicas+1)/2),
		"transaction.state.log.num.partitions=5",
		fmt.Sprint("share.coordinator.state.topic.replication.factor=", replicas),
		fmt.Sprint("share.coordinator.state.topic.min.isr=", (replicas+1)/2),
		"share.coordinator.state.topic.num.partitions=5",
		"log.cleaner.dedupe.buffer.size=16777216",
	}
}

const kafkaLogging = `status = warn
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d %p %c{1}: %m%n
rootLogger.level = warn
rootLogger.appenderRef.out.ref = out
logger.server.name = kafka.server
logger.server.level = info
`

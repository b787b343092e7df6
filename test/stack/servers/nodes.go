package servers

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"
)

// The part kafka3 is a cluster of four servers: three brokers, and a controller of its own, so that leaders can be elected whichever brokers are
// down. Topics have three replicas, of which two must have a record before it is acknowledged. Heaps are small: it serves tests of faults, and
// nobody logs in.
type (
	controller struct{}
	node       struct{ id int } // from 1; the controller has 0
)

// Node is the name of a broker of the cluster, by its number from 1 to 3.
func Node(id int) string { return fmt.Sprint(Kafka3, "-", id) }

const controllerName = Kafka3 + "-controller"

func (controller) name() string    { return controllerName }
func (controller) ports() []string { return []string{"client"} }
func (controller) account() string { return "" }

func (controller) prepare(ctx context.Context, s site) error {
	lines := []string{"process.roles=controller", "node.id=0", "controller.quorum.voters=" + quorum(s), "listeners=CONTROLLER://" + address(s.ports["client"])}
	return formatKafka(ctx, s, strings.Join(append(lines, clusterProperties(s)...), "\n")+"\n")
}

func (controller) command(s site) command { return runKafka(s, "-Xmx192m", "-XX:+UseSerialGC") }

// ready: brokers ask it for everything else, and each says by itself when it is ready.
func (controller) ready(ctx context.Context, s site) error {
	dialer := net.Dialer{Timeout: time.Second}
	conn, err := dialer.DialContext(ctx, "tcp", address(s.ports["client"]))
	if err != nil {
		return err
	}
	return conn.Close()
}

func (n node) name() string  { return Node(n.id) }
func (node) ports() []string { return []string{"client"} }
func (node) account() string { return "" }

func (n node) prepare(ctx context.Context, s site) error {
	client := address(s.ports["client"])
	lines := []string{
		"process.roles=broker", fmt.Sprint("node.id=", n.id), "controller.quorum.voters=" + quorum(s),
		"listeners=PLAINTEXT://" + client, "advertised.listeners=PLAINTEXT://" + client, "inter.broker.listener.name=PLAINTEXT",
	}
	return formatKafka(ctx, s, strings.Join(append(lines, clusterProperties(s)...), "\n")+"\n")
}

func (node) command(s site) command { return runKafka(s, "-Xmx256m", "-XX:+UseSerialGC") }

func (node) ready(ctx context.Context, s site) error {
	return askKafka(ctx, address(s.ports["client"]))
}

// quorum is the one voter.
func quorum(s site) string {
	for _, server := range s.all {
		if server.Name == controllerName {
			return "0@" + address(server.Ports["client"])
		}
	}
	return ""
}

// clusterProperties: who leads is a matter of tests, not of a balance that the controller strikes by itself. A follower that does not come is out
// after two seconds.
func clusterProperties(s site) []string {
	return append(sharedProperties(s, 3), "default.replication.factor=3", "min.insync.replicas=2", "auto.leader.rebalance.enable=false",
		"unclean.leader.election.enable=false", "replica.lag.time.max.ms=2000")
}

// brokers are the addresses of the cluster's brokers.
func brokers(all []Server) []string {
	var out []string
	for _, server := range all {
		if partOf(server.Name) == Kafka3 && server.Name != controllerName {
			out = append(out, address(server.Ports["client"]))
		}
	}
	return out
}

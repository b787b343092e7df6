package embedded

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
)

// Options say where the demo servers listen and what they keep. The zero value serves both from memory on free ports.
type Options struct {
	KafkaPort    int         // 0 = any free port; a busy port moves on to the next free one
	RegistryPort int         // likewise
	NoRegistry   bool        // broker only
	DataDir      string      // keeps records and schemas there; "" = memory only, which grows without bound
	Partitions   int         // of a topic created with the broker's default; 0 = 1
	Broker       []kfake.Opt // further options of the broker, for tests: SASL, TLS, ACLs, more nodes
}

// Servers are a running demo broker and registry.
type Servers struct {
	cluster  *kfake.Cluster
	registry *registry
	http     *http.Server
	url      string
	served   chan struct{}
}

// Start starts the servers and returns when they answer.
func Start(o Options) (*Servers, error) {
	cluster, err := startBroker(o)
	if err != nil {
		return nil, fmt.Errorf("start demo broker: %w", err)
	}
	s := &Servers{cluster: cluster}
	if o.NoRegistry {
		return s, nil
	}
	if err := s.startRegistry(o); err != nil {
		cluster.Close()
		return nil, fmt.Errorf("start demo registry: %w", err)
	}
	return s, nil
}

// Brokers are the addresses of the demo broker's nodes, host:port.
func (s *Servers) Brokers() []string { return s.cluster.ListenAddrs() }

// RegistryURL is the base URL of the demo registry, "" without one.
func (s *Servers) RegistryURL() string { return s.url }

// Cluster is the demo broker itself, so that a test can inject faults.
func (s *Servers) Cluster() *kfake.Cluster { return s.cluster }

// Close stops both servers; open connections are cut.
func (s *Servers) Close() error {
	var err error
	if s.http != nil {
		err = s.http.Close()
		<-s.served
		err = errors.Join(err, s.registry.close())
	}
	s.cluster.Close()
	return err
}

func startBroker(o Options) (*kfake.Cluster, error) {
	opts := []kfake.Opt{
		kfake.NumBrokers(1),
		kfake.DefaultNumPartitions(max(o.Partitions, 1)),
		kfake.ListenFn(listen),
	}
	if o.KafkaPort != 0 {
		opts = append(opts, kfake.Ports(o.KafkaPort))
	}
	if o.DataDir != "" {
		opts = append(opts, kfake.DataDir(filepath.Join(o.DataDir, "kafka")))
	}
	return kfake.NewCluster(append(opts, o.Broker...)...)
}

func (s *Servers) startRegistry(o Options) error {
	file := ""
	if o.DataDir != "" {
		if err := os.MkdirAll(o.DataDir, 0o755); err != nil {
			return err
		}
		file = filepath.Join(o.DataDir, "schemas.jsonl")
	}
	reg, err := openRegistry(file)
	if err != nil {
		return err
	}
	ln, err := listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(o.RegistryPort)))
	if err != nil {
		return errors.Join(err, reg.close())
	}
	s.registry, s.url, s.served = reg, "http://"+ln.Addr().String(), make(chan struct{})
	s.http = &http.Server{Handler: reg, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(s.served)
		s.http.Serve(ln) // ends with ErrServerClosed by Close
	}()
	return nil
}

// nextPorts is how many ports after a busy one are tried.
const nextPorts = 50

// listen opens address; where its port is busy, the next free one after it.
func listen(network, address string) (net.Listener, error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return nil, err
	}
	for next := port; ; next++ {
		ln, err := net.Listen(network, net.JoinHostPort(host, strconv.Itoa(next)))
		if err == nil || port == 0 || next >= port+nextPorts || !errors.Is(err, syscall.EADDRINUSE) {
			return ln, err
		}
	}
}

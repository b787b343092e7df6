//go:build linux

package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/IBM/sarama"
	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"

	"ctbridge/test/stack/servers"
)

// data writes a mark into a server and reads it back with a client that has nothing to do with this package.
type data struct{ write, read func(target string) error }

func marks() map[string]data {
	return map[string]data{
		servers.Kafka:    {writeKafka, readKafka},
		servers.Registry: {writeRegistry, readRegistry},
		servers.Postgres: {execute("pgx", "CREATE TABLE mark AS SELECT 42 AS n"), query("pgx", "SELECT n FROM mark")},
		servers.MariaDB:  {execute("mysql", "CREATE DATABASE mark", "CREATE TABLE mark.mark AS SELECT 42 AS n"), query("mysql", "SELECT n FROM mark.mark")},
	}
}

func TestServersKeepTheirDataThroughOutages(t *testing.T) {
	p := build(t)
	p.must(t, "up")
	t.Cleanup(func() { p.must(t, "down") })
	env := map[string]string{}
	for line := range strings.Lines(p.must(t, "env")) {
		name, value, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "export "), "=")
		env[name] = strings.Trim(value, "'")
	}
	stack, err := servers.Open(env[servers.StateVariable])
	if err != nil {
		t.Fatal(err)
	}
	targets := map[string]string{
		servers.Kafka: env[servers.KafkaVariable], servers.Registry: env[servers.RegistryVariable],
		servers.Postgres: env[servers.PostgresVariable], servers.MariaDB: env[servers.MariaDBVariable],
	}
	for name, mark := range marks() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outages(t, stack, name, targets[name], mark)
		})
	}
}

func outages(t *testing.T, stack *servers.Stack, name, target string, mark data) {
	ctx := t.Context()
	check := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	check("write", mark.write(target))
	check("read", mark.read(target))
	for _, outage := range []struct {
		name string
		end  func(context.Context, string) error
	}{{"stop", stack.Stop}, {"kill", stack.Kill}} {
		check(outage.name, outage.end(ctx, name))
		if err := mark.read(target); err == nil {
			t.Errorf("after %s the server still answers", outage.name)
		}
		begin := time.Now()
		check("start after "+outage.name, stack.Start(ctx, name))
		t.Logf("start after %s: %.1f s", outage.name, time.Since(begin).Seconds())
		check("read after "+outage.name, mark.read(target))
	}
	check("pause", stack.Pause(ctx, name))
	if !silent(t, stack, name) {
		t.Error("a paused server answers")
	}
	check("resume", stack.Resume(ctx, name))
	check("read after the pause", mark.read(target))
}

// silent says whether the server lets a client in and then says nothing for half a second. MariaDB greets each
// client, the others answer any line.
func silent(t *testing.T, stack *servers.Stack, name string) bool {
	t.Helper()
	state, err := stack.State()
	if err != nil {
		t.Fatal(err)
	}
	server, err := state.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", server.Ports["client"]))
	if err != nil {
		return false // it must be taken by the kernel's queue
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(500 * time.Millisecond))
	fmt.Fprintf(conn, "GET / HTTP/1.0\r\n\r\n")
	n, err := conn.Read(make([]byte, 1))
	var timeout net.Error
	return n == 0 && errors.As(err, &timeout) && timeout.Timeout()
}

func execute(driver string, statements ...string) func(string) error {
	return func(target string) error {
		db, err := sql.Open(driver, target)
		if err != nil {
			return err
		}
		defer db.Close()
		for _, statement := range statements {
			if _, err := db.Exec(statement); err != nil {
				return fmt.Errorf("%s: %w", statement, err)
			}
		}
		return nil
	}
}

func query(driver, statement string) func(string) error {
	return func(target string) error {
		db, err := sql.Open(driver, target)
		if err != nil {
			return err
		}
		defer db.Close()
		var n int
		err = db.QueryRow(statement).Scan(&n)
		if err == nil && n != 42 {
			err = fmt.Errorf("%s: read %d; want 42", statement, n)
		}
		return err
	}
}

func kafkaConfig() *sarama.Config {
	config := sarama.NewConfig()
	config.Version = sarama.V3_6_0_0
	config.Producer.Return.Successes = true
	config.Metadata.Retry.Max = 0
	config.Net.DialTimeout, config.Net.ReadTimeout = 5*time.Second, 10*time.Second
	return config
}

func writeKafka(target string) error {
	admin, err := sarama.NewClusterAdmin([]string{target}, kafkaConfig())
	if err != nil {
		return err
	}
	defer admin.Close()
	if err := admin.CreateTopic("mark", &sarama.TopicDetail{NumPartitions: 1, ReplicationFactor: 1}, false); err != nil {
		return err
	}
	config := kafkaConfig()
	config.Metadata.Retry.Max = 20 // the new topic's leader
	producer, err := sarama.NewSyncProducer([]string{target}, config)
	if err != nil {
		return err
	}
	defer producer.Close()
	_, _, err = producer.SendMessage(&sarama.ProducerMessage{Topic: "mark", Value: sarama.StringEncoder("42")})
	return err
}

func readKafka(target string) error {
	consumer, err := sarama.NewConsumer([]string{target}, kafkaConfig())
	if err != nil {
		return err
	}
	defer consumer.Close()
	partition, err := consumer.ConsumePartition("mark", 0, sarama.OffsetOldest)
	if err != nil {
		return err
	}
	defer partition.Close()
	select {
	case record := <-partition.Messages():
		if string(record.Value) != "42" {
			return fmt.Errorf("read %q; want 42", record.Value)
		}
		return nil
	case <-time.After(20 * time.Second):
		return fmt.Errorf("no record within 20 s")
	}
}

func writeRegistry(target string) error {
	body := strings.NewReader(`{"schema":"{\"type\":\"string\"}"}`)
	return expect(http.Post(target+"/subjects/mark-value/versions", "application/vnd.schemaregistry.v1+json", body))("id")
}

func readRegistry(target string) error {
	return expect(http.Get(target + "/subjects"))("mark-value")
}

func expect(response *http.Response, err error) func(part string) error {
	return func(part string) error {
		if err != nil {
			return err
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err == nil && (response.StatusCode != http.StatusOK || !strings.Contains(string(body), part)) {
			err = fmt.Errorf("%s: %s; want %q in it", response.Status, body, part)
		}
		return err
	}
}

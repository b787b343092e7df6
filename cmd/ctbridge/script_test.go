package main

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint/memory"
	"ctbridge/schema/registry"
	"ctbridge/sink/embedded"
	"ctbridge/sink/kafka"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"ctbridge": main})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits":    exits,
			"servers":  servers,
			"produce":  produce,
			"database": database,
			"until":    until,
			"freeport": freePort,
			"becomes":  becomes,
			"again":    again,
			"shorten":  shorten,
		},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
	})
}

// exits runs a command that must end with a code: `exits 2 ctbridge validate x.yaml`. stdout and stderr can be looked at afterwards.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE command [args]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		got = failed.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// servers starts a broker and a registry, and sets BROKERS and REGISTRY.
func servers(ts *testscript.TestScript, _ bool, _ []string) {
	s, err := embedded.Start(embedded.Options{})
	ts.Check(err)
	ts.Defer(func() { _ = s.Close() })
	ts.Setenv("BROKERS", strings.Join(s.Brokers(), ","))
	ts.Setenv("REGISTRY", s.RegistryURL())
}

// database runs the SQL of a file on an SQLite database, which it makes where it is missing: `database shop.db shop.sql`.
func database(ts *testscript.TestScript, _ bool, args []string) {
	db, err := sql.Open("sqlite", "file:"+ts.MkAbs(args[0])+"?_pragma=busy_timeout(10000)")
	ts.Check(err)
	defer func() { _ = db.Close() }()
	_, err = db.ExecContext(context.Background(), ts.ReadFile(args[1]))
	ts.Check(err)
}

// until runs a command again and again until it succeeds: `until ctbridge tail …` waits for a topic.
func until(ts *testscript.TestScript, _ bool, args []string) {
	deadline := time.After(30 * time.Second)
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		err := ts.Exec(args[0], args[1:]...)
		if err == nil {
			return
		}
		select {
		case <-deadline:
			ts.Check(err)
		case <-again.C:
		}
	}
}

// freePort sets a variable to a port that nobody listens on now.
func freePort(ts *testscript.TestScript, _ bool, args []string) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	ts.Check(ln.Close())
	ts.Setenv(args[0], port)
}

// becomes asks the status of a task, whatever its exit code, until the JSON matches: `becomes orders.yaml "state":"failed"`.
func becomes(ts *testscript.TestScript, _ bool, args []string) {
	want := regexp.MustCompile(args[1])
	deadline := time.After(30 * time.Second)
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		_ = ts.Exec("ctbridge", "status", "--json", args[0]) // its code is part of what is waited for
		got := ts.ReadFile("stdout")
		if want.MatchString(got) {
			return
		}
		select {
		case <-deadline:
			ts.Fatalf("%s does not become %s: %s%s", args[0], want, got, ts.ReadFile("stderr"))
		case <-again.C:
		}
	}
}

// produce writes the lines of a file, each "key value", to a topic: `produce TOPIC FILE`, with a third argument as Avro of that schema file.
func produce(ts *testscript.TestScript, _ bool, args []string) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	sink, err := kafka.NewIdempotent(kafka.Config{Brokers: strings.Split(ts.Getenv("BROKERS"), ",")}, new(memory.Store))
	ts.Check(err)
	defer func() { _ = sink.Close() }()
	_, err = sink.Open(ctx)
	ts.Check(err)
	ts.Check(sink.EnsureTopic(ctx, args[0], change.DataTopic))
	for _, line := range strings.Split(strings.TrimSpace(ts.ReadFile(args[1])), "\n") {
		key, value, _ := strings.Cut(line, " ")
		body := []byte(value)
		if len(args) > 2 {
			body = avroOf(ctx, ts, args[0], ts.ReadFile(args[2]), value)
		}
		ts.Check(sink.Publish(ctx, &change.Record{Topic: args[0], Key: []byte(key), Value: body, Timestamp: time.Date(2031, 5, 10, 16, 0, 0, 0, time.UTC)}))
	}
	ts.Check(sink.Commit(ctx, nil))
}

// again publishes the record at an offset of a topic once more: `again TOPIC OFFSET`.
func again(ts *testscript.TestScript, _ bool, args []string) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	c := kafka.Config{Brokers: strings.Split(ts.Getenv("BROKERS"), ",")}
	offset, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	var found *kafka.Message
	ts.Check(kafka.Tail(ctx, c, kafka.TailOptions{Topics: args[:1], From: kafka.FromStart, Exit: true}, func(m *kafka.Message) error {
		if m.Offset == offset {
			found = m
		}
		return nil
	}))
	if found == nil {
		ts.Fatalf("topic %s has no record at %d", args[0], offset)
	}
	sink, err := kafka.NewIdempotent(c, new(memory.Store))
	ts.Check(err)
	defer func() { _ = sink.Close() }()
	_, err = sink.Open(ctx)
	ts.Check(err)
	ts.Check(sink.Publish(ctx, &change.Record{Topic: args[0], Key: found.Key, Value: found.Value, Headers: found.Headers}))
	ts.Check(sink.Commit(ctx, nil))
}

// shorten removes the records of partition 0 before an offset, as retention does: `shorten TOPIC OFFSET`.
func shorten(ts *testscript.TestScript, _ bool, args []string) {
	offset, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(ts.Getenv("BROKERS"), ",")...))
	ts.Check(err)
	defer client.Close()
	request, topic, partition := kmsg.NewPtrDeleteRecordsRequest(), kmsg.NewDeleteRecordsRequestTopic(), kmsg.NewDeleteRecordsRequestTopicPartition()
	partition.Offset, topic.Topic = offset, args[0]
	topic.Partitions = append(topic.Partitions, partition)
	request.Topics = append(request.Topics, topic)
	_, err = request.RequestWith(context.Background(), client)
	ts.Check(err)
}

// avroOf encodes a text by a schema that is one string, with the prefix of the registry.
func avroOf(ctx context.Context, ts *testscript.TestScript, topic, schema, text string) []byte {
	client, err := registry.New(registry.Config{URL: ts.Getenv("REGISTRY")})
	ts.Check(err)
	defer func() { _ = client.Close() }()
	id, err := client.Register(ctx, topic+"-value", strings.TrimSpace(schema))
	ts.Check(err)
	out := binary.BigEndian.AppendUint32([]byte{0}, uint32(id))
	return append(binary.AppendVarint(out, int64(len(text))), text...)
}

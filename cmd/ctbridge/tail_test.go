package main

import (
	"bytes"
	"context"
	"testing"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint/memory"
	"ctbridge/sink/embedded"
	"ctbridge/sink/kafka"
)

// cancelling ends the reading once something has been written: Ctrl-C of the one who watches.
type cancelling struct {
	bytes.Buffer
	cancel context.CancelFunc
}

func (c *cancelling) Write(p []byte) (int, error) {
	defer c.cancel()
	return c.Buffer.Write(p)
}

func TestFollowingEndsFineWhenStopped(t *testing.T) {
	t.Parallel()
	servers, err := embedded.Start(embedded.Options{NoRegistry: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = servers.Close() })
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	sink, err := kafka.NewIdempotent(kafka.Config{Brokers: servers.Brokers()}, new(memory.Store))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sink.Close() }()
	if _, err := sink.Open(ctx); err != nil {
		t.Fatal(err)
	}
	if err := sink.EnsureTopic(ctx, "orders", change.DataTopic); err != nil {
		t.Fatal(err)
	}
	if err := sink.Publish(ctx, &change.Record{Topic: "orders", Value: []byte(`{"a":1}`)}); err != nil {
		t.Fatal(err)
	}
	if err := sink.Commit(ctx, nil); err != nil {
		t.Fatal(err)
	}
	reading, stop := context.WithCancel(ctx)
	defer stop()
	out := &cancelling{cancel: stop}
	var errs bytes.Buffer
	a := &app{out: out, err: &errs, env: func(string) (string, bool) { return "", false }}
	if got := a.execute(reading, []string{"tail", "--brokers", servers.Brokers()[0], "--topic", "orders", "--from", "beginning"}); got != exitFine || errs.Len() > 0 {
		t.Errorf("it ends with %d: %s", got, errs.String())
	}
	if !bytes.Contains(out.Bytes(), []byte(`{"a":1}`)) {
		t.Errorf("printed %q", out.String())
	}
}

package proxy_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ctbridge/test/chaos/proxy"
)

// echo answers what it hears.
func echo(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() { defer conn.Close(); _, _ = io.Copy(conn, conn) }()
		}
	}()
	return listener.Addr().String()
}

// say sends a text and gives what comes back within a while.
func say(t *testing.T, conn net.Conn, text string) string {
	t.Helper()
	_ = conn.SetDeadline(time.Now().Add(300 * time.Millisecond))
	if _, err := io.WriteString(conn, text); err != nil {
		return ""
	}
	answer := make([]byte, len(text))
	n, _ := io.ReadFull(conn, answer)
	return string(answer[:n])
}

func dial(t *testing.T, p *proxy.Proxy) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func TestPlain(t *testing.T) {
	t.Parallel()
	p, err := proxy.New(echo(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	conn := dial(t, p)
	expect := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	p.Count("lo")
	expect("in good times", say(t, conn, "hello"), "hello")
	expect("with no such end", say(t, conn, "help"), "help")
	if n := p.Counted(); n != 1 {
		t.Errorf("%d words counted, want 1", n)
	}
	p.Stall()
	expect("stalled", say(t, conn, "later"), "")
	p.Flow()
	expect("after the stall", say(t, conn, "x"), "l") // what was said meanwhile arrives
	before, within := p.CutAt(proxy.Cut{Text: "SELECT", Nth: 2}), p.CutAt(proxy.Cut{Text: "FETCH", After: 3})
	conn = dial(t, p)
	expect("the first time", say(t, conn, "SELECT 1"), "SELECT 1")
	expect("cut before", say(t, conn, "SELECT 2"), "")
	expect("cut within", say(t, dial(t, p), "FETCH"), "FET")
	<-before.Fired()
	<-within.Fired()
	p.Refuse()
	expect("refused", say(t, dial(t, p), "x"), "")
	p.Admit()
	conn = dial(t, p)
	expect("admitted", say(t, conn, "x"), "x")
	p.Forget()
	expect("forgotten", say(t, conn, "x"), "")
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a forgotten connection says %v; want silence", err)
	}
	conn = dial(t, p)
	expect("new after it", say(t, conn, "x"), "x")
	p.CutAll()
	expect("all cut", say(t, conn, "x"), "")
}

// A client stays with the proxy although the broker tells its own address, and each act does what it says to a produce request.
func TestKafka(t *testing.T) {
	t.Parallel()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "t"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	p, err := proxy.NewKafka(cluster.ListenAddrs()[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	client, err := kgo.NewClient(kgo.SeedBrokers(p.Addr()), kgo.DefaultProduceTopic("t"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	for _, act := range []proxy.Act{proxy.CutBefore, proxy.CutAfter} {
		rule := p.Break(proxy.Rule{Key: kmsg.Produce, Act: act})
		if err := client.ProduceSync(t.Context(), kgo.StringRecord("x")).FirstErr(); err != nil { // it tries again, and is idempotent
			t.Errorf("act %d: %v", act, err)
		}
		<-rule.Fired()
	}
	p.Break(proxy.Rule{Key: kmsg.EndTxn, Act: proxy.Answer, Code: kerr.NotCoordinator.Code})
	end := kmsg.NewPtrEndTxnRequest()
	end.TransactionalID = "id"
	broker := client.Broker(0)
	response, err := broker.Request(t.Context(), end)
	if err != nil || response.(*kmsg.EndTxnResponse).ErrorCode != kerr.NotCoordinator.Code {
		t.Errorf("answer %+v, %v", response, err)
	}
	p.Break(proxy.Rule{Key: kmsg.Metadata, Act: proxy.Swallow})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := broker.Request(ctx, kmsg.NewPtrMetadataRequest()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("swallowed: %v", err)
	}
}

func TestKafkaForgets(t *testing.T) {
	t.Parallel()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	p, err := proxy.NewKafka(cluster.ListenAddrs()[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	client, err := kgo.NewClient(kgo.SeedBrokers(p.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	ask := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		_, err := client.SeedBrokers()[0].Request(ctx, kmsg.NewPtrMetadataRequest())
		return err
	}
	if err := ask(); err != nil {
		t.Error(err)
	}
	p.Forget()
	if err := ask(); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("forgotten: %v", err)
	}
}

func TestRegistry(t *testing.T) {
	t.Parallel()
	posts := 0
	behind := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if posts++; r.URL.Path != "/base/subjects/s/versions" {
			t.Errorf("path %s", r.URL.Path)
		}
		_, _ = io.WriteString(w, `{"id":1}`)
	}))
	t.Cleanup(behind.Close)
	r, err := proxy.NewRegistry(behind.URL + "/base")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	post := func() int {
		response, err := http.Post(r.URL()+"/subjects/s/versions", "application/json", strings.NewReader("{}"))
		if err != nil {
			return 0
		}
		defer response.Body.Close()
		return response.StatusCode
	}
	for i, c := range []struct {
		mood   proxy.Mood
		status int
		posts  int // that the registry has seen by then
	}{{proxy.Well, 200, 1}, {proxy.FailAfter, 500, 2}, {proxy.Conflict, 409, 2}, {proxy.Gone, 0, 2}, {proxy.Well, 200, 3}} {
		r.Set(c.mood)
		if status := post(); status != c.status || posts != c.posts {
			t.Errorf("%d: status %d with %d posts, want %d with %d", i, status, posts, c.status, c.posts)
		}
	}
	if r.Struck() != 3 {
		t.Errorf("%d went wrong, want 3", r.Struck())
	}
}

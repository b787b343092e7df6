package e2e

import (
	"net"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"ctbridge/bridge/fault"
	"ctbridge/sink/embedded"
)

// A stop that comes while records are on their way: they are published and checkpointed, and the next start repeats nothing.
func TestStopWhileRecordsAreOnTheirWay(t *testing.T) {
	t.Parallel()
	for _, name := range deliveryNames {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStand(t)
			changes := s.deliveries()[name]
			sent, release := make(chan struct{}), make(chan struct{})
			s.Cluster().ControlKey(int16(kmsg.Produce), func(r kmsg.Request) (kmsg.Response, error, bool) {
				if !produces(r, s.task+".parcel") {
					s.Cluster().KeepControl()
					return nil, nil, false
				}
				s.Cluster().DropControl()
				close(sent)
				s.Cluster().SleepControl(func() { <-release })
				return nil, nil, false
			})
			s.create("parcel")
			for n := 1; n <= 9; n++ {
				s.add("parcel", "I", n, "t0", n, "x", nil)
			}
			r := s.start(changes)
			<-sent
			ended := make(chan error, 1)
			go func() { ended <- r.stop() }()
			close(release)
			if err := <-ended; err != nil {
				t.Fatal(err)
			}
			s.read(1, "parcel")
			r = s.start(changes)
			s.add("parcel", "I", 10, "t1", 10, "x", nil)
			s.read(10, "parcel")
			r.drain()
			s.checkRows(10, "parcel")
		})
	}
}

// Case 78: a topic that nobody may make stops its table alone; it goes on when the topic is there.
func TestCase78_TopicsAreMadeByHand(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	for _, topic := range []string{s.task + ".good", s.task + ".metadata", "ctbridge." + s.task + ".checkpoint"} {
		config := map[string]string{"cleanup.policy": "compact"}
		if strings.HasSuffix(topic, ".good") {
			config = nil
		}
		if err := s.Cluster().CreateTopic(topic, 1, config); err != nil {
			t.Fatal(err)
		}
	}
	s.create("good", "bad")
	s.add("bad", "I", 1, "t1", 1, "a", nil)
	s.add("good", "I", 2, "t2", 1, "b", nil)
	r := s.start(set{"kafka.create_topics": "false"})
	s.read(1, "good")
	r.says("table stopped", "table=bad", s.task+".bad")
	if err := s.Cluster().CreateTopic(s.task+".bad", 1, nil); err != nil {
		t.Fatal(err)
	}
	want(t, keysOf(s.read(1, "bad")), "1")
}

// Case 78: settings that the brokers cannot fulfil are told before anything is read.
func TestCase78_ReplicationFactor(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.create("parcel")
	s.add("parcel", "I", 1, "t1", 1, "a", nil)
	r := s.start(set{"kafka.topics.data.replication_factor": "3"})
	r.says("table stopped", "table=parcel", "lower the replication factor or add brokers")
	r.drain()
	err := s.start(set{"kafka.topics.checkpoint.replication_factor": "3", "source.startup_timeout": "1s", "checkpoint.topic": "other"}).ends()
	if fault.ClassOf(err) != fault.Fatal || !strings.Contains(err.Error(), "lower the replication factor") {
		t.Errorf("class %s: %v", fault.ClassOf(err), err)
	}
}

// Case 19: on a system where nothing follows, the last event of the last transaction says so, in the commit that brings it.
func TestCase19_LastFlagOnAQuietSystem(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.create("parcel", "depot")
	r := s.start()
	r.says("msg=started")
	s.bulk("parcel", 1, 3, "t1")
	want(t, lines(t, s.read(3, "parcel"))[2:], "3 INSERT 3 +(fee=null id=3 status=x) -null null/07 #3 last")
	r.drain()
	if n := len(s.all(s.task + ".parcel")); n != 3 {
		t.Errorf("%d messages, want 3", n)
	}
}

// An entry of source.tables that chooses nothing, and a start without any table, are told.
func TestNothingToStream(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.create("parcel")
	r := s.start(set{"source.tables": `["parcel", "depto*", "!audit"]`})
	r.says("no change table for an entry of source.tables", "entry=depto*", "check its spelling")
	r.drain()
	if strings.Contains(r.log.String(), "audit") || strings.Contains(r.log.String(), "entry=parcel") {
		t.Errorf("told too much:\n%s", r.log)
	}
	s = newStand(t)
	s.db.Exec(t, "CREATE TABLE parcel (id int)")
	r = s.start()
	r.says("tables=0", "no change table for an entry of source.tables", "source.qlik.suffix")
	s.db.Exec(t, "DROP TABLE parcel")
	s.create("parcel") // and it joins when it appears
	s.add("parcel", "I", 1, "t1", 1, "a", nil)
	s.read(1, "parcel")
}

// A taken port ends the start before anything else happens.
func TestMetricsPortIsTaken(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	_, _, err = s.build(s.text(set{"metrics.listen": quote(ln.Addr().String())}))
	if err == nil || !strings.Contains(err.Error(), ln.Addr().String()) || !strings.Contains(err.Error(), "metrics.listen") {
		t.Errorf("error %v", err)
	}
	if len(s.Cluster().PartitionInfos("ctbridge."+s.task+".checkpoint")) > 0 {
		t.Error("the checkpoint topic is there")
	}
}

// What passes validation can be built: no file is refused later for what stands in it.
func TestValidFilesCanBeBuilt(t *testing.T) {
	t.Parallel()
	s := newStand(t, func(o *embedded.Options) { o.Broker = []kfake.Opt{kfake.NumBrokers(1)} })
	words := []string{"data", "beforeData", "headers", "DataRecord", "Data", "KeyRecord", "Headers", "schema", "table", "operation", "x", "a-b", "_u0041", "a.b", "", "9", "{table}",
		"{namespace}", "{namespace}.{table}", "{schema}_{table}", "{namespace}x.{table}", "{task}.{table}.{schema}", "com.{table}"}
	rapid.Check(t, func(rt *rapid.T) {
		keys := set{"metrics.listen": `""`}
		for _, name := range []string{"data", "before_data", "headers", "data_record", "row", "key_record", "headers_record", "namespace", "table_namespace"} {
			if rapid.Bool().Draw(rt, "set "+name) {
				keys["qlik.names."+name] = quote(rapid.SampledFrom(words).Draw(rt, name))
			}
		}
		for key, values := range map[string][]string{
			"format": {"json", "avro"}, "qlik.envelope": {"true", "false"}, "qlik.metadata": {"auto", "none", "topic", "registry"}, "qlik.logical_types": {"true", "false"},
			"qlik.before_image": {"true", "false"}, "qlik.delete_row_in": {"data", "beforeData", "both"}, "key.format": {"text", "avro"},
			"key.mode": {"primary_key", "none"}, "schema_registry.url": {s.RegistryURL()}, "kafka.topic": {"all", `"{table}"`}, "delivery": {"exactly_once", "at_least_once"},
		} {
			if rapid.Bool().Draw(rt, "set "+key) {
				keys[key] = rapid.SampledFrom(values).Draw(rt, key)
			}
		}
		task, err := buildIfValid(s.text(keys))
		if err != nil {
			rt.Fatalf("%v\n%s", err, s.text(keys))
		}
		if task != nil {
			if err := task.Close(); err != nil {
				rt.Fatal(err)
			}
		}
	})
}

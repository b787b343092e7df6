package e2e

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ctbridge/sink/kafka"
)

// versions are the table version and key of each metadata message.
func versions(t *testing.T, messages []*kafka.Message) (out []string) {
	t.Helper()
	for _, m := range messages {
		lineage := inner(decodeJSON(t, m.Value))["lineage"].(tree)
		out = append(out, fmt.Sprintf("%s v%s %s", lineage["table"], lineage["tableVersion"].(json.Number), m.Key))
	}
	return out
}

// Metadata comes once per version of a table, not once per start, and names the schema that the data messages carry.
func TestMetadataOncePerVersion(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"schema_id", "table"} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			s := newStand(t)
			s.create("depot", "parcel")
			s.add("depot", "I", 1, "t1", 1, "a", nil)
			changes := set{"qlik.metadata_key": key}
			r := s.start(changes)
			s.read(1, "depot")
			s.add("parcel", "I", 2, "t2", 1, "a", nil)
			s.read(1, "parcel")
			r.drain()
			r = s.start(changes)
			s.add("parcel", "I", 3, "t3", 2, "b", nil)
			s.read(2, "parcel")
			r.drain()
			s.db.Exec(t, "ALTER TABLE parcel ADD weight int")
			s.db.Exec(t, "ALTER TABLE parcel__ct ADD weight int")
			s.start(changes)
			s.add("parcel", "I", 4, "t4", 3, "c", nil, 7)
			messages := s.read(3, "parcel")
			var ids []string
			for _, m := range messages {
				ids = append(ids, decodeJSON(t, m.Value)["messageSchemaId"].(string))
			}
			if ids[0] != ids[1] || ids[1] == ids[2] {
				t.Errorf("schema ids %v, want two equal ones and another", ids)
			}
			depot := decodeJSON(t, s.read(1, "depot")[0].Value)["messageSchemaId"].(string)
			keys := []string{depot, ids[0], ids[2]}
			if key == "table" {
				keys = []string{"depot", "parcel", "parcel"}
			}
			want(t, versions(t, s.all(s.task+".metadata")), "depot v1 "+keys[0], "parcel v1 "+keys[1], "parcel v2 "+keys[2])
		})
	}
}

// Another set of options changes the schema of an unchanged table: its metadata comes anew, its version stays.
func TestMetadataOfOtherOptions(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.create("parcel")
	s.add("parcel", "I", 1, "t1", 1, "a", nil)
	r := s.start(set{"qlik.metadata_key": "table"})
	s.read(1, "parcel")
	r.drain()
	s.add("parcel", "I", 2, "t2", 2, "b", nil)
	s.start(set{"qlik.metadata_key": "table", "qlik.include_source_name": "message"})
	s.read(2, "parcel")
	want(t, versions(t, s.all(s.task+".metadata")), "parcel v1 parcel", "parcel v1 parcel")
}

// Metadata that goes to another place, or in another format, is not there yet.
func TestMetadataInAnotherPlace(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ first, second set }{
		"switched on":    {set{"qlik.metadata": "none"}, nil},
		"another topic":  {nil, set{"kafka.metadata_topic": `"{task}.other"`}},
		"another format": {nil, set{"format": "avro", "kafka.metadata_topic": `"{task}.metadata"`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStand(t)
			s.create("parcel")
			s.add("parcel", "I", 1, "t1", 1, "a", nil)
			r := s.start(c.first)
			s.read(1, "parcel")
			r.drain()
			topic := s.task + map[bool]string{true: ".other", false: ".metadata"}[name == "another topic"]
			before := 0
			if s.Cluster().TopicInfo(topic) != nil {
				before = len(s.all(topic))
			}
			for n := 2; n <= 3; n++ {
				s.add("parcel", "I", n, "t1", n, "a", nil)
				r = s.start(c.second)
				s.read(n, "parcel")
				r.drain()
			}
			messages := s.all(topic)[before:]
			if len(messages) != 1 {
				t.Fatalf("%d new metadata messages, want 1", len(messages))
			}
			if name == "another format" && decodeAvro(t, envelopeSchema, messages[0].Value)["type"] != "MD" {
				t.Errorf("metadata %q", messages[0].Value)
			}
		})
	}
}

// Without metadata there is no topic for it.
func TestNoMetadataTopic(t *testing.T) {
	t.Parallel()
	for name, changes := range map[string]func(s *stand) set{
		"none":     func(*stand) set { return set{"qlik.metadata": "none"} },
		"registry": func(s *stand) set { return s.avro() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStand(t)
			s.create("parcel")
			s.add("parcel", "I", 1, "t1", 1, "a", nil)
			s.start(changes(s))
			s.read(1, "parcel")
			if info := s.Cluster().TopicInfo(s.task + ".metadata"); info != nil {
				t.Errorf("there is a topic %s", info.Topic)
			}
			if info := s.Cluster().TopicInfo(s.task + ".parcel"); info == nil {
				t.Error("the other topic is not found either: the test does not see topics")
			}
		})
	}
}

// A consumer never sees a data message whose metadata is not there yet: both become visible together (I9).
func TestMetadataInTheSameTransaction(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.create("parcel")
	s.add("parcel", "I", 1, "t1", 1, "a", nil)
	s.start()
	s.read(1, "parcel")
	if n := len(s.all(s.task + ".metadata")); n != 1 {
		t.Errorf("%d metadata messages beside the data message, want 1", n)
	}
}

// The same where no transaction binds them, while the brokers take no metadata for a moment.
func TestMetadataIsVisibleFirst(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	if err := s.Cluster().CreateTopic(s.task+".metadata", 1, nil); err != nil {
		t.Fatal(err)
	}
	refusals := s.Cluster().Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: s.task + ".metadata", Err: kerr.NotEnoughReplicas, Count: 3})
	early := make(chan int, 100)
	s.Cluster().ControlKey(int16(kmsg.Produce), func(r kmsg.Request) (kmsg.Response, error, bool) {
		s.Cluster().KeepControl()
		if produces(r, s.task+".parcel") {
			early <- refusals.Hits()
		}
		return nil, nil, false
	})
	s.create("parcel")
	s.add("parcel", "I", 1, "t1", 1, "a", nil)
	s.start(set{"delivery": "at_least_once"})
	s.read(1, "parcel")
	if n := <-early; n != 3 {
		t.Errorf("the first data message left after %d of 3 refusals of the metadata", n)
	}
	if n := len(s.all(s.task + ".metadata")); n != 1 {
		t.Errorf("%d metadata messages, want 1", n)
	}
}

func produces(r kmsg.Request, topic string) bool {
	for _, t := range r.(*kmsg.ProduceRequest).Topics {
		if t.Topic == topic {
			return true
		}
	}
	return false
}

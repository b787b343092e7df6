package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/linkedin/goavro/v2"

	"ctbridge/bridge/envelope"
	"ctbridge/test/qlikwriter"
)

// named is a table whose columns, quoted, have the given names; the first is its key.
func (s *stand) named(table string, columns ...string) qlikwriter.Shape {
	shape := qlikwriter.Shape{Table: table, Key: columns[:1]}
	for i, c := range columns {
		ddl := s.db.Dialect.Quote(c) + " int"
		if i == 0 {
			ddl += " NOT NULL"
		}
		shape.Columns = append(shape.Columns, ddl)
	}
	return shape
}

// Cases 61, 62, 63: names that SQL allows and topics, JSON or Avro do not. JSON keeps them, Avro and topics get names that can be undone.
func TestCase61_NamesThroughTheWholeLine(t *testing.T) {
	t.Parallel()
	tables := map[string]struct {
		topic   string
		columns []string
	}{
		"Acme Ltd$Item Ledger$4f2a": {"Acme_u0020Ltd_u0024Item_u0020Ledger_u00244f2a", []string{"a.b", "Unit, Price", `odd]na"me`}},
		"odd]name":                  {"odd_u005Dname", []string{"id", "select"}},
		"&Test Orders":              {"_u0026Test_u0020Orders", []string{"&Qty", "&"}},
		"größe":                     {"gr_u00F6_u00DFe", []string{"Total ", "3alpha", "@type", "größe", "名前", "a-b", "a_b", "a_u002Db", "😀"}},
		`quote"d`:                   {"quote_u0022d", []string{"data", "headers", "beforeData", "operation"}},
		"a.b":                       {"a.b", []string{"id"}},
	}
	for _, format := range []string{"json", "avro"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			s := newStand(t)
			s.task = "my-task.1"
			n := 0
			for table, c := range tables {
				n++
				shape := s.named(table, c.columns...)
				s.db.Create(t, shape)
				values := make([]any, len(c.columns))
				for i := range values {
					values[i] = i + 1
				}
				s.addTo(shape, "I", n, "t1", values...)
			}
			changes := set{"qlik.envelope": "false", "kafka.topic": `"{table}"`}
			if format == "avro" {
				changes = s.avro()
				changes["kafka.topic"], changes["key.format"] = `"{table}"`, "avro"
			}
			s.start(changes)
			for table, c := range tables {
				m := s.readTopics(1, c.topic)[0]
				if got := envelope.OriginalName(c.topic); table != "a.b" && got != table {
					t.Errorf("topic %s goes back to %q, want %q", c.topic, got, table)
				}
				s.checkNames(format, c.columns, m.Key, m.Value)
			}
		})
	}
}

func (s *stand) checkNames(format string, columns []string, key, value []byte) {
	s.Helper()
	var row tree
	if format == "json" {
		row = decodeJSON(s, value)["data"].(tree)
	} else {
		row = s.decodeRegistered(value)["data"].(tree)
		if got := s.decodeRegistered(key); len(got) != 1 || fmt.Sprint(got[envelope.AvroName(columns[0])]) != "1" {
			s.Errorf("key %v", got)
		}
	}
	if len(row) != len(columns) {
		s.Errorf("%d columns in %v, want %q", len(row), row, columns)
	}
	for i, column := range columns {
		name := column
		if format == "avro" {
			name = envelope.AvroName(column)
		}
		if fmt.Sprint(row[name]) != fmt.Sprint(i+1) {
			s.Errorf("column %q is %v in %v, want %d", column, row[name], row, i+1)
		}
	}
}

// Tables that come to one topic although the templates tell tables apart, here by a dot in a name: the first goes on, the second says what to do and
// publishes nothing, in none of its outputs.
func TestTwoTablesOnOneTopic(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.create("b.x", "x", "depot")
	s.add("b.x", "I", 1, "t1", 1, "dotted", nil)
	s.add("x", "I", 2, "t2", 1, "plain", nil)
	s.add("depot", "I", 3, "t3", 1, "other", nil)
	outputs := set{"envelopes": `[qlik, {envelope: debezium, topic: "{task}.b.{table}"}]`}
	r := s.start(outputs)
	s.read(1, "depot")
	r.says(`topic `+s.task+`.b.x: table x in output debezium would share it with table \"b.x\" in output qlik`, "set kafka.topic to a template with {envelope}")
	want(t, lines(t, s.read(1, "b.x")), "1 INSERT 1 +(fee=null id=1 status=dotted) -null null/07 #1 last")
	r.drain()
	r = s.start(outputs, set{"source.tables": `["*", "!\"b.x\""]`}) // one of them left out: the other takes over, with all its rows
	want(t, lines(t, s.read(1, "x")), "1 INSERT 2 +(fee=null id=1 status=plain) -null null/07 #1 last")
	want(t, briefs(t, s.read(2, "b.x")[1:], asJSON(t)), `{"id":1} c <nil>>1 #1/1`)
	r.drain()
}

// A name that looks like an adjusted one is adjusted itself: both tables have topics of their own.
func TestNameThatLooksAdjusted(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.create("A b", "A_u0020b")
	s.add("A b", "I", 1, "t1", 1, "spelled", nil)
	s.add("A_u0020b", "I", 2, "t2", 1, "escaped", nil)
	s.start()
	want(t, lines(t, s.read(1, "A_u0020b")), "1 INSERT 1 +(fee=null id=1 status=spelled) -null null/07 #1 last")
	want(t, lines(t, s.read(1, "A_u005Fu0020b")), "1 INSERT 2 +(fee=null id=1 status=escaped) -null null/07 #1 last")
}

// A table whose topic would be one of the task's own never gets there.
func TestTableNamedLikeTheTasksTopics(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.create("metadata", "parcel", "checkpoint")
	s.add("metadata", "I", 1, "t1", 1, "x", nil)
	s.add("checkpoint", "I", 2, "t1", 1, "x", nil)
	s.add("parcel", "I", 3, "t1", 1, "x", nil)
	r := s.start(set{"checkpoint.topic": `"{task}.checkpoint"`})
	s.read(1, "parcel")
	r.says("table metadata would share it with the task's own records", "table checkpoint would share it with the task's own records", "kafka.metadata_topic")
	for _, m := range s.all(s.task + ".metadata") {
		if decodeJSON(t, m.Value)["type"] != "MD" {
			t.Errorf("in the metadata topic: %s", m.Value)
		}
	}
	r.drain()
	s.start(set{"checkpoint.topic": `"{task}.checkpoint"`}).says("msg=started") // the checkpoint is readable
}

// Complaint: namespaces that Avro does not allow, from hyphens and dots in the names of task and table.
func TestComplaint_LegalNamespaces(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.task = "my-task.v2"
	shape := s.named("order-items.2024", "id")
	s.db.Create(t, shape)
	s.addTo(shape, "I", 1, "t1", 1)
	s.start(s.avro())
	value := s.read(1, "order-items.2024")[0].Value
	schema := s.schema(uint32(value[4]))
	for _, part := range []string{`"namespace":"com.attunity.queue.msg.my_u002Dtask_u002Ev2.order_u002Ditems_u002E2024"`, `"doc":"order-items.2024"`} {
		if !strings.Contains(schema, part) {
			t.Errorf("no %s in %s", part, schema)
		}
	}
	if _, err := goavro.NewCodec(schema); err != nil { // a second opinion
		t.Error(err)
	}
	if row := s.decodeRegistered(value)["data"].(tree); fmt.Sprint(row["id"]) != "1" {
		t.Errorf("row %v", row)
	}
}

package config

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
)

func TestOutputsInheritWhatTheyLeaveOut(t *testing.T) {
	t.Parallel()
	task := load(t, "outputs.yaml")
	id := change.TableID{Schema: "dbo", Name: "order lines"}
	for i, want := range []struct{ name, envelope, format, topic, metadata, metadataTopic, subject, tombstones, keyFormat string }{
		{"qlik", "qlik", "json", "dbo.order_u0020lines", "topic", "orders.metadata", "orders.qlik.{topic}-{part}", "false", "text"},
		{"debezium", "debezium", "avro", "debezium.dbo.order_u0020lines", "none", "debezium.orders.metadata", "orders.debezium.{topic}-{part}", "true", "avro"},
		{"stream", "datastream", "json", "stream-ops-main-order_u0020lines", "none", "stream.orders.metadata", "orders.stream.{topic}-{part}", "true", "text"},
	} {
		o := task.Envelopes[i]
		topic, err := o.TopicFor(id)
		if got := []string{o.Name, o.Envelope, o.Format, topic, o.Metadata, o.MetadataTopic, o.SubjectStrategy, o.Tombstones, o.Key.Format}; err != nil || !slices.Equal(got,
			[]string{want.name, want.envelope, want.format, want.topic, want.metadata, want.metadataTopic, want.subject, want.tombstones, want.keyFormat}) {
			t.Errorf("output %d: %q, %v, want %+v", i, got, err, want)
		}
	}
	if task.UsesRegistry(&task.Envelopes[0]) || !task.UsesRegistry(&task.Envelopes[1]) || task.Source.Database != "ops-main" {
		t.Errorf("%+v", task)
	}
	summary := task.Summary()
	if strings.Count(summary, "\nmessages ") != 3 || strings.Contains(summary, "u:p") {
		t.Error(summary)
	}
	key := &task.Envelopes[1].Key
	for id, want := range map[change.TableID][]string{{Schema: "dbo", Name: "orders"}: {"customer_id", "id"}, {Schema: "dbo", Name: "x"}: {"region"}, {Schema: "s", Name: "x"}: nil} {
		if got := key.ColumnsOf(id); !slices.Equal(got, want) {
			t.Errorf("key of %s: %q, want %q", id, got, want)
		}
	}
	if task.Envelopes[0].Key.ColumnsOf(change.TableID{Schema: "dbo", Name: "orders"}) != nil {
		t.Error("columns without mode columns")
	}
}

// One output written as a list is the same as the short form.
func TestListOfOneIsTheShortForm(t *testing.T) {
	t.Parallel()
	const head = "task: orders\nsource: {engine: mysql, dsn: 'u:p@tcp(h)/shop'}\nkafka: {brokers: [k:1]}\n"
	short, err := Parse([]byte(head+"envelope: qlik\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	list, err := Parse([]byte(head+"envelopes: [qlik]\n"), nil)
	if err != nil || len(list.Envelopes) != 1 {
		t.Fatal(list, err)
	}
	if short.Summary() != list.Summary() {
		t.Errorf("%s\n%s", short.Summary(), list.Summary())
	}
}

func TestClosestPatternHasTheColumns(t *testing.T) {
	t.Parallel()
	m := ColumnsByTable{"*": {"z"}, "a.*": {"y"}, "a.b*": {"x"}, "a.bc": {"w"}, `a."b*"`: {"v"}}
	for name, want := range map[string]string{"bc": "w", "bcd": "x", "c": "y", "b*": "v"} {
		if got := m.Of(change.TableID{Schema: "a", Name: name}); !slices.Equal(got, []string{want}) {
			t.Errorf("a.%s: %q, want %q", name, got, want)
		}
	}
	if got := m.Of(change.TableID{Schema: "b", Name: "a"}); !slices.Equal(got, []string{"z"}) {
		t.Errorf("b.a: %q", got)
	}
	if lists := m.Lists(); len(lists) != 5 {
		t.Errorf("%q", lists)
	}
}

func TestDatabaseName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ engine, dsn, want string }{
		{EnginePostgres, "postgres://u:p@h:5432/shop?sslmode=disable", "shop"},
		{EnginePostgres, "postgres://u:p@h/?dbname=shop", "shop"},
		{EnginePostgres, "host=h user=u password=p dbname=shop", "shop"},
		{EnginePostgres, "host=h dbname='my shop'", "my shop"},
		{EnginePostgres, "postgres://u:p@h", ""},
		{EngineSQLServer, "sqlserver://u:p@h?database=ops-main", "ops-main"},
		{EngineSQLServer, "server=h;user id=u;password=p;Database=shop", "shop"},
		{EngineSQLServer, "server=h;Initial Catalog=shop;password=p", "shop"},
		{EngineSQLServer, "sqlserver://u:p@h/instance", ""},
		{EngineMySQL, "u:p/w@tcp(h:3306)/shop?tls=true", "shop"},
		{EngineMySQL, "u:secret", ""},
		{EngineSQLite, "file:/x.db", "main"},
	} {
		s := Source{Engine: c.engine, DSN: NewSecret(c.dsn)}
		if got := s.databaseName(); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.engine, c.dsn, got, c.want)
		}
	}
	s := Source{Database: "named", Engine: EngineSQLite}
	if s.databaseName() != "named" {
		t.Error(s.databaseName())
	}
}

// What a topic shows of a name tells the name, and no two names look the same.
func TestNamesInTopicsAreReversible(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-z._-]{0,4}(_u[0-9A-F]{4}){0,2}[ a-z]{0,3}`)).Draw(t, "name")
		if got := envelope.OriginalName(topicPart(name)); got != name {
			t.Fatalf("%q → %q → %q", name, topicPart(name), got)
		}
	})
}

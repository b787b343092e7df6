package live

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ctbridge/test/qlikwriter"
)

// flinkTable is one topic as Flink shall read it.
type flinkTable struct {
	Name    string            `json:"name"`
	Columns string            `json:"columns"`
	Topic   string            `json:"topic"`
	Options map[string]string `json:"options"`

	config     string // of the bridge
	seen, born string // the moment and the date of the rows as Flink shows them
}

// flinkColumns declares the columns of the table with the types of three of them, which depend on format and mode.
func flinkColumns(seen, born, small string) string {
	return "id INT, zone STRING, price DECIMAL(10,2), seen " + seen + ", born " + born +
		", `raw` BYTES, `open` BOOLEAN, big BIGINT, weight DOUBLE, ratio FLOAT, small " + small
}

func flinkTables(t testing.TB) []flinkTable {
	const moment, day = "1935504001604805", "8729"
	return []flinkTable{
		{
			Name: "bare", config: "debezium: {times: isostring}\n",
			Columns: flinkColumns("TIMESTAMP_LTZ(6)", "STRING", "SMALLINT"), seen: "2031-05-02 16:00:01.604805", born: "1993-11-25Z",
			Options: map[string]string{"format": "debezium-json", "debezium-json.timestamp-format.standard": "ISO-8601"},
		},
		{
			Name: "schemas", config: "debezium: {schemas: true, decimals: string}\n",
			Columns: flinkColumns("BIGINT", "INT", "SMALLINT"), seen: moment, born: day,
			Options: map[string]string{"format": "debezium-json", "debezium-json.schema-include": "true"},
		},
		{
			Name: "avro", config: registry(t),
			Columns: flinkColumns("BIGINT", "INT", "INT"), seen: moment, born: day,
			Options: map[string]string{"format": "debezium-avro-confluent", "debezium-avro-confluent.url": need(t, "CTBRIDGE_TEST_REGISTRY")},
		},
	}
}

// A real consumer of Debezium's format, Flink, reads what the bridge publishes: JSON without and with schema, and Avro. A loaded row, inserts, an
// update, an update of the key and a delete arrive as such, with every value; tombstones are no trouble.
func TestFlinkReadsDebezium(t *testing.T) {
	folder := os.Getenv("CTBRIDGE_TEST_FLINK")
	if folder == "" {
		t.Skip("CTBRIDGE_TEST_FLINK is not set: make flink installs Flink and runs this test")
	}
	db := postgres(t)
	shape := qlikwriter.Shape{Table: "parcel", Key: []string{"id"}, Columns: []string{
		"id int NOT NULL", "zone varchar(20)", "price numeric(10,2)", "seen timestamp", "born date", "raw bytea", "open boolean", "big bigint",
		"weight double precision", "ratio real", "small smallint",
	}}
	db.Create(t, shape)
	db.Exec(t, "INSERT INTO %s (id) VALUES (9)", db.Name("parcel"))
	tables := flinkTables(t)
	bridges := make([]*bridge, len(tables))
	for i := range tables {
		bridges[i] = newBridge(t, db, tables[i].config+"envelope: debezium\nfull_load: {mode: initial}\n")
		tables[i].Topic = bridges[i].task + ".parcel"
		bridges[i].start()
		waitFor(t, func() bool { return bridges[i].hasLogged("full load done") })
	}
	row := func(id int, zone string) []any {
		return []any{id, zone, "-12345678.5", "2031-05-02 16:00:01.604805", "1993-11-25", []byte{0, 255, 16}, true, int64(9007199254740993), -0.1, 1.5, -7}
	}
	db.Add(t, db.DB, shape,
		qlikwriter.Row{Seq: qlikwriter.Seq(1), Oper: "I", Tx: "t1", Values: row(1, "größe")},
		qlikwriter.Row{Seq: qlikwriter.Seq(2), Oper: "B", Tx: "t2", Values: row(1, "größe")},
		qlikwriter.Row{Seq: qlikwriter.Seq(2), Oper: "U", Tx: "t2", Values: row(1, "b")},
		qlikwriter.Row{Seq: qlikwriter.Seq(3), Oper: "B", Tx: "t3", Values: row(1, "b")},
		qlikwriter.Row{Seq: qlikwriter.Seq(3), Oper: "U", Tx: "t3", Values: row(2, "b")},
		qlikwriter.Row{Seq: qlikwriter.Seq(4), Oper: "D", Tx: "t4", Values: row(2, "b")})
	for _, b := range bridges {
		waitFor(t, func() bool { b.checkAlive(); return b.metric("ctbridge_events_published_total") == 6 })
		b.stop()
	}
	got := flink(t, folder, tables)
	for _, table := range tables {
		if want := table.changes(); !slices.Equal(got[table.Name], want) {
			t.Errorf("%s:\n%s\nwant\n%s", table.Name, strings.Join(got[table.Name], "\n"), strings.Join(want, "\n"))
		}
	}
}

// changes are the changes of the table that Flink shall see, in the order of their keys.
func (f *flinkTable) changes() []string {
	full := func(id, zone string) string {
		return `{"big":"9007199254740993","born":"` + f.born + `","id":"` + id + `","open":"TRUE","price":"-12345678.50","ratio":"1.5","raw":"AP8Q",` +
			`"seen":"` + f.seen + `","small":"-7","weight":"-0.1","zone":"` + zone + `"}`
	}
	return []string{
		"+I " + full("1", "größe"), "-U " + full("1", "größe"), "+U " + full("1", "b"), "-D " + full("1", "b"),
		"+I " + full("2", "b"), "-D " + full("2", "b"),
		`+I {"big":null,"born":null,"id":"9","open":null,"price":null,"ratio":null,"raw":null,"seen":null,"small":null,"weight":null,"zone":null}`,
	}
}

// flink reads the tables with Flink SQL: the changes of each, in the order of their keys, those of one key in their own.
func flink(t testing.TB, folder string, tables []flinkTable) map[string][]string {
	t.Helper()
	spec, err := json.Marshal(tables)
	if err != nil {
		t.Fatal(err)
	}
	reader := exec.Command(filepath.Join(folder, "venv", "bin", "python"), "flink.py", folder, need(t, "CTBRIDGE_TEST_KAFKA"))
	var problem bytes.Buffer
	reader.Stdin, reader.Stderr = bytes.NewReader(spec), &problem
	out, err := reader.Output()
	if err != nil {
		t.Fatalf("flink: %v\n%s", err, problem.String())
	}
	got := make(map[string][]string)
	byKey := make(map[string]string) // of each change
	for line := range strings.Lines(string(out)) {
		var c struct {
			Table, Kind string
			Row         map[string]any
		}
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		text, _ := json.Marshal(c.Row)
		change := c.Kind + " " + string(text)
		byKey[change], _ = c.Row["id"].(string)
		got[c.Table] = append(got[c.Table], change)
	}
	for _, changes := range got {
		slices.SortStableFunc(changes, func(a, b string) int { return strings.Compare(byKey[a], byKey[b]) })
	}
	return got
}

package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"ctbridge/test/qlikwriter"
)

// envelopeSchema is the binary envelope as the vendor describes it.
const envelopeSchema = `{"type":"record","name":"MessageEnvelope","fields":[
	{"name":"magic","type":{"type":"fixed","name":"Magic","size":5}},
	{"name":"type","type":"string"},
	{"name":"headers","type":["null",{"type":"map","values":"string"}]},
	{"name":"messageSchemaId","type":["null","string"]},
	{"name":"messageSchema","type":["null","string"]},
	{"name":"message","type":"bytes"}]}`

// A consumer without a registry: the metadata message carries its own schema and the schema of the data messages.
func TestAvroWithoutRegistry(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.life()
	s.start(set{"format": "avro"})
	md := decodeAvro(t, envelopeSchema, s.readTopics(1, s.task+".metadata")[0].Value)
	if fmt.Sprintf("%s", md["magic"]) != "atMSG" || md["type"] != "MD" || md["headers"] != nil {
		t.Errorf("metadata envelope %v", md)
	}
	metadata := decodeAvro(t, md["messageSchema"].(string), md["message"].([]byte))
	if metadata["schemaId"] != md["messageSchemaId"] {
		t.Errorf("schema ids %v and %v", metadata["schemaId"], md["messageSchemaId"])
	}
	var got []string
	for _, m := range s.read(4, "parcel") {
		dt := decodeAvro(t, envelopeSchema, m.Value)
		if dt["type"] != "DT" || dt["messageSchemaId"] != metadata["schemaId"] || dt["messageSchema"] != nil || dt["headers"] != nil {
			t.Errorf("data envelope %v", dt)
		}
		got = append(got, string(m.Key)+" "+line(decodeAvro(t, metadata["dataSchema"].(string), dt["message"].([]byte))))
	}
	want(t, got,
		"5 INSERT 1 +(fee=1.50 id=5 status=new) -null 07/07 #1 last",
		"5 UPDATE 2 +(fee=1.50 id=5 status=sent) -(fee=1.50 id=5 status=new) 02/07 #1",
		"6 UPDATE 3 +(fee=1.50 id=6 status=sent) -(fee=1.50 id=5 status=sent) 01/07 #2 last",
		"6 DELETE 4 +(fee=1.50 id=6 status=sent) -null 01/07 #1 last")
}

// The registry's wire format, with keys as records of their own.
func TestAvroWithRegistry(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.task = "orders"
	s.life()
	s.start(s.avro(), set{"key.format": "avro", "qlik.key_change": "delete_insert"})
	var got []string
	for _, m := range s.readTopics(5, "orders.parcel") {
		got = append(got, fmt.Sprintf("%v %s", s.decodeRegistered(m.Key), line(s.decodeRegistered(m.Value))))
	}
	want(t, got,
		"map[id:5] INSERT 1 +(fee=1.50 id=5 status=new) -null 07/07 #1 last",
		"map[id:5] UPDATE 2 +(fee=1.50 id=5 status=sent) -(fee=1.50 id=5 status=new) 02/07 #1",
		"map[id:5] DELETE 3 +(fee=1.50 id=5 status=sent) -null 01/07 #2",
		"map[id:6] INSERT 3 +(fee=1.50 id=6 status=sent) -null 07/07 #3 last",
		"map[id:6] DELETE 4 +(fee=1.50 id=6 status=sent) -null 01/07 #1 last")
	var subjects []string
	s.get(s.RegistryURL()+"/subjects", &subjects)
	slices.Sort(subjects)
	want(t, subjects, "orders.parcel-key", "orders.parcel-value")
}

// How subjects are named, and the level of those that the task creates.
func TestSubjects(t *testing.T) {
	t.Parallel()
	const record = "com.attunity.queue.msg.orders.parcel."
	for strategy, subjects := range map[string][]string{
		"topic":        {"orders.parcel-key", "orders.parcel-value"},
		"record":       {record + "DataRecord", record + "KeyRecord"},
		"topic_record": {"orders.parcel-" + record + "DataRecord", "orders.parcel-" + record + "KeyRecord"},
	} {
		t.Run(strategy, func(t *testing.T) {
			t.Parallel()
			s := newStand(t)
			s.task = "orders"
			s.life()
			s.start(s.avro(), set{"key.format": "avro", "schema_registry.subject_strategy": strategy, "schema_registry.compatibility": "FULL"})
			s.readTopics(4, "orders.parcel")
			var got []string
			s.get(s.RegistryURL()+"/subjects", &got)
			slices.Sort(got)
			want(t, got, subjects...)
			for _, subject := range subjects {
				var level struct{ CompatibilityLevel string }
				s.get(s.RegistryURL()+"/config/"+subject, &level)
				if level.CompatibilityLevel != "FULL" {
					t.Errorf("%s has level %q", subject, level.CompatibilityLevel)
				}
			}
		})
	}
}

// kinds is a table with a column of every kind that SQLite can declare.
var kinds = qlikwriter.Shape{Table: "kinds", Key: []string{"id"}, Columns: []string{
	"id BIGINT NOT NULL", "yes BOOLEAN", "tiny TINYINT UNSIGNED", "small SMALLINT", "mid MEDIUMINT", "big BIGINT", "ubig BIGINT UNSIGNED", "dbl DOUBLE",
	"num DECIMAL(38,10)", "day DATE", "clock TIME(3)", "fine TIME(6)", "at DATETIME(6)", "zoned TIMESTAMP WITH TIME ZONE", "txt VARCHAR(50)",
	"wtxt NVARCHAR(50)", "note CLOB", "bin VARBINARY(8)", "img BLOB", "uid UUID", "doc JSON",
}}

func (s *stand) addKinds() {
	s.Helper()
	s.db.Create(s, kinds)
	s.addTo(kinds, "I", 1, "t1", 1, 1, 255, -32768, 8388607, int64(-9223372036854775808), int64(9223372036854775807), 0.1,
		"-98765.0123456789", "1993-11-25", "23:59:59.999", "23:59:59.999999", "2023-03-21 14:34:21.000100", "2031-05-10 16:00:01.604805+03:00",
		"größe \"名前\"", "wide", strings.Repeat("n", 100), []byte{0, 1, 0xfe}, []byte{}, "00112233-4455-6677-8899-AABBCCDDEEFF", `{"a": 1}`)
	s.addTo(kinds, "I", 2, "t2", append([]any{2}, make([]any, len(kinds.Columns)-1)...)...)
}

var micros = time.Date(2023, 3, 21, 14, 34, 21, 100_000, time.UTC)

// Values of every kind in every format (case 57: 255, 38 digits, NULL; case 50: digits by the declared scale).
func TestCase57_ValuesThroughTheWholeLine(t *testing.T) {
	t.Parallel()
	// By column: JSON, Avro, Avro with logical types, each as its decoder shows it.
	const text = "größe \"名前\""
	values := map[string][3]any{
		"id": {json.Number("1"), int64(1), int64(1)}, "yes": {true, true, true}, "tiny": {json.Number("255"), int32(255), int32(255)},
		"small": {json.Number("-32768"), int32(-32768), int32(-32768)}, "mid": {json.Number("8388607"), int32(8388607), int32(8388607)},
		"big":  {json.Number("-9223372036854775808"), int64(-9223372036854775808), int64(-9223372036854775808)},
		"ubig": {"9223372036854775807", "9223372036854775807", big.NewRat(9223372036854775807, 1)}, "dbl": {json.Number("0.1"), 0.1, 0.1},
		"num":   {"-98765.0123456789", "-98765.0123456789", big.NewRat(-987650123456789, 1e10)},
		"day":   {"1993-11-25", "1993-11-25", time.Date(1993, 11, 25, 0, 0, 0, 0, time.UTC)},
		"clock": {"23:59:59.999", "23:59:59.999", 24*time.Hour - time.Millisecond}, "fine": {"23:59:59.999999", "23:59:59.999999", 24*time.Hour - time.Microsecond},
		"at":    {"2023-03-21 14:34:21.000100", "2023-03-21 14:34:21.000100", micros},
		"zoned": {"2031-05-10 13:00:01.604805", "2031-05-10 13:00:01.604805", time.Date(2031, 5, 10, 13, 0, 1, 604_805_000, time.UTC)},
		"txt":   {text, text, text}, "wtxt": {"wide", "wide", "wide"}, "note": {strings.Repeat("n", 100), strings.Repeat("n", 100), strings.Repeat("n", 100)},
		"bin": {"0001FE", []byte{0, 1, 0xfe}, []byte{0, 1, 0xfe}}, "img": {"", []byte{}, []byte{}},
		"uid": {"00112233-4455-6677-8899-aabbccddeeff", "00112233-4455-6677-8899-aabbccddeeff", "00112233-4455-6677-8899-aabbccddeeff"},
		"doc": {`{"a": 1}`, `{"a": 1}`, `{"a": 1}`},
	}
	for i, name := range []string{"json", "avro", "logical"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStand(t)
			s.addKinds()
			changes := map[string]set{"json": {"qlik.envelope": "false"}, "avro": s.avro(), "logical": s.avro()}[name]
			if name == "logical" {
				changes["qlik.logical_types"] = "true"
			}
			s.start(changes)
			var rows []tree
			for _, m := range s.read(2, "kinds") {
				if name == "json" {
					rows = append(rows, decodeJSON(t, m.Value)["data"].(tree))
				} else {
					rows = append(rows, s.decodeRegistered(m.Value)["data"].(tree))
				}
			}
			if len(rows[0]) != len(values) {
				t.Errorf("%d columns, want %d", len(rows[0]), len(values))
			}
			for _, column := range slices.Sorted(maps.Keys(values)) {
				if got, want := fmt.Sprintf("%T %v", rows[0][column], rows[0][column]), fmt.Sprintf("%T %v", values[column][i], values[column][i]); got != want {
					t.Errorf("%s is %s, want %s", column, got, want)
				}
				if column != "id" && rows[1][column] != nil {
					t.Errorf("NULL %s is %v", column, rows[1][column])
				}
			}
		})
	}
}

// Complaint: timestamp-micros read as milliseconds. The schema says what the number is, and the number is right by hand.
func TestComplaint_MicrosecondsAreMicroseconds(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.addKinds()
	s.start(s.avro(), set{"qlik.logical_types": "true"})
	value := s.read(1, "kinds")[0].Value
	schema := s.schema(uint32(value[4]))
	if !strings.Contains(schema, `{"type":"long","logicalType":"timestamp-micros"}`) {
		t.Fatalf("no timestamp-micros in %s", schema)
	}
	plainLong := strings.ReplaceAll(schema, `{"type":"long","logicalType":"timestamp-micros"}`, `"long"`)
	if got := decodeAvro(t, plainLong, value[5:])["data"].(tree)["at"]; got != micros.UnixMicro() {
		t.Errorf("at is %v, want %d", got, micros.UnixMicro())
	}
}

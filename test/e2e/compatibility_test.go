package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// notStreaming is what /readyz says of a table; empty = it streams.
func (r *running) notStreaming(table string) string {
	r.Helper()
	body, _ := fetch(r, "http://"+r.MetricsAddr()+"/readyz")
	tables, _ := decodeJSON(r, body)["tables_not_streaming"].(tree)
	problem, _ := tables[table].(string)
	return problem
}

// Case 66, with the bridge running: columns that come, NOT NULL or not, and a NOT NULL column that goes are compatible at every level. A column of another type is refused:
// its table alone stops, with the registry's reason, and goes on by itself once the level is relaxed.
func TestCase66_ColumnChangesWhileRunning(t *testing.T) {
	t.Parallel()
	for _, level := range []string{"BACKWARD", "FORWARD", "FULL"} {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			s := newStand(t)
			s.create("parcel", "depot")
			r := s.start(s.avro(), set{"schema_registry.compatibility": level, "qlik.external_schema_id": "true"})
			s.add("parcel", "I", 1, "t1", 1, "a", nil)
			s.read(1, "parcel")
			s.alter("ADD weight int")
			s.add("parcel", "I", 2, "t2", 2, "b", nil, 7)
			s.read(2, "parcel")
			s.alter("ADD zone char(2) NOT NULL DEFAULT 'x'")
			s.add("parcel", "I", 3, "t3", 3, "c", nil, 7, "de")
			s.read(3, "parcel")
			s.alter("DROP COLUMN zone")
			s.add("parcel", "I", 4, "t4", 4, "d", nil, 7)
			s.read(4, "parcel")
			s.alter("DROP COLUMN weight")
			s.alter("ADD weight varchar(9)")
			s.add("parcel", "I", 5, "t5", 5, "e", nil, "heavy")
			s.add("depot", "I", 6, "t6", 1, "other", nil)
			s.read(1, "depot")
			eventually(t, func() bool { return r.notStreaming("parcel") != "" }, "the table to stop")
			if problem := r.notStreaming("parcel"); !strings.Contains(problem, "409") && !strings.Contains(problem, "incompatible") || !strings.Contains(problem, s.task+".parcel-value") {
				t.Errorf("/readyz says %q, want the registry's reason", problem)
			}
			s.setLevel(s.task+".parcel-value", "NONE")
			messages := s.read(5, "parcel")
			eventually(t, func() bool { return r.notStreaming("parcel") == "" }, "the table to stream")
			var got, ids []string
			for _, m := range messages {
				decoded := s.decodeRegistered(m.Value)
				ids = append(ids, fmt.Sprint(decoded["headers"].(tree)["externalSchemaId"]))
				got = append(got, row(decoded["data"]))
			}
			want(t, got, "(fee=null id=1 status=a)", "(fee=null id=2 status=b weight=7)", "(fee=null id=3 status=c weight=7 zone=de)",
				"(fee=null id=4 status=d weight=7)", "(fee=null id=5 status=e weight=heavy)")
			for i := range ids {
				for j := range i {
					if ids[i] == ids[j] || ids[i] == "" {
						t.Errorf("externalSchemaId %q of versions %d and %d", ids[i], j+1, i+1)
					}
				}
			}
		})
	}
}

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"ctbridge/test/qlikwriter"
)

// Holes, truncations and replayed rows through the whole program: what consumers of the metadata topic see, what metrics and status tell.
func TestResetsTruncationsAndReplays(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.create("parcel")
	changes := set{"source.on_reset": "continue", "source.gap_marker": "true", "source.qlik.truncate": "marker", "source.deduplicate": "1m", "qlik.metadata_key": "table"}
	for n := 1; n <= 3; n++ {
		s.add("parcel", "I", n, fmt.Sprint("t", n), n, "a", nil)
	}
	r := s.start(changes)
	s.read(3, "parcel")
	for n := 2; n <= 4; n++ {
		s.add("parcel", "I", n, fmt.Sprint("t", n), n, "a", nil)
	}
	s.add("parcel", "TRUNCATE", 5, "t5", nil, "", nil)
	eventually(t, func() bool { return r.metric(`ctbridge_dropped_rows_total{reason="duplicate",table="parcel"}`) == 2 }, "two duplicates to be counted")
	s.readTopics(2, s.task+".metadata")
	r.drain()
	s.add("parcel", "I", 6, "t6", 6, "lost", nil)
	s.add("parcel", "I", 8, "t8", 8, "b", nil)
	s.db.Exec(t, "DELETE FROM parcel__ct WHERE header__change_seq <= '%s'", qlikwriter.Seq(6))
	r = s.start(changes)
	s.read(5, "parcel")
	if n := r.metric(`ctbridge_gaps_total{table="parcel"}`); n != 1 {
		t.Errorf("%v gaps, want 1", n)
	}
	body, _ := fetch(t, "http://"+r.MetricsAddr()+"/readyz")
	if gap := fmt.Sprint(decodeJSON(t, body)["gaps"].(tree)["parcel"]); !strings.Contains(gap, "rows_purged") || !strings.Contains(gap, qlikwriter.Seq(8)) {
		t.Errorf("/readyz tells the gap as %q", gap)
	}
	var got []string
	for _, m := range s.all(s.task + ".metadata") {
		decoded := decodeJSON(t, m.Value)
		message := decoded["message"].(tree)
		got = append(got, fmt.Sprintf("%s %s %v %v %v %v", m.Key, decoded["type"], message["reason"], message["from"], message["to"], message["changeSequence"]))
	}
	want(t, got, "parcel MD <nil> <nil> <nil> <nil>",
		"parcel TRUNCATE <nil> <nil> <nil> "+qlikwriter.Seq(5),
		fmt.Sprintf("parcel GAP rows_purged %s %s <nil>", qlikwriter.Seq(5), qlikwriter.Seq(8)))
	want(t, lines(t, s.read(5, "parcel"))[3:], "4 INSERT 4 +(fee=null id=4 status=a) -null null/07 #1 last", "8 INSERT 8 +(fee=null id=8 status=b) -null null/07 #1 last")
}

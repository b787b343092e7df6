package main

import (
	"slices"
	"testing"
)

func TestOptions(t *testing.T) {
	t.Parallel()
	o, err := parseOptions([]string{"-section", "latency,encoding", "-engines", "postgres", "-widths", "300,1400", "-tables", "1,20", "-rows", "1000", "-repeat", "5"})
	if err != nil || !slices.Equal(o.sections, []string{"latency", "encoding"}) || !slices.Equal(o.engines, []string{"postgres"}) || len(o.envelopes) != 3 || !slices.Equal(o.tables, []int{1, 20}) {
		t.Errorf("%+v, %v", o, err)
	}
	for _, y := range []struct{ got, want int }{
		{o.rowsOf("postgres", 300), 1000}, {o.rowsOf("postgres", 1400), 500}, {o.rowsOf("peer", 300), 200},
		{o.times(300, "inserts"), 5}, {o.times(300, "updates"), 1}, {o.times(1400, "inserts"), 1},
	} {
		if y.got != y.want {
			t.Errorf("%d, want %d", y.got, y.want)
		}
	}
	for _, bad := range [][]string{{"-section", "speed"}, {"-engines", "oracle"}, {"-widths", "x"}, {"-widths", "9000"}, {"-tables", "0"}, {"-tables", "1,many"}, {"-rows", "1"}, {"-repeat", "0"}, {"more"}, {"-cost", "oracle"}} {
		if _, err := parseOptions(bad); err == nil {
			t.Errorf("%v is taken", bad)
		}
	}
}

// Every section of the command line can be run.
func TestSections(t *testing.T) {
	t.Parallel()
	for _, name := range sectionNames {
		if sections[name] == nil {
			t.Errorf("section %s does nothing", name)
		}
	}
	if len(sections) != len(sectionNames) {
		t.Errorf("%d sections, %d names", len(sections), len(sectionNames))
	}
}

package main

import (
	"maps"
	"strings"
	"testing"
)

func TestParseSeries(t *testing.T) {
	t.Parallel()
	got, err := parseSeries(strings.NewReader(`# HELP a_total Some } text 5
# TYPE a_total counter
a_total{table="x y",operation="INSERT"} 2
a_total{table="} 7"} 3

go_memstats_mallocs_total 1.5e+06
`))
	if want := (series{"a_total": 5, "go_memstats_mallocs_total": 1.5e6}); err != nil || !maps.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
	if _, err := parseSeries(strings.NewReader("<html>no metrics</html>\n")); err == nil {
		t.Error("a page that has no metrics is taken")
	}
}

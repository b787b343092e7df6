package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"ctbridge/test/stack/servers"
)

// The bench itself works: a small run on real servers gives figures that can be, and leaves out an engine without a server.
func TestBenchOnServers(t *testing.T) {
	if os.Getenv(servers.KafkaVariable) == "" || os.Getenv(servers.RegistryVariable) == "" {
		t.Skipf("%s and %s are not set: no servers to measure on", servers.KafkaVariable, servers.RegistryVariable)
	}
	t.Setenv("CTBRIDGE_TEST_SQLSERVER_DSN", "")
	out := t.TempDir()
	o, err := parseOptions([]string{"-section", "throughput", "-engines", "sqlite,sqlserver", "-envelopes", "qlik", "-formats", "avro", "-widths", "300", "-rows", "2000", "-repeat", "1", "-profiles", "-out", out})
	if err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	var r report
	text, err := os.ReadFile(filepath.Join(out, "results.json"))
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil || len(r.Throughput) != 2 || len(r.LeftOut) != 1 {
		t.Fatalf("%v: %s", err, text)
	}
	for _, y := range r.Throughput {
		f := y.Bridge[0]
		if f.Rows != 2000 || f.Records != 2000 || f.Commits < 1 || f.RowsPerSecond < 500 || f.CPUMicros > 500 || f.ResidentMiB < 10 || f.ResidentMiB > 300 || f.FirstSeconds <= 0 ||
			y.Driver[0].RowsPerSecond <= 0 || y.Producer[0].RowsPerSecond <= 0 || y.ratio() <= 0 {
			t.Errorf("%+v", y)
		}
		for _, kind := range []string{"cpu", "allocs"} {
			if info, err := os.Stat(filepath.Join(out, "sqlite-qlik-avro-300-"+y.Mix+"."+kind+".pprof")); err != nil || info.Size() == 0 {
				t.Errorf("profile: %v", err)
			}
		}
	}
}

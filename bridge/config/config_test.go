package config

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the golden files")

const planted = "c0rrect-horse"

var testEnv = env("SOURCE_DSN", "sqlserver://reader:"+planted+"@db", "BROKERS", "k1:9092, k2:9092", "KAFKA_PASSWORD", planted, "PLANTED", planted,
	"TASK", "${NOT_AGAIN}", "ENGINE", "postgres")

func noFiles(path string) ([]byte, error) {
	return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
}

func TestBadFiles(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/bad/*.yaml")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			task, err := parse(data, testEnv, noFiles)
			var problems Problems
			if task != nil || !errors.As(err, &problems) {
				t.Fatalf("no problems: %v", err)
			}
			golden(t, strings.TrimSuffix(file, ".yaml")+".problems", problems.Error()+"\n")
			for _, secret := range []string{planted, "s3cret", "t0ken"} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("the error shows a secret:\n%v", err)
				}
			}
		})
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s:\n--- got\n%s--- want\n%s", file, got, want)
	}
}

func load(t *testing.T, file string) *Task {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata/good", file))
	if err != nil {
		t.Fatal(err)
	}
	task, err := parse(data, testEnv, noFiles)
	if err != nil {
		t.Fatal(err)
	}
	return task
}

func TestMinimalFileHasTheDefaults(t *testing.T) {
	t.Parallel()
	got := load(t, "minimal.yaml")
	want := Defaults()
	want.Name, want.Source.Engine, want.Source.DSN = "orders", "sqlserver", NewSecret("sqlserver://reader:"+planted+"@db")
	want.Kafka.Brokers = []string{"kafka:9092"}
	want.fillOutputs(newDecoder(nil))
	want.resolve(hostName())
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if got.Source.DSN.Reveal() != want.Source.DSN.Reveal() || got.Server == "{host}" || got.Checkpoint.Topic != "ctbridge.orders.checkpoint" ||
		got.Envelopes[0].MetadataTopic != "orders.metadata" || got.Kafka.ClientID != "ctbridge-orders" || got.Envelopes[0].Metadata != MetadataTopic || !got.Qlik.Envelope {
		t.Errorf("placeholders: %+v", got)
	}
	if got.Source.PollInterval != 200*time.Millisecond || got.Commit.MaxBytes != 16*MiB || !got.Kafka.CreateTopics || got.Kafka.Topics.Data.Partitions != -1 ||
		got.Kafka.Topics.Checkpoint.Config["segment.bytes"] != "16777216" || got.Kafka.Topics.Metadata.Partitions != 1 {
		t.Errorf("defaults: %+v", got)
	}
}

func TestRegistryFile(t *testing.T) {
	t.Parallel()
	got := load(t, "registry.yaml")
	if got.Envelopes[0].Metadata != MetadataRegistry || !got.SchemaRegistry.TLS.Enabled {
		t.Errorf("what a registry implies: %+v", got)
	}
	if got.SchemaRegistry.Password.Reveal() != "$ecret" || got.Source.DSN.Reveal() != "postgres://reader:none@db/shop?sslmode=verify-full" {
		t.Error("variables in secrets")
	}
	if want := []string{"k1:9092", "k2:9092"}; !reflect.DeepEqual(got.Kafka.Brokers, want) {
		t.Errorf("brokers %q", got.Kafka.Brokers)
	}
	keys := got.Source.KeyColumns()
	if !reflect.DeepEqual(keys[ids("shop.parcel")[0]], []string{"id"}) || len(keys) != 2 {
		t.Errorf("keys %v", keys)
	}
	if !got.Source.Tables.Match(ids("x.parcel")[0]) || got.Source.Tables.Match(ids("shop.audit.log")[0]) {
		t.Errorf("tables %v", got.Source.Tables)
	}
	if got.Kafka.Topics.Data.Config["min.insync.replicas"] != "2" {
		t.Errorf("topics %+v", got.Kafka.Topics)
	}
}

func TestSQLiteFile(t *testing.T) {
	t.Parallel()
	got := load(t, "sqlite-file.yaml")
	if got.Source.DSN.Reveal() != "file:/var/lib/shop.db?mode=ro" {
		t.Errorf("dsn %q", got.Source.DSN.Reveal())
	}
	if !strings.Contains(got.Summary(), "checkpoint in file /var/lib/demo.checkpoint") || len(got.Kafka.Brokers) != 2 {
		t.Error(got.Summary())
	}
}

func TestSecretFiles(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "dsn")
	for content, want := range map[string]string{planted + "\n": planted, planted + "\r\n": planted, planted: planted, "a\nb\n\n": "a\nb\n"} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		task, err := Parse([]byte("task: a\nsource: {engine: mysql, dsn: 'file:"+file+"'}\nkafka: {brokers: [k:1]}\n"), env())
		if err != nil || task.Source.DSN.Reveal() != want {
			t.Errorf("%q: %v", content, err)
		}
	}
	for name, content := range map[string]string{"is an empty file": "\n", "holds more than": strings.Repeat("x", maxSecret+1)} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Parse([]byte("task: a\nsource: {engine: mysql, dsn: 'file:"+file+"'}\nkafka: {brokers: [k:1]}\n"), env()); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A variable that happens to begin with file: is a secret, not a file.
	task, err := Parse([]byte("task: a\nsource: {engine: mysql, dsn: '${D}'}\nkafka: {brokers: [k:1]}\n"), env("D", "file:"+file))
	if err != nil || task.Source.DSN.Reveal() != "file:"+file {
		t.Error(err)
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	if _, err := Load("testdata/good/none.yaml"); err == nil || !strings.Contains(err.Error(), "none.yaml cannot be read") {
		t.Error(err)
	}
	task, err := Load("testdata/good/sqlite-file.yaml")
	if err != nil || task.Name != "demo" {
		t.Error(err)
	}
}

func TestNoEnvironment(t *testing.T) {
	t.Parallel()
	if _, err := Parse([]byte("task: ${A}\n"), nil); err == nil || !strings.Contains(err.Error(), "needs the environment variable A") {
		t.Error(err)
	}
}

func TestLargeFilesAndAliasesAreRefused(t *testing.T) {
	t.Parallel()
	if _, err := Parse(make([]byte, maxFile+1), env()); err == nil || !strings.Contains(err.Error(), "more than 1MiB") {
		t.Error(err)
	}
	var b strings.Builder
	b.WriteString("source:\n  keys:\n    a.b: &l [" + strings.Repeat("x,", 2000) + "x]\n")
	for i := range 2000 {
		fmt.Fprintf(&b, "    a.c%d: *l\n", i)
	}
	if _, err := Parse([]byte(b.String()), env()); err == nil || !strings.Contains(err.Error(), "more than 100000 values") {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	for _, dir := range []string{"good", "bad"} {
		files, _ := filepath.Glob("testdata/" + dir + "/*.yaml")
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		task, err := parse(data, testEnv, noFiles)
		if (task == nil) == (err == nil) {
			t.Fatal(task, err)
		}
		var problems Problems
		if err != nil && (!errors.As(err, &problems) || len(problems) == 0) {
			t.Fatal(err)
		}
		if shown := fmt.Sprintf("%v %+v", err, task); strings.Contains(shown, planted) && !strings.Contains(string(data), planted) && task == nil {
			t.Fatal(shown)
		}
	})
}

package live

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"ctbridge/test/qlikwriter"
)

// verb runs a verb of the program on the bridge's configuration and gives its exit code and output.
func (b *bridge) verb(name string, more ...string) (code int, out string) {
	b.Helper()
	cmd := exec.Command(binary, append([]string{name, b.config}, more...)...)
	text, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		b.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(text)
}

// Verify finds a task that was killed and started again equal, names what was changed behind its back, and allows for what a reset lets the running
// task publish again. PostgreSQL, Avro through the registry, two envelopes.
func TestVerifyAndReset(t *testing.T) {
	db := postgres(t)
	db.Create(t, qlikwriter.Parcel("parcel"))
	url := need(t, "CTBRIDGE_TEST_REGISTRY")
	b := newBridge(t, db, fmt.Sprintf("schema_registry: {url: %q}\nenvelopes:\n  - {name: q, envelope: qlik, format: avro, topic: \"{task}.q.{table}\"}\n  - {name: d, envelope: debezium, format: avro, topic: \"{task}.d.{table}\"}\n", url))
	b.start()
	const rows = 400
	tx, err := db.DB.Begin()
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= rows; n++ {
		row := qlikwriter.Row{Seq: qlikwriter.Seq(n), Oper: "U", Tx: fmt.Sprint(n / 7), Values: []any{n % 50, fmt.Sprint("s", n), "1.50"}}
		before := row
		before.Oper, before.Values = "B", []any{n % 50, "old", nil}
		db.Add(t, tx, qlikwriter.Parcel("parcel"), before, row)
		if n == rows/2 {
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
			b.kill()
			b.start()
			if tx, err = db.DB.Begin(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	equal := fmt.Sprintf("2 topics equal: %d messages", 2*rows)
	waitFor(t, func() bool {
		code, out := b.verb("verify")
		if code != 0 && !strings.Contains(out, "the checkpoint knows none") {
			t.Fatalf("code %d: %s", code, out)
		}
		return strings.Contains(out, equal)
	})
	db.Exec(t, "UPDATE %s SET status = 'changed' WHERE header__change_seq = '%s' AND header__change_oper = 'U'", db.Name("parcel__ct"), qlikwriter.Seq(123))
	code, out := b.verb("verify", "--from", qlikwriter.Seq(100))
	if code != 1 || strings.Count(out, "    different "+qlikwriter.Seq(123)) != 2 || strings.Count(out, "    different ") != 2 {
		t.Errorf("code %d: %s", code, out)
	}
	db.Exec(t, "UPDATE %s SET status = 's123' WHERE header__change_seq = '%s' AND header__change_oper = 'U'", db.Name("parcel__ct"), qlikwriter.Seq(123))
	if code, out := b.verb("reset", "--table", "public.parcel", "--to", qlikwriter.Seq(390), "--yes"); code != 0 || !strings.Contains(out, "goes on from "+qlikwriter.Seq(390)) {
		t.Errorf("code %d: %s", code, out)
	}
	waitFor(t, func() bool {
		_, out := b.verb("verify")
		return strings.Contains(out, "10 messages are there more than once")
	})
	if code, out := b.verb("verify"); code != 0 {
		t.Errorf("code %d: %s", code, out)
	}
}

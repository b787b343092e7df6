package secure

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/IBM/sarama"

	"ctbridge/test/qlikwriter"
)

// operator runs the verbs beside a task, which has a user of its own.
const operator = "operator"

// snapshotRights and replayRights are what the documentation lists for people who run these verbs.
func snapshotRights(task string) []allowed {
	const topic, exact = sarama.AclResourceTopic, sarama.AclPatternLiteral
	return []allowed{
		{topic, "ctbridge." + task + ".control", exact, sarama.AclOperationCreate},
		{topic, "ctbridge." + task + ".control", exact, sarama.AclOperationWrite},
		{topic, "ctbridge." + task + ".checkpoint", exact, sarama.AclOperationRead},
	}
}

func replayRights(task string) []allowed {
	const topic, exact = sarama.AclResourceTopic, sarama.AclPatternLiteral
	return []allowed{
		{topic, task + ".dead_letters", exact, sarama.AclOperationRead},
		{topic, task + ".parcel", exact, sarama.AclOperationWrite},
		{topic, task + ".metadata", exact, sarama.AclOperationWrite},
		{topic, "ctbridge." + task + ".replay", exact, sarama.AclOperationCreate},
		{topic, "ctbridge." + task + ".replay", exact, sarama.AclOperationDescribeConfigs},
		{topic, "ctbridge." + task + ".replay", exact, sarama.AclOperationRead},
		{topic, "ctbridge." + task + ".replay", exact, sarama.AclOperationWrite},
		{sarama.AclResourceTransactionalID, "ctbridge." + task + ".replay", exact, sarama.AclOperationWrite},
	}
}

// testVerbs runs each verb with just these rights, and without each of them, which the error then names.
func (b *broker) testVerbs(t *testing.T) {
	credential := sarama.AlterUserScramCredentialsUpsert{Name: operator, Mechanism: sarama.SCRAM_MECHANISM_SHA_512, Iterations: 4096, Salt: []byte("salt"), Password: []byte(password)}
	if results, err := b.admin.UpsertUserScramCredentials([]sarama.AlterUserScramCredentialsUpsert{credential}); err != nil || results[0].ErrorCode != sarama.ErrNoError {
		t.Fatal(err, results)
	}
	for verb, rights := range map[string]func(string) []allowed{"snapshot": snapshotRights, "replay": replayRights} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			b.testVerb(t, verb, rights(scratch()), nil)
			for i, lost := range rights("x") {
				t.Run(fmt.Sprintf("%d without %s on %s", i, lost.op.String(), lost.name), func(t *testing.T) {
					t.Parallel()
					id := scratch()
					all := rights(id)
					b.testVerb(t, verb, append(all[:i:i], all[i+1:]...), &all[i])
				})
			}
		})
	}
}

var taskOf = regexp.MustCompile(`\b(t[a-z2-7]{8})\b`)

func (b *broker) testVerb(t *testing.T, verb string, granted []allowed, lost *allowed) {
	id := taskOf.FindString(granted[0].name)
	b.allow(t, "User:"+user, rights(id)...)
	b.allow(t, "User:"+operator, granted...)
	file := letterSource(t)
	config := func(user, file, more string) string {
		return fmt.Sprintf("task: %s\nsource: {engine: sqlite, dsn: %q, poll_interval: 20ms, horizon: {settle: 0s}, startup_timeout: 5s%s}\nbad_records: {policy: dead_letter}\nmetrics: {listen: \"127.0.0.1:0\"}\nkafka:\n  topic: \"{task}.{table}\"\n%s",
			id, file, more, b.sasl(b.ca, "mechanism: SCRAM-SHA-512, username: "+user+", password: "+password))
	}
	p := start(t, config(user, file, ""))
	p.eventually("a dead letter", func() bool { return strings.Contains(p.metrics(), "ctbridge_dead_letters_total{") })
	// The verbs read no database: that of the operator's configuration is not there.
	own := filepath.Join(t.TempDir(), "operator.yaml")
	if err := os.WriteFile(own, []byte(config(operator, filepath.Join(t.TempDir(), "none.db"), ", qlik: {ignore_columns: [fee]}")), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{verb, own}
	if verb == "snapshot" {
		args = append(args, "--table", "parcel", "--timeout", "10s")
	}
	out, code := execute(args)
	if strings.Contains(out, password) {
		t.Errorf("it shows the password: %s", out)
	}
	if lost != nil {
		option := map[sarama.AclResourceType]string{sarama.AclResourceTopic: "--topic ", sarama.AclResourceTransactionalID: "--transactional-id "}[lost.kind]
		for _, words := range []string{"--allow-principal User:" + operator, "--operation " + lost.op.String(), option + lost.name} {
			if code == 0 || !strings.Contains(out, words) {
				t.Errorf("code %d, want a failure with %q: %s", code, words, out)
			}
		}
		return
	}
	if code != 0 {
		t.Fatalf("code %d: %s", code, out)
	}
	if verb == "snapshot" {
		p.eventually("the loaded row", func() bool { return strings.Contains(p.metrics(), `ctbridge_load_rows_total{table="parcel"} 1`) })
	} else if !strings.Contains(out, " 1 published") {
		t.Errorf("the replay says %s", out)
	}
	p.stop()
}

// letterSource is source with a row in the base table, and a change that cannot become a message with all its columns.
func letterSource(t *testing.T) string {
	t.Helper()
	file := source(t)
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	w := &qlikwriter.Writer{DB: db, Dialect: qlikwriter.SQLite}
	w.Exec(t, "INSERT INTO parcel VALUES (7, 'old', '2.00')")
	w.Add(t, db, qlikwriter.Parcel("parcel"), qlikwriter.Row{Seq: qlikwriter.Seq(2), Oper: "I", Tx: "2", Values: []any{2, "new", "no number"}})
	return file
}

package live

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/IBM/sarama"
)

// rightsInKafka are the calls of kafka-acls in docs/operations.md, as what they grant.
func rightsInKafka(t *testing.T, names *strings.Replacer) (rights []*sarama.ResourceAcls) {
	t.Helper()
	text, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range regexp.MustCompile(`(?m)^kafka-acls (.*)$`).FindAllStringSubmatch(string(text), -1) {
		rights = append(rights, parseRights(t, strings.Fields(names.Replace(line[1]))))
	}
	if len(rights) < 4 {
		t.Fatalf("%d rights", len(rights))
	}
	return rights
}

func parseRights(t *testing.T, words []string) *sarama.ResourceAcls {
	t.Helper()
	var operations []sarama.AclOperation
	principal := ""
	out := &sarama.ResourceAcls{Resource: sarama.Resource{ResourcePatternType: sarama.AclPatternLiteral}}
	kinds := map[string]sarama.AclResourceType{"--topic": sarama.AclResourceTopic, "--transactional-id": sarama.AclResourceTransactionalID, "--group": sarama.AclResourceGroup}
	for i := 1; i < len(words); i += 2 { // the first is --add
		option, value := words[i], words[i+1]
		switch kind, isResource := kinds[option]; {
		case isResource:
			out.ResourceType, out.ResourceName = kind, value
		case option == "--allow-principal":
			principal = value
		case option == "--operation":
			var operation sarama.AclOperation
			if err := operation.UnmarshalText([]byte(value)); err != nil {
				t.Fatal(err)
			}
			operations = append(operations, operation)
		case option == "--resource-pattern-type" && value == "prefixed":
			out.ResourcePatternType = sarama.AclPatternPrefixed
		default:
			t.Fatalf("%s %s", option, value)
		}
	}
	for _, operation := range operations {
		out.Acls = append(out.Acls, &sarama.Acl{Principal: principal, Host: "*", Operation: operation, PermissionType: sarama.AclPermissionAllow})
	}
	return out
}

// A task runs with the rights that docs/operations.md tells, and not without them: it makes its topics, tells metadata and answers requests, in both
// deliveries.
func TestRightsInKafka(t *testing.T) {
	user, err := url.Parse(need(t, "CTBRIDGE_TEST_KAFKA_GUARDED"))
	if err != nil {
		t.Fatal(err)
	}
	task, data := scratch(), scratch()
	rights := rightsInKafka(t, strings.NewReplacer("ctbridge.orders", "ctbridge."+task, "orders.", task+".", "sales", data))
	admin, err := sarama.NewClusterAdmin([]string{need(t, "CTBRIDGE_TEST_KAFKA")}, sarama.NewConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()

	db := open(t, "sqlite", "file:"+filepath.Join(t.TempDir(), "x.db")+"?_pragma=busy_timeout(10000)")
	execute(t, db, `CREATE TABLE parcel (id INTEGER PRIMARY KEY); CREATE TABLE parcel__ct (header__change_seq VARCHAR(35), header__change_oper VARCHAR(1), id INTEGER)`)
	execute(t, db, `INSERT INTO parcel VALUES (1); INSERT INTO parcel__ct VALUES ('20260301101500000000000000000000001', 'I', 1)`)
	var file string
	if err := db.QueryRow(`SELECT file FROM pragma_database_list`).Scan(&file); err != nil {
		t.Fatal(err)
	}
	password, _ := user.User.Password()
	b := &bridge{TB: t, task: task, log: &logBuffer{}, config: filepath.Join(t.TempDir(), "ctbridge.yaml")}
	t.Cleanup(func() {
		b.kill()
		if t.Failed() {
			t.Logf("log of the bridge:\n%s", b.log.String())
		}
	})
	write := func(delivery string) {
		text := fmt.Sprintf(`{task: %s, delivery: %s, source: {engine: sqlite, dsn: %q, startup_timeout: 10s, horizon: {settle: 0s}}, metrics: {listen: "127.0.0.1:0"},
  kafka: {brokers: [%q], topic: "%s.{table}", sasl: {mechanism: PLAIN, username: %s, password: %q}}}`,
			task, delivery, file, user.Host, data, user.User.Username(), password)
		if err := os.WriteFile(b.config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tail := func() int {
		out, err := exec.Command(binary, "tail", "--brokers", os.Getenv("CTBRIDGE_TEST_KAFKA"), "--topic", data+".parcel", "--exit", "--format", "json").Output()
		if err != nil {
			return 0
		}
		return strings.Count(string(out), "\n")
	}

	write("exactly_once")
	if out, err := exec.Command(binary, "run", b.config).CombinedOutput(); err == nil {
		t.Errorf("it ran without any right:\n%s", out)
	}
	if err := admin.CreateACLs(rights); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(binary, "doctor", b.config).CombinedOutput(); err != nil {
		t.Errorf("doctor: %v\n%s", err, out)
	}
	b.start()
	waitFor(t, func() bool { b.checkAlive(); return tail() == 1 })
	if out, err := exec.Command(binary, "snapshot", b.config, "--table", "parcel").CombinedOutput(); err != nil {
		t.Errorf("snapshot: %v\n%s", err, out)
	}
	waitFor(t, func() bool { b.checkAlive(); return tail() == 2 })
	b.stop()
	write("at_least_once")
	execute(t, db, `INSERT INTO parcel__ct VALUES ('20260301101500000000000000000000002', 'D', 1)`)
	b.start()
	waitFor(t, func() bool { b.checkAlive(); return tail() == 3 })
	b.stop()
	for _, refused := range []string{"not authorized", "AUTHORIZATION", "denied"} {
		if b.hasLogged(refused) {
			t.Errorf("the log tells of %q", refused)
		}
	}
}

package secure

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/IBM/sarama"

	"ctbridge/test/certs"
	"ctbridge/test/stack/servers"
)

const (
	user     = "bridge"
	password = "s3cret-br1dge"
)

// brokerSettings add two listeners to the plain one, over which tests set the broker up: SASL_SSL, and SSL that asks for certificates. Nobody
// but the tests may do anything that no rule allows.
const brokerSettings = `
listeners=PLAINTEXT://127.0.0.1:{port:client},CONTROLLER://127.0.0.1:{port:controller},SASL_SSL://127.0.0.1:{port:sasl},SSL://127.0.0.1:{port:mutual}
advertised.listeners=PLAINTEXT://127.0.0.1:{port:client},SASL_SSL://127.0.0.1:{port:sasl},SSL://127.0.0.1:{port:mutual}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL_SSL:SASL_SSL,SSL:SSL
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
ssl.keystore.type=PEM
ssl.keystore.location={dir}/server.pem
ssl.truststore.type=PEM
ssl.truststore.location={dir}/ca.pem
listener.name.ssl.ssl.client.auth=required
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER
listener.name.sasl_ssl.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_bridge="s3cret-br1dge";
listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.sasl_ssl.oauthbearer.sasl.jaas.config=org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";
`

// broker is a real one with its authority and an administrator.
type broker struct {
	*servers.Private
	ca    *certs.Authority
	admin sarama.ClusterAdmin
}

func newBroker(t *testing.T) *broker {
	t.Helper()
	ca := certs.New(t)
	server := ca.Sign(nil)
	b := &broker{ca: ca}
	b.Private = private(t, servers.Setting{
		Part: servers.Kafka, Ports: []string{"sasl", "mutual"}, Config: brokerSettings,
		Files: map[string][]byte{"server.pem": append(read(t, server.KeyFile), read(t, server.CertFile)...), "ca.pem": read(t, ca.File)},
	})
	conf := sarama.NewConfig()
	conf.Version = sarama.V3_6_0_0
	var err error
	if b.admin, err = sarama.NewClusterAdmin([]string{b.Address("client")}, conf); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.admin.Close() })
	for _, mechanism := range []sarama.ScramMechanismType{sarama.SCRAM_MECHANISM_SHA_256, sarama.SCRAM_MECHANISM_SHA_512} {
		credential := sarama.AlterUserScramCredentialsUpsert{Name: user, Mechanism: mechanism, Iterations: 4096, Salt: []byte("salt"), Password: []byte(password)}
		results, err := b.admin.UpsertUserScramCredentials([]sarama.AlterUserScramCredentialsUpsert{credential})
		if err != nil || results[0].ErrorCode != sarama.ErrNoError {
			t.Fatal(err, results)
		}
	}
	return b
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// allowed is a rule for kafka-acls: what the documentation lists.
type allowed struct {
	kind    sarama.AclResourceType
	name    string
	pattern sarama.AclResourcePatternType
	op      sarama.AclOperation
}

// rights are all that a task needs that makes its own topics.
func rights(task string) []allowed {
	const topic, exact, prefix = sarama.AclResourceTopic, sarama.AclPatternLiteral, sarama.AclPatternPrefixed
	return []allowed{
		{topic, "ctbridge." + task + ".checkpoint", exact, sarama.AclOperationCreate},
		{topic, "ctbridge." + task + ".checkpoint", exact, sarama.AclOperationDescribeConfigs},
		{topic, "ctbridge." + task + ".checkpoint", exact, sarama.AclOperationRead},
		{topic, "ctbridge." + task + ".checkpoint", exact, sarama.AclOperationWrite},
		{sarama.AclResourceTransactionalID, "ctbridge." + task + ".", prefix, sarama.AclOperationWrite},
		{topic, task + ".", prefix, sarama.AclOperationCreate},
		{topic, task + ".", prefix, sarama.AclOperationWrite},
		{topic, "ctbridge." + task + ".control", exact, sarama.AclOperationRead},
		{sarama.AclResourceGroup, "ctbridge." + task, exact, sarama.AclOperationRead},
		{topic, "ctbridge." + task + ".shards", exact, sarama.AclOperationCreate},
		{topic, "ctbridge." + task + ".shards", exact, sarama.AclOperationDescribe},
	}
}

func (b *broker) allow(t *testing.T, principal string, rules ...allowed) {
	t.Helper()
	var acls []*sarama.ResourceAcls
	for _, r := range rules {
		acls = append(acls, &sarama.ResourceAcls{
			Resource: sarama.Resource{ResourceType: r.kind, ResourceName: r.name, ResourcePatternType: r.pattern},
			Acls:     []*sarama.Acl{{Principal: principal, Host: "*", Operation: r.op, PermissionType: sarama.AclPermissionAllow}},
		})
	}
	if err := b.admin.CreateACLs(acls); err != nil {
		t.Fatal(err)
	}
	for _, r := range rules {
		b.awaitRule(t, principal, r)
	}
}

// awaitRule waits until the broker's own authorizer knows a rule: the controller has acknowledged it a moment before.
func (b *broker) awaitRule(t *testing.T, principal string, r allowed) {
	t.Helper()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	filter := sarama.AclFilter{
		ResourceType: r.kind, ResourceName: &r.name, ResourcePatternTypeFilter: r.pattern, Principal: &principal, Operation: r.op, PermissionType: sarama.AclPermissionAllow,
	}
	for end := time.Now().Add(10 * time.Second); ; <-look.C {
		known, err := b.admin.ListAcls(filter)
		if err != nil {
			t.Fatal(err)
		}
		if len(known) > 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the broker does not know what %s may do: %+v", principal, r)
		}
	}
}

// task is a configuration over SASL_SSL, or with other lines for kafka.
func task(t *testing.T, name, kafka string) string {
	return fmt.Sprintf(`task: %s
source: {engine: sqlite, dsn: %q, poll_interval: 20ms, horizon: {settle: 0s}, startup_timeout: 5s}
metrics: {listen: "127.0.0.1:0"}
log: {level: debug}
kafka:
  topic: "{task}.{table}"
%s`, name, source(t), kafka)
}

func (b *broker) sasl(ca *certs.Authority, how string) string {
	return fmt.Sprintf("  brokers: %q\n  tls: {enabled: true, ca_file: %q}\n  sasl: {%s}\n", b.Address("sasl"), ca.File, how)
}

// TestRealBroker has one broker for all of it.
func TestRealBroker(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	t.Run("mechanisms", b.testMechanisms)
	t.Run("certificates", b.testCertificates)
	t.Run("rights", b.testRights)
	t.Run("doctor", b.testDoctor)
	t.Run("verbs", b.testVerbs)
}

// unsigned is a token as the broker takes it that has no authority to ask (RFC 7515 section 6).
func unsigned(subject string, expires time.Time) string {
	part := func(v any) string {
		text, _ := json.Marshal(v)
		return base64.RawURLEncoding.EncodeToString(text)
	}
	return part(map[string]string{"alg": "none"}) + "." + part(map[string]any{"sub": subject, "iat": time.Now().Add(-time.Minute).Unix(), "exp": expires.Unix()}) + "."
}

func (b *broker) testMechanisms(t *testing.T) {
	good, late := unsigned(user, time.Now().Add(time.Hour)), unsigned(user, time.Now().Add(-time.Hour))
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, secret, _ := r.BasicAuth(); secret != password {
			http.Error(w, `{"error":"invalid_client"}`, http.StatusUnauthorized)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"access_token": good, "expires_in": 3600})
	}))
	t.Cleanup(endpoint.Close)
	login := func(mechanism, password string) string {
		return fmt.Sprintf("mechanism: %s, username: %s, password: %q", mechanism, user, password)
	}
	grant := func(secret string) string {
		return fmt.Sprintf("mechanism: OAUTHBEARER, oauth: {token_url: %q, client_id: bridge, client_secret: %q}", endpoint.URL, secret)
	}
	const wrong = "wr0ng-s3cret"
	for name, c := range map[string]struct{ how, hint string }{
		"PLAIN": {login("PLAIN", password), ""}, "PLAIN, wrong": {login("PLAIN", wrong), "user name and password"},
		"SCRAM-SHA-256": {login("SCRAM-SHA-256", password), ""}, "SCRAM-SHA-256, wrong": {login("SCRAM-SHA-256", wrong), "user name and password"},
		"SCRAM-SHA-512": {login("SCRAM-SHA-512", password), ""}, "SCRAM-SHA-512, wrong": {login("SCRAM-SHA-512", wrong), "user name and password"},
		"token": {"mechanism: OAUTHBEARER, token: " + good, ""}, "token, expired": {"mechanism: OAUTHBEARER, token: " + late, "SASL"},
		"grant": {grant(password), ""}, "grant, wrong": {grant(wrong), "client id, secret"},
		"none": {"mechanism: none", "SASL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := scratch()
			b.allow(t, "User:"+user, rights(id)...)
			p := start(t, task(t, id, b.sasl(b.ca, c.how)))
			if c.hint == "" {
				p.moves(1)
				p.stop()
			} else if code := p.code(); code != 3 || !strings.Contains(p.log.String(), c.hint) {
				t.Errorf("code %d, want 3 with %q", code, c.hint)
			}
			p.hides(password, wrong, good, late, base64.StdEncoding.EncodeToString([]byte(wrong)), base64.StdEncoding.EncodeToString([]byte("bridge:"+password)))
		})
	}
}

// The certificate of a broker is verified, and a broker that asks for ours gets it.
func (b *broker) testCertificates(t *testing.T) {
	other := certs.New(t)
	client, stranger := b.ca.Sign(nil), other.Sign(nil)
	mutual := func(pair *certs.Pair) string {
		text := fmt.Sprintf("  brokers: %q\n  tls: {enabled: true, ca_file: %q", b.Address("mutual"), b.ca.File)
		if pair != nil {
			text += fmt.Sprintf(", cert_file: %q, key_file: %q", pair.CertFile, pair.KeyFile)
		}
		return text + "}\n"
	}
	plain := "mechanism: PLAIN, username: bridge, password: " + password
	named := strings.Replace(b.sasl(b.ca, plain), "enabled: true", "enabled: true, server_name: elsewhere.test", 1)
	system := fmt.Sprintf("  brokers: %q\n  tls: {enabled: true}\n  sasl: {%s}\n", b.Address("sasl"), plain)
	for name, c := range map[string]struct{ kafka, hint string }{
		"unknown authority":           {b.sasl(other, plain), "ca_file"},
		"authorities of the system":   {system, "ca_file"},
		"wrong host":                  {named, "server_name"},
		"mutual":                      {mutual(&client), ""},
		"mutual, none":                {mutual(nil), "cert_file"},
		"mutual, of another":          {mutual(&stranger), "cert_file"},
		"plain text to a TLS port":    {fmt.Sprintf("  brokers: %q\n", b.Address("sasl")), "TLS or SASL"},
		"TLS to a port in plain text": {fmt.Sprintf("  brokers: %q\n  tls: {enabled: true, ca_file: %q}\n", b.Address("client"), b.ca.File), "TLS"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := scratch()
			b.allow(t, "User:CN=ctbridge", rights(id)...)
			p := start(t, task(t, id, c.kafka))
			if c.hint == "" {
				p.moves(1)
				p.stop()
				return
			}
			if code := p.code(); code != 3 || !strings.Contains(p.log.String(), c.hint) {
				t.Errorf("code %d, want 3 with %q", code, c.hint)
			}
			p.hides(password)
		})
	}
}

// A user with just these rights works; without any one of them the error names it, in the words of the command that grants it.
func (b *broker) testRights(t *testing.T) {
	how := "mechanism: SCRAM-SHA-512, username: bridge, password: " + password
	all := rights("x")
	for missing := range all {
		t.Run(fmt.Sprintf("without %s on %s", all[missing].op.String(), all[missing].name), func(t *testing.T) {
			t.Parallel()
			id := scratch()
			rules := rights(id)
			lost := rules[missing]
			b.allow(t, "User:"+user, append(rules[:missing:missing], rules[missing+1:]...)...)
			p := start(t, task(t, id, b.sasl(b.ca, how)))
			option := map[sarama.AclResourceType]string{sarama.AclResourceTopic: "--topic ", sarama.AclResourceTransactionalID: "--transactional-id ", sarama.AclResourceGroup: "--group "}[lost.kind]
			p.says("kafka-acls --bootstrap-server "+b.Address("sasl")+" --add --allow-principal User:bridge", "--operation "+lost.op.String(), option+lost.name)
			p.hides(password)
		})
	}
}

// The doctor finds nothing to fail for a user with just these rights: it only asks, besides, for the brokers' settings.
func (b *broker) testDoctor(t *testing.T) {
	id := scratch()
	b.allow(t, "User:"+user, rights(id)...)
	file := filepath.Join(t.TempDir(), "task.yaml")
	text := task(t, id, b.sasl(b.ca, "mechanism: SCRAM-SHA-512, username: bridge, password: "+password))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"doctor", "plan"} {
		out, code := execute([]string{verb, file})
		if code != 0 || !strings.Contains(out, "0 failed") && verb == "doctor" || strings.Contains(out, "IdempotentWrite") {
			t.Errorf("%s: code %d\n%s", verb, code, out)
		}
	}
}

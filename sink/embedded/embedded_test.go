package embedded_test

import (
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"go.uber.org/goleak"

	"ctbridge/sink/embedded"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T, o embedded.Options) *embedded.Servers {
	t.Helper()
	s, err := embedded.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// call sends one request and gives status and decoded JSON object.
func call(t *testing.T, method, address string, body any) (int, map[string]any) {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer map[string]any
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, answer
}

func record(fields string) map[string]string {
	return map[string]string{"schema": `{"type":"record","name":"parcel","fields":[` + fields + `]}`}
}

const (
	idField     = `{"name":"id","type":"int"}`
	noteField   = `{"name":"note","type":["null","string"],"default":null}`
	strictField = `{"name":"zone","type":"string"}`
)

func register(t *testing.T, base, subject string, schema any) (int, map[string]any) {
	t.Helper()
	return call(t, http.MethodPost, base+"/subjects/"+url.PathEscape(subject)+"/versions", schema)
}

func TestRegistryRefusesWhatTheLevelForbids(t *testing.T) {
	tests := []struct {
		level     string
		old, next string
		status    int
	}{
		{"BACKWARD", idField, idField + "," + noteField, 200},
		{"BACKWARD", idField, idField + "," + strictField, 409},
		{"FORWARD", idField, idField + "," + strictField, 200},
		{"FORWARD", idField + "," + strictField, idField, 409},
		{"FULL", idField, idField + "," + noteField, 200},
		{"FULL", idField, idField + "," + strictField, 409},
		{"NONE", idField, strictField, 200},
	}
	s := start(t, embedded.Options{})
	for i, tt := range tests {
		subject := "shop/parcel-" + strconv.Itoa(i)
		if status, answer := call(t, http.MethodPut, s.RegistryURL()+"/config/"+url.PathEscape(subject), map[string]string{"compatibility": tt.level}); status != 200 {
			t.Fatalf("set level: %d %v", status, answer)
		}
		if status, answer := register(t, s.RegistryURL(), subject, record(tt.old)); status != 200 {
			t.Fatalf("first version: %d %v", status, answer)
		}
		status, answer := call(t, http.MethodPost, s.RegistryURL()+"/compatibility/subjects/"+url.PathEscape(subject)+"/versions/latest", record(tt.next))
		if status != 200 || answer["is_compatible"] != (tt.status == 200) {
			t.Errorf("%s %s: compatibility answered %d %v", tt.level, tt.next, status, answer)
		}
		status, answer = register(t, s.RegistryURL(), subject, record(tt.next))
		if status != tt.status {
			t.Errorf("%s %s: status %d, want %d: %v", tt.level, tt.next, status, tt.status, answer)
		}
		if status == 409 && answer["error_code"] != 409.0 {
			t.Errorf("error code %v", answer["error_code"])
		}
	}
}

func TestRegistryRefusesInvalidSchema(t *testing.T) {
	s := start(t, embedded.Options{})
	status, answer := register(t, s.RegistryURL(), "x-value", map[string]string{"schema": `{"type":"record"}`})
	if status != 422 || answer["error_code"] != 42201.0 {
		t.Errorf("got %d %v", status, answer)
	}
}

func TestTransitiveLevelComparesEveryVersion(t *testing.T) {
	s := start(t, embedded.Options{})
	// Version 1 knows note as text, version 2 does not know it, version 3 has it as a number: fine for 2, not for 1.
	text, number := idField+`,{"name":"note","type":"string","default":""}`, idField+`,{"name":"note","type":"int","default":0}`
	for level, want := range map[string]int{"BACKWARD": 200, "BACKWARD_TRANSITIVE": 409} {
		subject := "parcel-" + level
		call(t, http.MethodPut, s.RegistryURL()+"/config/"+subject, map[string]string{"compatibility": level})
		register(t, s.RegistryURL(), subject, record(text))
		register(t, s.RegistryURL(), subject, record(idField))
		if status, answer := register(t, s.RegistryURL(), subject, record(number)); status != want {
			t.Errorf("%s: %d, want %d: %v", level, status, want, answer)
		}
	}
}

func TestSchemaIDsSurviveRestart(t *testing.T) {
	dir := t.TempDir()
	s := start(t, embedded.Options{DataDir: dir})
	ids := map[string]any{}
	for _, subject := range []string{"a-value", "b-value"} {
		_, answer := register(t, s.RegistryURL(), subject, record(idField+`,{"name":"`+subject[:1]+`","type":"long"}`))
		ids[subject] = answer["id"]
	}
	if ids["a-value"] == ids["b-value"] || ids["a-value"] == nil {
		t.Fatalf("ids %v", ids)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = start(t, embedded.Options{DataDir: dir})
	for subject, id := range ids {
		_, answer := call(t, http.MethodGet, s.RegistryURL()+"/subjects/"+subject+"/versions/latest", nil)
		if answer["id"] != id {
			t.Errorf("%s: id %v, before %v", subject, answer["id"], id)
		}
	}
}

func TestBusyPortMovesOn(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	busy := ln.Addr().(*net.TCPAddr).Port
	s := start(t, embedded.Options{KafkaPort: busy, RegistryPort: busy})
	registry, err := url.Parse(s.RegistryURL())
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{busy: true}
	for _, address := range append(s.Brokers(), registry.Host) {
		host, text, err := net.SplitHostPort(address)
		if err != nil {
			t.Fatal(err)
		}
		port, _ := strconv.Atoi(text)
		if host != "127.0.0.1" || port < busy || port > busy+50 || seen[port] {
			t.Errorf("listens on %s, asked for %d", address, busy)
		}
		seen[port] = true
	}
}

func TestBrokerOptionsReachTheBroker(t *testing.T) {
	s := start(t, embedded.Options{NoRegistry: true, Broker: []kfake.Opt{kfake.NumBrokers(3)}})
	if len(s.Brokers()) != 3 || s.RegistryURL() != "" {
		t.Errorf("brokers %v, registry %q", s.Brokers(), s.RegistryURL())
	}
}

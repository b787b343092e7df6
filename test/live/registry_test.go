package live

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"ctbridge/test/qlikwriter"
)

// levelled is the configuration of Avro with a compatibility level for subjects that the task creates.
func levelled(t testing.TB, level string) string {
	t.Helper()
	return fmt.Sprintf("format: avro\nschema_registry: {url: %q, compatibility: %s}\nqlik: {external_schema_id: true}\n", need(t, "CTBRIDGE_TEST_REGISTRY"), level)
}

// ask calls the registry's API and decodes its answer.
func ask(t testing.TB, method, path, body string, into any) {
	t.Helper()
	request, err := http.NewRequest(method, os.Getenv("CTBRIDGE_TEST_REGISTRY")+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/vnd.schemaregistry.v1+json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s %s %v", method, path, answer.Status, text, err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("%s %s: %s: %v", method, path, text, err)
	}
}

// notStreaming is what /readyz says of a table; empty = it streams.
func (b *bridge) notStreaming(table string) string {
	b.Helper()
	address := regexp.MustCompile(`metrics=(\S+)`).FindStringSubmatch(b.log.String())
	if address == nil {
		b.Fatal("the log does not tell the address of the metrics")
	}
	answer, err := http.Get("http://" + address[1] + "/readyz")
	if err != nil {
		b.Fatal(err)
	}
	defer answer.Body.Close()
	var body struct {
		Tables map[string]string `json:"tables_not_streaming"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&body); err != nil {
		b.Fatal(err)
	}
	return body.Tables[table]
}

// alter changes base and change table alike, as the writer does; the change table has no NOT NULL.
func (db database) alter(t testing.TB, table, format string) {
	t.Helper()
	db.Exec(t, "ALTER TABLE %s %s", db.Name(table), format)
	without, _, _ := strings.Cut(format, " NOT NULL")
	db.Exec(t, "ALTER TABLE %s %s", db.Name(table+"__ct"), without)
}

// put writes one inserted row.
func (db database) put(t testing.TB, table string, n int, values ...any) {
	t.Helper()
	db.Add(t, db.DB, qlikwriter.Parcel(table), qlikwriter.Row{Seq: qlikwriter.Seq(n), Oper: "I", Tx: fmt.Sprint("t", n), Values: values})
}

// retype is how the product changes the type of a column.
func (db database) retype(column, typ string) string {
	if db.engine == "postgres" {
		return "ALTER COLUMN " + column + " TYPE " + typ
	}
	return "MODIFY COLUMN " + column + " " + typ
}

// rows are the events' rows in order, columns by name.
func rows(t testing.TB, messages []message) (out []string) {
	t.Helper()
	for _, ev := range decode(t, messages) {
		text, err := json.Marshal(ev.Data)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(text))
	}
	return out
}

func wantRows(t testing.TB, got []string, want ...string) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// Case 66 on real servers: the usual changes of columns pass at every level. Another type is refused: its table alone stops with the registry's
// reason, and streams on by itself once its owner has relaxed the level.
func TestCase66_ColumnChangesAtEveryLevel(t *testing.T) {
	t.Parallel()
	for _, level := range []string{"BACKWARD", "FORWARD", "FULL"} {
		for name, open := range map[string]func(testing.TB) database{"postgres": postgres, "mariadb": mariadb} {
			t.Run(level+"_"+name, func(t *testing.T) { columnChanges(t, open(t), level) })
		}
	}
}

func columnChanges(t *testing.T, db database, level string) {
	db.Create(t, qlikwriter.Parcel("parcel"))
	db.Create(t, qlikwriter.Parcel("depot"))
	b := newBridge(t, db, levelled(t, level))
	b.start()
	b.started()
	subject := "/config/" + b.task + ".parcel-value"
	published := func(n float64) {
		t.Helper()
		waitFor(t, func() bool { b.checkAlive(); return b.metric("ctbridge_events_published_total") >= n })
	}
	db.put(t, "parcel", 1, 1, "a", nil)
	published(1)
	var answer struct {
		Level string `json:"compatibilityLevel"`
	}
	if ask(t, http.MethodGet, subject, "", &answer); answer.Level != level {
		t.Fatalf("the level is %q, want %s", answer.Level, level)
	}
	db.alter(t, "parcel", "ADD weight int")
	db.put(t, "parcel", 2, 2, "b", nil, 7)
	published(2)
	db.alter(t, "parcel", "ADD zone char(2) NOT NULL DEFAULT 'x'")
	db.put(t, "parcel", 3, 3, "c", nil, 7, "de")
	published(3)
	db.alter(t, "parcel", "DROP COLUMN zone")
	db.put(t, "parcel", 4, 4, "d", nil, 7)
	published(4)
	db.alter(t, "parcel", db.retype("weight", "varchar(9)"))
	db.put(t, "parcel", 5, 5, "e", nil, "heavy")
	db.put(t, "depot", 6, 1, "other", nil)
	published(5)
	table := db.ID("parcel").String()
	waitFor(t, func() bool { return b.notStreaming(table) != "" })
	if problem := b.notStreaming(table); !strings.Contains(problem, b.task+".parcel-value") || !strings.Contains(strings.ToLower(problem), "compatib") {
		t.Errorf("/readyz says %q, want the registry's reason", problem)
	} else {
		t.Log(problem)
	}
	var put any
	ask(t, http.MethodPut, subject, `{"compatibility":"NONE"}`, &put)
	published(6)
	waitFor(t, func() bool { return b.notStreaming(table) == "" })
	got := b.until(5, "parcel")
	b.until(1, "depot")
	b.stop()
	wantRows(t, rows(t, got), `{"fee":null,"id":1,"status":"a"}`, `{"fee":null,"id":2,"status":"b","weight":7}`, `{"fee":null,"id":3,"status":"c","weight":7,"zone":"de"}`,
		`{"fee":null,"id":4,"status":"d","weight":7}`, `{"fee":null,"id":5,"status":"e","weight":"heavy"}`)
	checkSchemaIDs(t, got)
}

// checkSchemaIDs checks that every message names another structure.
func checkSchemaIDs(t *testing.T, messages []message) {
	t.Helper()
	seen := make(map[string]bool)
	for _, ev := range decode(t, messages) {
		id := ev.Headers.ExternalSchemaID
		if id == "" || seen[id] {
			t.Errorf("externalSchemaId %q of row %s is not new", id, ev.Headers.ChangeSequence)
		}
		seen[id] = true
	}
}

// Case 67 on real servers: one version of each subject, however often the task starts.
func TestCase67_OneVersionOverRestarts(t *testing.T) {
	db := mariadb(t)
	db.Create(t, qlikwriter.Parcel("parcel"))
	b := newBridge(t, db, registry(t)+"key: {format: avro}\n")
	for n := 1; n <= 2; n++ {
		db.put(t, "parcel", n, n, "a", nil)
		b.start()
		b.until(n, "parcel")
		b.stop()
	}
	for _, subject := range []string{"-key", "-value"} {
		var versions []int
		if ask(t, http.MethodGet, "/subjects/"+b.task+".parcel"+subject+"/versions", "", &versions); len(versions) != 1 {
			t.Errorf("subject %s has versions %v, want one", subject, versions)
		}
	}
}

// Case 70 on real servers: while the registry does not answer, tables whose schemas are known go on; a new one waits and comes by itself.
func TestCase70_OutageOfTheRegistry(t *testing.T) {
	behind, err := url.Parse(need(t, "CTBRIDGE_TEST_REGISTRY"))
	if err != nil {
		t.Fatal(err)
	}
	var away atomic.Bool
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: behind.Scheme, Host: behind.Host})
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if away.Load() {
			panic(http.ErrAbortHandler) // no answer at all
		}
		proxy.ServeHTTP(w, r)
	}))
	defer front.Close()
	db := postgres(t)
	db.Create(t, qlikwriter.Parcel("known"))
	db.Create(t, qlikwriter.Parcel("new"))
	b := newBridge(t, db, fmt.Sprintf("format: avro\nschema_registry: {url: %q}\n", front.URL+behind.Path))
	db.put(t, "known", 1, 1, "a", nil)
	b.start()
	b.until(1, "known")
	away.Store(true)
	db.put(t, "new", 2, 1, "a", nil)
	waitFor(t, func() bool { return b.notStreaming("public.new") != "" })
	if problem := b.notStreaming("public.new"); !strings.Contains(problem, front.URL) {
		t.Errorf("/readyz says %q, want the registry's address", problem)
	}
	db.put(t, "known", 3, 2, "b", nil)
	b.until(2, "known")
	away.Store(false)
	b.until(1, "new")
	waitFor(t, func() bool { return b.notStreaming("public.new") == "" })
	b.stop()
}

// Case 68 on real servers: a subject that exists keeps its level.
func TestCase68_LevelOfAnExistingSubjectStays(t *testing.T) {
	db := postgres(t)
	db.Create(t, qlikwriter.Parcel("parcel"))
	b := newBridge(t, db, levelled(t, "FULL"))
	subject := b.task + ".parcel-value"
	var any any
	ask(t, http.MethodPost, "/subjects/"+subject+"/versions", `{"schema":"{\"type\":\"record\",\"name\":\"Old\",\"fields\":[]}"}`, &any)
	ask(t, http.MethodPut, "/config/"+subject, `{"compatibility":"NONE"}`, &any)
	for n := 1; n <= 3; n++ {
		db.put(t, "parcel", n, n, "a", nil)
		b.start()
		b.until(n, "parcel")
		b.stop()
	}
	var answer struct {
		Level string `json:"compatibilityLevel"`
	}
	if ask(t, http.MethodGet, "/config/"+subject, "", &answer); answer.Level != "NONE" {
		t.Errorf("the level is %s, want NONE as before", answer.Level)
	}
	var versions []int
	if ask(t, http.MethodGet, "/subjects/"+subject+"/versions", "", &versions); len(versions) != 2 {
		t.Errorf("versions %v, want the old one and ours", versions)
	}
}

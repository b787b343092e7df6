package registry

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/sr"
	"github.com/twmb/franz-go/pkg/sr/srfake"

	"ctbridge/bridge/fault"
)

// The client is what the interface promises.
var _ Registry = (*Client)(nil)

func TestRegister(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	var registered atomic.Int32
	c := f.client(func(c *Config) { c.Registered = func() { registered.Add(1) } })
	ctx := t.Context()
	first, err := c.Register(ctx, "orders-value", schemaOne)
	if err != nil {
		t.Fatal(err)
	}
	second, err := c.Register(ctx, "orders-value", schemaTwo)
	if err != nil || second == first {
		t.Fatalf("%d, %d, %v", first, second, err)
	}
	asked := f.lookups.Load()
	if again, err := c.Register(ctx, "orders-value", schemaOne); err != nil || again != first || f.lookups.Load() != asked {
		t.Errorf("from the cache: %d, %v, %d requests", again, err, f.lookups.Load()-asked)
	}
	if other, err := f.client(nil).Register(ctx, "orders-value", schemaOne); err != nil || other != first {
		t.Errorf("by another client: %d, %v", other, err)
	}
	if f.posts.Load() != 2 || registered.Load() != 2 {
		t.Errorf("%d registrations, %d reported", f.posts.Load(), registered.Load())
	}
	if text, err := c.ByID(ctx, second); err != nil || text != schemaTwo {
		t.Errorf("%s, %v", text, err)
	}
	if _, err := c.ByID(ctx, 999); fault.ClassOf(err) != fault.Table || !strings.Contains(err.Error(), "schema 999") {
		t.Errorf("unknown id: %v", err)
	}
}

func TestLookupAndLatest(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	c, ctx := f.client(nil), t.Context()
	if _, found, err := c.Lookup(ctx, "s", schemaOne); found || err != nil {
		t.Errorf("unknown subject: %v, %v", found, err)
	}
	if _, found, err := c.Latest(ctx, "s"); found || err != nil {
		t.Errorf("unknown subject: %v, %v", found, err)
	}
	for _, schema := range []string{schemaOne, schemaTwo} {
		id, err := c.Register(ctx, "s", schema)
		if err != nil {
			t.Fatal(err)
		}
		if got, found, err := f.client(nil).Lookup(ctx, "s", schema); got != id || !found || err != nil {
			t.Errorf("lookup: %d, %v, %v; want %d", got, found, err, id)
		}
		// The newest schema is asked for every time: a cached one would be wrong here.
		if latest, found, err := c.Latest(ctx, "s"); latest.ID != id || latest.Text != schema || !found || err != nil {
			t.Errorf("latest: %+v, %v, %v", latest, found, err)
		}
	}
	if _, found, err := c.Lookup(ctx, "s", schemaBad); found || err != nil {
		t.Errorf("unknown schema: %v, %v", found, err)
	}
}

func TestConcurrentRegistrationsAreOne(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	c := f.client(nil)
	ids := make([]int, 20)
	var group sync.WaitGroup
	for i := range ids {
		group.Go(func() {
			id, err := c.Register(t.Context(), "s", schemaOne)
			if err != nil {
				t.Error(err)
			}
			ids[i] = id
		})
	}
	group.Wait()
	if f.posts.Load() != 1 || f.lookups.Load() != 1 {
		t.Errorf("%d registrations, %d lookups", f.posts.Load(), f.lookups.Load())
	}
	for _, id := range ids {
		if id != ids[0] {
			t.Fatalf("%v", ids)
		}
	}
}

func TestCase70_OutageOfTheRegistry(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	c := f.client(func(c *Config) { c.URL = strings.Replace(c.URL, "http://", "http://joe:s3cret@", 1) })
	ctx := t.Context()
	id, err := c.Register(ctx, "known", schemaOne)
	if err != nil {
		t.Fatal(err)
	}
	f.stop()
	if again, err := c.Register(ctx, "known", schemaOne); err != nil || again != id {
		t.Errorf("a known schema: %d, %v", again, err)
	}
	_, err = c.Register(ctx, "new", schemaOne)
	if fault.ClassOf(err) != fault.Retry || err == nil {
		t.Fatalf("%v", err)
	}
	for _, needed := range []string{f.url(), "schema of new", "is the schema registry running"} {
		if !strings.Contains(err.Error(), needed) {
			t.Errorf("%q is missing in: %v", needed, err)
		}
	}
	if strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "joe") {
		t.Errorf("credentials in: %v", err)
	}
	f.start()
	if _, err := c.Register(ctx, "new", schemaOne); err != nil {
		t.Errorf("after the outage: %v", err)
	}
}

func TestStoredBefore5xx(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	var broken atomic.Bool
	f.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/versions") || broken.Swap(true) {
			return false
		}
		if _, _, err := f.RegisterSchema("s", sr.Schema{Schema: schemaOne}); err != nil {
			t.Error(err)
		}
		w.WriteHeader(http.StatusBadGateway)
		return true
	})
	id, err := f.client(nil).Register(t.Context(), "s", schemaOne)
	if err != nil {
		t.Fatal(err)
	}
	if stored, ok := f.GetSchema("s", 1); !ok || stored.ID != id {
		t.Errorf("id %d, stored %+v", id, stored)
	}
	if f.posts.Load() != 1 || f.lookups.Load() != 2 {
		t.Errorf("%d registrations, %d lookups", f.posts.Load(), f.lookups.Load())
	}
}

func TestPassingFailures(t *testing.T) {
	t.Parallel()
	for _, status := range []int{500, 502, 503, 504, 429} {
		f := newFake(t)
		f.breaks(2, status, "<html>try later</html>")
		if _, err := f.client(nil).Register(t.Context(), "s", schemaOne); err != nil || f.posts.Load() != 3 {
			t.Errorf("%d: %v after %d requests", status, err, f.posts.Load())
		}
		f = newFake(t)
		f.breaks(100, status, "<html>try later</html>")
		_, err := f.client(func(c *Config) { c.Attempts = 3 }).Register(t.Context(), "s", schemaOne)
		if fault.ClassOf(err) != fault.Retry || err == nil || !strings.Contains(err.Error(), "try later") || f.posts.Load() != 3 {
			t.Errorf("%d for ever: %v after %d requests", status, err, f.posts.Load())
		}
	}
}

func TestLastingFailures(t *testing.T) {
	t.Parallel()
	page := "<html>\n<body>" + strings.Repeat("no entry ", 1000) + "</body></html>"
	for name, c := range map[string]struct {
		status int
		body   string
		class  fault.Class
		says   string
	}{
		"409 with JSON":        {409, `{"error_code":409,"message":"reader field zone has no default"}`, fault.Table, "reader field zone has no default"},
		"409 with a page":      {409, page, fault.Table, "409 Conflict: <html> <body>no entry"},
		"409 without a body":   {409, "", fault.Table, "409 Conflict"},
		"invalid schema":       {422, `{"error_code":42201,"message":"Invalid schema"}`, fault.Table, "Invalid schema (code 42201)"},
		"read only":            {422, `{"error_code":42205,"message":"Subject in read-only mode"}`, fault.Table, "read-only mode"},
		"too large":            {413, "", fault.Table, "413"},
		"no credentials":       {401, `{"error_code":401,"message":"Unauthorized"}`, fault.Fatal, "check the registry's user"},
		"not allowed":          {403, page, fault.Fatal, "check the registry's user"},
		"another server":       {404, page, fault.Config, "/apis/ccompat/v7"},
		"another API":          {404, `{"error_code":404,"message":"HTTP 404 Not Found"}`, fault.Config, "/apis/ccompat/v7"},
		"not for posts":        {405, "", fault.Config, "registry's API"},
		"moved":                {302, "", fault.Config, "registry's API"},
		"a page":               {200, page, fault.Retry, "not that of a schema registry"},
		"null":                 {200, " null\n", fault.Retry, "not that of a schema registry"},
		"something unheard of": {418, "", fault.Table, "418"},
	} {
		f := newFake(t)
		f.breaks(100, c.status, c.body)
		_, err := f.client(nil).Register(t.Context(), "orders-value", schemaOne)
		if err == nil || fault.ClassOf(err) != c.class || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "orders-value") {
			t.Errorf("%s: class %v: %v", name, fault.ClassOf(err), err)
			continue
		}
		if f.posts.Load() != 1 || len(err.Error()) > 1200 {
			t.Errorf("%s: %d requests, error of %d bytes", name, f.posts.Load(), len(err.Error()))
		}
	}
}

func TestAnswersWithoutAnID(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.breaks(1, http.StatusOK, "{}") // the library then asks for schema 0, which is not there
	if id, err := f.client(nil).Register(t.Context(), "s", schemaOne); err != nil || id == 0 || f.posts.Load() != 2 {
		t.Errorf("%d, %v after %d requests", id, err, f.posts.Load())
	}
	f.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		_, _ = io.WriteString(w, "{}")
		return true
	})
	c := f.client(nil)
	if _, _, err := c.Lookup(t.Context(), "s", schemaOne); err == nil || !strings.Contains(err.Error(), "not that of a schema registry") {
		t.Errorf("%v", err)
	}
	if _, _, err := c.Latest(t.Context(), "s"); err == nil || !strings.Contains(err.Error(), "not that of a schema registry") {
		t.Errorf("%v", err)
	}
}

func TestCase66_ConflictNamesTheReason(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.checksCompatibility(t)
	c, ctx := f.client(nil), t.Context()
	for _, schema := range []string{schemaOne, schemaTwo} { // a nullable column with default null may always come
		if v, err := c.Compatible(ctx, "s", schema); !v.Compatible || len(v.Reasons) != 0 || err != nil {
			t.Errorf("%+v, %v", v, err)
		}
		if _, err := c.Register(ctx, "s", schema); err != nil {
			t.Fatal(err)
		}
	}
	v, err := c.Compatible(ctx, "s", schemaBad)
	if v.Compatible || len(v.Reasons) != 1 || !strings.Contains(v.Reasons[0], "zone") || err != nil {
		t.Errorf("%+v, %v", v, err)
	}
	_, err = c.Register(ctx, "s", schemaBad)
	if fault.ClassOf(err) != fault.Table || err == nil || !strings.Contains(err.Error(), "zone") || !strings.Contains(err.Error(), "compatibility level") {
		t.Errorf("%v", err)
	}
}

func TestCase68_LevelOnlyOnOwnSubjects(t *testing.T) {
	t.Parallel()
	f := newFake(t, srfake.WithGlobalCompat(sr.CompatForward))
	c, ctx := f.client(func(c *Config) { c.Compatibility = "full" }), t.Context()
	if _, _, err := f.RegisterSchema("existing", sr.Schema{Schema: schemaOne}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.RegisterSchema("free", sr.Schema{Schema: schemaOne}); err != nil {
		t.Fatal(err)
	}
	if err := f.SetCompat("existing", sr.CompatNone); err != nil {
		t.Fatal(err)
	}
	for subject, want := range map[string]string{"existing": "NONE", "free": "FORWARD", "fresh": "FULL"} {
		if _, err := c.Register(ctx, subject, schemaTwo); err != nil {
			t.Fatal(err)
		}
		level, own, err := c.Compatibility(ctx, subject)
		if level != want || own != (subject != "free") || err != nil {
			t.Errorf("%s: %s, %v, %v", subject, level, own, err)
		}
		if _, put := f.levels.Load(subject); put != (subject == "fresh") {
			t.Errorf("%s: level put: %v", subject, put)
		}
	}
	if err := c.SetCompatibility(ctx, "free", "NONE"); err != nil {
		t.Error(err)
	}
	if level, own, err := c.Compatibility(ctx, "free"); level != "NONE" || !own || err != nil {
		t.Errorf("%s, %v, %v", level, own, err)
	}
	if err := c.SetCompatibility(ctx, "free", "SIDEWAYS"); fault.ClassOf(err) != fault.Config {
		t.Errorf("%v", err)
	}
}

func TestLevelSetBeforehandStays(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet || r.URL.Path != "/config/planned" {
			return false
		}
		_, _ = io.WriteString(w, `{"compatibilityLevel":"NONE"}`)
		return true
	})
	if _, err := f.client(func(c *Config) { c.Compatibility = "FULL" }).Register(t.Context(), "planned", schemaOne); err != nil {
		t.Fatal(err)
	}
	if _, put := f.levels.Load("planned"); put {
		t.Error("the level was changed")
	}
}

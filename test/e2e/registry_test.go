package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"
)

// gate stands before the registry and can be closed.
type gate struct {
	*httptest.Server
	closed atomic.Bool
}

func (s *stand) gate() *gate {
	s.Helper()
	target, err := url.Parse(s.RegistryURL())
	if err != nil {
		s.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.Transport = &http.Transport{DisableKeepAlives: true}
	g := &gate{}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if g.closed.Load() {
			panic(http.ErrAbortHandler) // cuts the connection
		}
		proxy.ServeHTTP(w, r)
	}))
	s.Cleanup(g.Close)
	return g
}

// Case 70: while the registry is away, tables whose schemas are known go on, a new table waits alone, and nothing needs a restart.
func TestCase70_RegistryOutage(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	g := s.gate()
	s.create("known", "fresh")
	s.add("known", "I", 1, "t1", 1, "a", nil)
	r := s.start(set{"format": "avro", "schema_registry.url": g.URL})
	s.read(1, "known")
	g.closed.Store(true)
	s.add("fresh", "I", 2, "t2", 1, "b", nil)
	s.add("known", "I", 3, "t3", 2, "c", nil)
	s.read(2, "known")
	r.says("table stopped", "table=fresh", g.URL, "is the schema registry running")
	s.add("known", "I", 4, "t4", 3, "d", nil)
	s.read(3, "known")
	g.closed.Store(false)
	if row := s.decodeRegistered(s.read(1, "fresh")[0].Value)["data"].(tree); fmt.Sprint(row["status"]) != "b" {
		t.Errorf("row %v", row)
	}
	eventually(t, func() bool { return r.metric(`ctbridge_table_state{state="streaming",table="fresh"}`) == 1 }, "the table to stream")
}

// Case 66: columns that come and go pass every level of compatibility; a change that does not pass stops its table alone.
func TestCase66_ColumnsComeAndGo(t *testing.T) {
	t.Parallel()
	for _, level := range []string{"BACKWARD", "FULL", "FULL_TRANSITIVE"} {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			s := newStand(t)
			changes := []set{s.avro(), {"schema_registry.compatibility": level}}
			s.create("parcel", "depot")
			run := func(n int, after func(r *running)) {
				t.Helper()
				r := s.start(changes...)
				s.read(n, "parcel")
				if after != nil {
					after(r)
				}
				r.drain()
			}
			s.add("parcel", "I", 1, "t1", 1, "a", "1.00")
			run(1, nil)
			s.alter("ADD weight int")
			s.add("parcel", "I", 2, "t2", 2, "b", "1.00", 7)
			run(2, nil)
			s.alter("ADD zone varchar(2) NOT NULL DEFAULT ''")
			s.add("parcel", "I", 3, "t3", 3, "c", "1.00", 7, "eu")
			run(3, nil)
			s.alter("DROP status")
			s.add("parcel", "I", 4, "t4", 4, "1.00", 7, "eu")
			run(4, nil)
			messages := s.read(4, "parcel")
			var got []string
			for _, m := range messages {
				got = append(got, row(s.decodeRegistered(m.Value)["data"]))
			}
			want(t, got, "(fee=1.00 id=1 status=a)", "(fee=1.00 id=2 status=b weight=7)", "(fee=1.00 id=3 status=c weight=7 zone=eu)", "(fee=1.00 id=4 weight=7 zone=eu)")

			// A column of another type is another column: no level lets it pass.
			s.alter("DROP weight")
			s.alter("ADD weight varchar(20)")
			s.add("parcel", "I", 5, "t5", 5, "1.00", "eu", "heavy")
			s.add("depot", "I", 6, "t6", 1, "x", nil)
			run(4, func(r *running) {
				s.read(1, "depot")
				r.says("table stopped", "table=parcel", "incompatible", "make the change compatible, or set another level there")
			})
			if n := len(s.all(s.task + ".parcel")); n != 4 {
				t.Errorf("%d messages, want 4", n)
			}
			s.setLevel(s.task+".parcel-value", "NONE")
			run(5, nil)
			if got := row(s.decodeRegistered(s.read(5, "parcel")[4].Value)["data"]); got != "(fee=1.00 id=5 weight=heavy zone=eu)" {
				t.Errorf("row %s", got)
			}
		})
	}
}

// alter changes base and change table alike.
func (s *stand) alter(change string) {
	s.Helper()
	s.db.Exec(s, "ALTER TABLE parcel %s", change)
	s.db.Exec(s, "ALTER TABLE parcel__ct %s", change)
}

func (s *stand) setLevel(subject, level string) {
	s.Helper()
	req, err := http.NewRequest(http.MethodPut, s.RegistryURL()+"/config/"+subject, bytes.NewBufferString(`{"compatibility": "`+level+`"}`))
	if err != nil {
		s.Fatal(err)
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if body, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK {
		s.Fatalf("%d %s", resp.StatusCode, body)
	}
}

// Case 68: the level of a subject that was there before is never touched.
func TestCase68_LevelOfOthersSubjects(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.create("parcel")
	s.add("parcel", "I", 1, "t1", 1, "a", nil)
	r := s.start(s.avro())
	s.read(1, "parcel")
	r.drain()
	subject := s.task + ".parcel-value"
	s.setLevel(subject, "NONE")
	s.alter("ADD weight int")
	s.add("parcel", "I", 2, "t2", 2, "b", nil, 7)
	s.start(s.avro(), set{"schema_registry.compatibility": "FULL"})
	s.read(2, "parcel")
	var level struct{ CompatibilityLevel string }
	s.get(s.RegistryURL()+"/config/"+subject, &level)
	if level.CompatibilityLevel != "NONE" {
		t.Errorf("level %q, want NONE", level.CompatibilityLevel)
	}
}

// Case 67: the same table gives the same schema on every start: one version, one id.
func TestCase67_SchemaIsTheSameOnEveryStart(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.create("parcel")
	for n := 1; n <= 5; n++ {
		s.add("parcel", "I", n, "t1", n, "a", nil)
		r := s.start(s.avro(), set{"key.format": "avro"})
		s.read(n, "parcel")
		r.drain()
	}
	var versions []int
	s.get(s.RegistryURL()+"/subjects/"+s.task+".parcel-value/versions", &versions)
	if len(versions) != 1 {
		t.Errorf("versions %v", versions)
	}
	first := s.read(5, "parcel")[0]
	for _, m := range s.read(5, "parcel") {
		if !bytes.Equal(m.Value[:5], first.Value[:5]) || !bytes.Equal(m.Key[:5], first.Key[:5]) {
			t.Errorf("schema ids %x %x and %x %x", m.Value[:5], m.Key[:5], first.Value[:5], first.Key[:5])
		}
	}
}

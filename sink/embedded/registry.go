package embedded

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync"

	"github.com/twmb/avro"
	"github.com/twmb/franz-go/pkg/sr"
	"github.com/twmb/franz-go/pkg/sr/srfake"
)

// maxSchema bounds one schema in bytes.
const maxSchema = 4 << 20

// registry is the fake registry with a real compatibility check in front of it and a file of registrations behind it. Replaying the file in
// its order gives every schema the id that it had, so that records written before a restart stay readable.
type registry struct {
	fake *srfake.Registry
	mux  *http.ServeMux

	mu   sync.Mutex // one registration at a time: check, register, remember
	file *os.File   // nil = memory only
}

type registration struct {
	Subject string    `json:"subject"`
	Schema  sr.Schema `json:"schema"`
}

func openRegistry(path string) (*registry, error) {
	r := &registry{fake: srfake.NewRegistry(), mux: http.NewServeMux()}
	r.mux.HandleFunc("POST /subjects/{subject}/versions", r.register)
	r.mux.HandleFunc("POST /compatibility/subjects/{subject}/versions/{version}", r.compatible)
	r.mux.HandleFunc("POST /compatibility/subjects/{subject}/versions", r.compatible)
	r.mux.Handle("/", r.fake.Handler())
	if path == "" {
		return r, nil
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	r.file = f
	if err := r.replay(); err != nil {
		f.Close()
		return nil, fmt.Errorf("schemas in %s: %w", path, err)
	}
	return r, nil
}

func (r *registry) replay() error {
	dec := json.NewDecoder(r.file)
	for {
		var g registration
		if err := dec.Decode(&g); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if _, _, err := r.fake.RegisterSchema(g.Subject, g.Schema); err != nil {
			return err
		}
	}
}

func (r *registry) close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}

// ServeHTTP answers as a Confluent-compatible registry.
func (r *registry) ServeHTTP(w http.ResponseWriter, req *http.Request) { r.mux.ServeHTTP(w, req) }

func (r *registry) register(w http.ResponseWriter, req *http.Request) {
	schema, ok := readSchema(w, req)
	if !ok {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	subject := req.PathValue("subject")
	if err := r.check(subject, schema, ""); err != nil {
		fail(w, err)
		return
	}
	answer := &recorder{header: w.Header(), status: http.StatusOK}
	r.fake.Handler().ServeHTTP(answer, req)
	if answer.status == http.StatusOK {
		if err := r.remember(registration{subject, schema}); err != nil {
			fail(w, &refusal{http.StatusInternalServerError, 50001, err.Error()})
			return
		}
	}
	w.WriteHeader(answer.status)
	w.Write(answer.body.Bytes())
}

func (r *registry) remember(g registration) error {
	if r.file == nil {
		return nil
	}
	line, err := json.Marshal(g)
	if err != nil {
		return err
	}
	_, err = r.file.Write(append(line, '\n'))
	return err
}

func (r *registry) compatible(w http.ResponseWriter, req *http.Request) {
	schema, ok := readSchema(w, req)
	if !ok {
		return
	}
	err := r.check(req.PathValue("subject"), schema, req.PathValue("version"))
	if err != nil && err.status != http.StatusConflict {
		fail(w, err)
		return
	}
	verdict := map[string]any{"is_compatible": err == nil}
	if err != nil && req.URL.Query().Get("verbose") == "true" {
		verdict["messages"] = []string{err.message}
	}
	respond(w, http.StatusOK, verdict)
}

// readSchema reads the request's schema and puts the body back for the next handler.
func readSchema(w http.ResponseWriter, req *http.Request) (sr.Schema, bool) {
	var schema sr.Schema
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxSchema))
	if err == nil {
		err = json.Unmarshal(body, &schema)
	}
	if err != nil {
		fail(w, &refusal{http.StatusUnprocessableEntity, 42201, "invalid schema: " + err.Error()})
		return schema, false
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	return schema, true
}

// refusal is an error answer of the registry: HTTP status, Confluent error code, text.
type refusal struct {
	status  int
	code    int
	message string
}

// check compares an Avro schema with the versions that the subject's level names: only (when only is a number), the latest, or all of
// them. Schemas with references are not checked.
func (r *registry) check(subject string, schema sr.Schema, only string) *refusal {
	if schema.Type != sr.TypeAvro || len(schema.References) > 0 {
		return nil
	}
	next, err := avro.Parse(schema.Schema)
	if err != nil {
		return &refusal{http.StatusUnprocessableEntity, 42201, "invalid schema: " + err.Error()}
	}
	var level, versions = r.level(subject), r.versions(subject)
	if number, err := strconv.Atoi(only); err == nil {
		versions = []int{number}
	} else if len(versions) > 0 && !level.all {
		versions = versions[len(versions)-1:]
	}
	for _, version := range versions {
		if err := r.checkVersion(subject, version, level, next); err != nil {
			return &refusal{http.StatusConflict, 409, fmt.Sprintf(
				"schema being registered is incompatible with version %d of subject %q: %v", version, subject, err)}
		}
	}
	return nil
}

func (r *registry) checkVersion(subject string, version int, level level, next *avro.Schema) error {
	old, ok := r.fake.GetSchema(subject, version)
	if !ok {
		return nil
	}
	before, err := avro.Parse(old.Schema.Schema)
	if err != nil {
		return nil // not Avro, or with references
	}
	if level.backward {
		if err := avro.CheckCompatibility(before, next); err != nil {
			return err
		}
	}
	if level.forward {
		return avro.CheckCompatibility(next, before)
	}
	return nil
}

// level is a compatibility level taken apart.
type level struct{ backward, forward, all bool }

var levels = map[string]level{
	"NONE":                {},
	"BACKWARD":            {backward: true},
	"BACKWARD_TRANSITIVE": {backward: true, all: true},
	"FORWARD":             {forward: true},
	"FORWARD_TRANSITIVE":  {forward: true, all: true},
	"FULL":                {backward: true, forward: true},
	"FULL_TRANSITIVE":     {backward: true, forward: true, all: true},
}

func (r *registry) level(subject string) level {
	var answer struct {
		Level string `json:"compatibilityLevel"`
	}
	r.ask("/config/{subject}", subject, &answer)
	return levels[answer.Level]
}

func (r *registry) versions(subject string) []int {
	var versions []int
	r.ask("/subjects/{subject}/versions", subject, &versions)
	return versions
}

package embedded

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
)

// ask reads one resource of the fake registry; into stays as it is where there is none.
func (r *registry) ask(path, subject string, into any) {
	raw := strings.ReplaceAll(path, "{subject}", url.PathEscape(subject))
	req := &http.Request{Method: http.MethodGet, URL: &url.URL{Path: strings.ReplaceAll(path, "{subject}", subject), RawPath: raw}}
	answer := &recorder{header: http.Header{}, status: http.StatusOK}
	r.fake.Handler().ServeHTTP(answer, req)
	if answer.status == http.StatusOK {
		json.Unmarshal(answer.body.Bytes(), into)
	}
}

// recorder keeps an answer until it is known what to do with it.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) WriteHeader(status int)      { r.status = status }
func (r *recorder) Write(b []byte) (int, error) { return r.body.Write(b) }

func fail(w http.ResponseWriter, r *refusal) {
	respond(w, r.status, map[string]any{"error_code": r.code, "message": r.message})
}

func respond(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/vnd.schemaregistry.v1+json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(body)
}

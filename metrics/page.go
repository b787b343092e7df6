package metrics

import (
	"bytes"
	"compress/gzip"
	_ "embed" // the files of the page
	"encoding/json"
	"net/http"
	"strings"
)

// The page is these three files and /api/status; it asks nobody else for anything.
//
//go:embed page/index.html
var pageHTML []byte

//go:embed page/status.css
var pageCSS []byte

//go:embed page/status.js
var pageJS []byte

// pagePolicy lets the page load its own files and ask its own server; data: is the icon, which tells the state.
const pagePolicy = "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// routePage adds the status page and its data.
func (m *Metrics) routePage(mux *http.ServeMux) {
	for pattern, file := range map[string]struct {
		kind string
		body []byte
	}{
		"GET /{$}":        {"text/html; charset=utf-8", pageHTML},
		"GET /status.css": {"text/css; charset=utf-8", pageCSS},
		"GET /status.js":  {"text/javascript; charset=utf-8", pageJS},
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { send(w, r, file.kind, file.body) })
	}
	mux.HandleFunc("GET /api/status", func(w http.ResponseWriter, r *http.Request) {
		var body bytes.Buffer
		out := json.NewEncoder(&body)
		out.SetEscapeHTML(false)
		_ = out.Encode(m.Status()) // a buffer takes everything, and the document has no values that JSON lacks
		send(w, r, "application/json", body.Bytes())
	})
}

// worthPacking is the size from which an answer is compressed: a thousand tables come to a phone as 20 KiB.
const worthPacking = 4 << 10

// send answers with the headers that all of the page needs. Nothing is stored: what is shown is of now.
func send(w http.ResponseWriter, r *http.Request, kind string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", pagePolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Vary", "Accept-Encoding")
	if len(body) < worthPacking || !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		_, _ = w.Write(body) // a client that has gone is nobody's problem
		return
	}
	h.Set("Content-Encoding", "gzip")
	packed, _ := gzip.NewWriterLevel(w, gzip.BestSpeed) // the level is valid
	_, _ = packed.Write(body)
	_ = packed.Close()
}

package registry

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"ctbridge/bridge/fault"
)

func TestMode(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		body   string
		want   string
		class  fault.Class
		fails  bool
	}{
		"read-write":  {http.StatusOK, `{"mode":"READWRITE"}`, "READWRITE", 0, false},
		"read only":   {http.StatusOK, `{"mode":"READONLY"}`, "READONLY", 0, false},
		"no modes":    {http.StatusNotFound, `{"error_code":404,"message":"HTTP 404 Not Found"}`, "", 0, false},
		"not a mode":  {http.StatusOK, `[]`, "", 0, false},
		"not allowed": {http.StatusForbidden, ``, "", fault.Fatal, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/apis/mode" {
					t.Errorf("asked %s", r.URL.Path)
				}
				if user, password, _ := r.BasicAuth(); user != "u" || password != "p" {
					t.Error("without credentials")
				}
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.body))
			}))
			t.Cleanup(server.Close)
			client, err := New(Config{URL: server.URL + "/apis", Username: "u", Password: "p"})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = client.Close() })
			got, err := client.Mode(t.Context())
			if got != c.want || (err != nil) != c.fails || c.fails && fault.ClassOf(err) != c.class {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

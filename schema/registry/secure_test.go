package registry

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"ctbridge/bridge/fault"
	"ctbridge/test/certs"
)

func TestCertificates(t *testing.T) {
	t.Parallel()
	for _, tt := range certs.Cases(t) {
		t.Run(tt.Name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(`{"schema":"\"string\""}`))
			}))
			server.TLS = tt.Server
			server.StartTLS()
			defer server.Close()
			c, err := New(Config{URL: server.URL, Username: "bridge", Password: "s3cret", TLS: tt.Config(), Attempts: 1})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Close() }()
			err = c.Ping(t.Context())
			switch {
			case tt.Hint == "" && err != nil:
				t.Error(err)
			case tt.Hint != "" && (fault.ClassOf(err) != fault.Fatal || !strings.Contains(fault.HintOf(err), tt.Hint)):
				t.Errorf("class %v, want a hint about %q: %v", fault.ClassOf(err), tt.Hint, err)
			case err != nil && strings.Contains(err.Error(), "s3cret"):
				t.Error(err)
			}
		})
	}
}

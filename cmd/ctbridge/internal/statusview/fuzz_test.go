package statusview

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"ctbridge/metrics"
)

// FuzzWrite writes any document that somebody's /api/status could answer: never a panic, and nothing that a terminal would obey.
func FuzzWrite(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.json")
	for _, file := range files {
		if data, err := os.ReadFile(file); err == nil {
			f.Add(data)
		}
	}
	f.Add([]byte(`{"format":1,"task":"\u001b]0;x\u0007","state":"\u001b[2J","problems":["\u001b[31m"],"neighbours":[{"name":"\u001b[1m","state":"\u009b","error":"\u001b"}]}`))
	f.Add([]byte(`{"format":1,"task":"t","state":"ok","tables":[{"table":"\u001b[2Jx","state":"\u001b[2J","problem":"\r\u001b"}],"totals":{"lag":-1e308},"uptime":1e300}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var s metrics.Status
		if json.Unmarshal(data, &s) != nil {
			return
		}
		for _, o := range []Options{{}, {Width: 80, Rows: 5}, {Width: 3}} {
			var b strings.Builder
			if err := Write(&b, &s, o); err != nil {
				t.Fatal(err)
			}
			if at := strings.IndexFunc(b.String(), func(r rune) bool { return r != '\n' && unicode.IsControl(r) }); at >= 0 {
				text := b.String()
				t.Fatalf("a terminal would obey %q", text[max(0, at-40):min(len(text), at+40)])
			}
		}
		_ = Write(io.Discard, &s, Options{Color: true, Width: 100})
	})
}

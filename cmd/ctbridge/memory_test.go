package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestContainerLimit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	missing := filepath.Join(dir, "missing")
	for text, want := range map[string]int64{"max\n": 0, "402653184\n": 402653184, "9223372036854771712\n": 0, "": 0, "-1": 0} {
		file := filepath.Join(dir, "limit")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := containerLimit([]string{missing, file}); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
	if got := containerLimit([]string{missing}); got != 0 {
		t.Errorf("without files: %d", got)
	}
}

package config

import (
	"bytes"
	"os"
	"testing"
)

// docs/configuration.md is what `ctbridge config reference` prints: after a change of keys, `go test ./bridge/config -update` writes it.
func TestReferenceInDocs(t *testing.T) {
	t.Parallel()
	const file = "../../docs/configuration.md"
	var b bytes.Buffer
	if err := WriteMarkdown(&b); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	there, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(there, b.Bytes()) {
		t.Errorf("%s is not what the code says: go test ./bridge/config -run TestReferenceInDocs -update", file)
	}
}

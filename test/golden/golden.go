// Package golden compares what tests make with files of their testdata. With -update the files are written anew.
package golden

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// JSON compares JSON texts, one after another, with a file of testdata, indented so that a difference can be read.
func JSON(t *testing.T, name string, texts ...[]byte) {
	t.Helper()
	var indented bytes.Buffer
	for _, text := range texts {
		if err := json.Indent(&indented, text, "", "  "); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, text)
		}
		indented.WriteByte('\n')
	}
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, indented.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run with -update to write it)", err)
	}
	if !bytes.Equal(indented.Bytes(), want) {
		t.Errorf("%s differs:\n%s", path, indented.Bytes())
	}
}

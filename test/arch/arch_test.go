package arch

import (
	"os"
	"testing"
)

// folders are the rooms of the building, and what lies beside them.
var folders = []string{".ci", "bridge", "cmd", "deploy", "docs", "metrics", "schema", "sink", "source", "test"}

func load(t *testing.T) *Tree {
	t.Helper()
	tree, err := Load(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	if tree.Module != "ctbridge" || len(tree.Files) < 100 {
		t.Fatalf("module %s with %d files: this is not the whole tree", tree.Module, len(tree.Files))
	}
	return tree
}

func TestTree(t *testing.T) {
	tree := load(t)
	checks := map[string]func() []string{
		"Imports": func() []string { return CheckImports(tree, Rooms()) },
		"Folders": func() []string { return CheckFolders(tree, folders) },
		"Sizes":   func() []string { return CheckSizes(tree) },
		"Init":    func() []string { return CheckInit(tree) },
		"Sleep":   func() []string { return CheckSleep(tree) },
		"Docs":    func() []string { return CheckDocs(tree) },
	}
	for name, check := range checks {
		t.Run(name, func(t *testing.T) {
			for _, finding := range check() {
				t.Error(finding)
			}
		})
	}
	t.Log("\n" + Sizes(tree))
}

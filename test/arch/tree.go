package arch

import (
	"bufio"
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// Tree is a module as it lies in its folder, parsed and not compiled.
type Tree struct {
	Module  string   // its path, as go.mod names it
	Files   []*File  // in order of path
	Folders []string // the folders at the top, without those that .gitignore leaves out
}

// File is one Go file.
type File struct {
	Path    string // below the root, with slashes
	Folder  string // "." for the root
	Test    bool   // its name ends in _test.go
	Lines   int
	Imports []string
	AST     *ast.File

	set *token.FileSet
}

// Load parses every Go file of the module at the root of a file system. Folders that the go command ignores and modules inside the
// module are left out.
func Load(root fs.FS) (*Tree, error) {
	t := &Tree{}
	if err := t.readModule(root); err != nil {
		return nil, err
	}
	if err := t.readFolders(root); err != nil {
		return nil, err
	}
	set := token.NewFileSet()
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			return enter(root, name)
		case path.Ext(name) == ".go":
			return t.add(root, set, name)
		}
		return nil
	})
	return t, err
}

func (t *Tree) readModule(root fs.FS) error {
	text, err := fs.ReadFile(root, "go.mod")
	if err != nil {
		return err
	}
	for _, line := range strings.Split(string(text), "\n") {
		if name, ok := strings.CutPrefix(line, "module "); ok {
			t.Module = strings.TrimSpace(name)
			return nil
		}
	}
	return fmt.Errorf("go.mod names no module")
}

// readFolders lists the folders at the top. Those that .gitignore names as "/folder/" hold results, not sources.
func (t *Tree) readFolders(root fs.FS) error {
	ignored := map[string]bool{".git": true}
	if text, err := fs.ReadFile(root, ".gitignore"); err == nil {
		for _, line := range strings.Fields(string(text)) {
			ignored[strings.Trim(line, "/")] = true
		}
	}
	entries, err := fs.ReadDir(root, ".")
	for _, e := range entries {
		if e.IsDir() && !ignored[e.Name()] {
			t.Folders = append(t.Folders, e.Name())
		}
	}
	return err
}

func enter(root fs.FS, name string) error {
	if name == "." {
		return nil
	}
	base := path.Base(name)
	_, err := fs.Stat(root, path.Join(name, "go.mod"))
	if base == "testdata" || base == "vendor" || base[0] == '.' || base[0] == '_' || err == nil {
		return fs.SkipDir
	}
	return nil
}

func (t *Tree) add(root fs.FS, set *token.FileSet, name string) error {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return err
	}
	parsed, err := parser.ParseFile(set, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	f := &File{Path: name, Folder: path.Dir(name), Test: strings.HasSuffix(name, "_test.go"), AST: parsed, Lines: countLines(text), set: set}
	for _, spec := range parsed.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		f.Imports = append(f.Imports, imported)
	}
	t.Files = append(t.Files, f)
	return nil
}

func countLines(text []byte) int {
	n := 0
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); n++ {
	}
	return n
}

// own gives the folder of one of the module's packages; ok is false for an import from elsewhere.
func (t *Tree) own(imported string) (folder string, ok bool) {
	return strings.CutPrefix(imported, t.Module+"/")
}

// foreign reports whether an import comes from neither the module nor the standard library, whose paths begin without a dot.
func (t *Tree) foreign(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return strings.Contains(first, ".")
}

// at is the place of a node, for findings.
func (f *File) at(pos token.Pos) string {
	p := f.set.Position(pos)
	return fmt.Sprintf("%s:%d", p.Filename, p.Line)
}

// within reports whether a folder or package is the pattern, or lies below it where the pattern ends in "/...".
func within(name, pattern string) bool {
	parent, tree := strings.CutSuffix(pattern, "/...")
	return name == parent || tree && strings.HasPrefix(name, parent+"/")
}

func withinAny(name string, patterns []string) bool {
	for _, p := range patterns {
		if within(name, p) {
			return true
		}
	}
	return false
}

package arch

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
)

// tree builds a module from its files.
func tree(t *testing.T, files map[string]string) *Tree {
	t.Helper()
	root := fstest.MapFS{"go.mod": {Data: []byte("module ctbridge\n\ngo 1.26.0\n")}}
	for name, text := range files {
		root[name] = &fstest.MapFile{Data: []byte(text)}
	}
	out, err := Load(root)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// expect compares findings with what each of them must begin with or contain.
func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("found %d:\n  %s\nwant %d:\n  %s", len(got), strings.Join(got, "\n  "), len(want), strings.Join(want, "\n  "))
	}
	for i := range got {
		if !strings.Contains(got[i], want[i]) {
			t.Errorf("found %q, want %q in it", got[i], want[i])
		}
	}
}

// importing is a file of a package that imports these.
func importing(pkg string, imports ...string) string {
	out := "package " + pkg + "\n"
	for _, i := range imports {
		out += "import _ \"" + i + "\"\n"
	}
	return out
}

var small = []Room{
	{Path: "change"},
	{Path: "runner", Own: []string{"change", "seam"}},
	{Path: "seam", Own: []string{"change"}},
	{Path: "seam/one", Own: []string{"change", "seam"}, Foreign: []string{"example.org/driver"}},
	{Path: "seam/seamtest", Own: []string{"seam"}, Support: true},
	{Path: "cmd", Own: []string{"runner", "seam/...", "change"}},
	{Path: "test/...", Own: []string{"seam/...", "test/..."}, Support: true},
}

func TestImports(t *testing.T) {
	t.Parallel()
	right := map[string]string{
		"change/a.go":             importing("change", "fmt", "go/ast"),
		"runner/a.go":             importing("runner", "ctbridge/change", "ctbridge/seam"),
		"seam/a.go":               importing("seam", "ctbridge/change"),
		"seam/one/a.go":           importing("one", "ctbridge/seam", "example.org/driver", "example.org/driver/wire"),
		"seam/one/a_test.go":      importing("one", "ctbridge/runner", "ctbridge/seam/seamtest", "example.org/fake", "testing"),
		"seam/seamtest/a.go":      importing("seamtest", "ctbridge/seam", "testing", "example.org/leaks"),
		"cmd/main.go":             importing("main", "ctbridge/runner", "ctbridge/seam/one"),
		"test/stack/deep/main.go": importing("main", "ctbridge/seam/seamtest", "ctbridge/test/other", "example.org/any"),
	}
	expect(t, CheckImports(tree(t, right), small))

	cases := map[string]struct{ file, text, want string }{
		"leaf imports a room":      {"change/b.go", importing("change", "ctbridge/seam"), "none of our packages"},
		"leaf imports a library":   {"change/b.go", importing("change", "example.org/uuid"), "does not know this library"},
		"runner imports adapter":   {"runner/b.go", importing("runner", "ctbridge/seam/one"), "only change, seam"},
		"adapter imports runner":   {"seam/one/b.go", importing("one", "ctbridge/runner"), "only change, seam"},
		"seam imports adapter":     {"seam/b.go", importing("seam", "ctbridge/seam/one"), "only change"},
		"library in another room":  {"runner/b.go", importing("runner", "example.org/driver"), "does not know this library"},
		"library of a like name":   {"seam/one/b.go", importing("one", "example.org/driver2"), "does not know this library"},
		"helper in production":     {"cmd/b.go", importing("main", "ctbridge/seam/seamtest"), "does not import test helpers"},
		"test room in production":  {"cmd/b.go", importing("main", "ctbridge/test/stack"), "does not import test helpers"},
		"testing in production":    {"seam/b.go", importing("seam", "testing"), "does not import test helpers"},
		"httptest in production":   {"seam/b.go", importing("seam", "net/http/httptest"), "does not import test helpers"},
		"helper imports a room":    {"seam/seamtest/b.go", importing("seamtest", "ctbridge/runner"), "only seam"},
		"folder without a line":    {"seam/two/b.go", importing("two"), "seam/two: no room yet"},
		"folder at the top":        {"extra/b.go", importing("extra"), "give it a line"},
		"test file without a line": {"extra/b_test.go", importing("extra"), "give it a line"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{c.file: c.text}
			for file, text := range right {
				files[file] = text
			}
			expect(t, CheckImports(tree(t, files), small), c.want)
		})
	}
	t.Run("room without a file", func(t *testing.T) {
		t.Parallel()
		expect(t, CheckImports(tree(t, map[string]string{"change/a.go": "package change"}), small[:2]), "room runner has no Go file")
	})
}

// The table itself must refuse what the design forbids, whatever is written in it.
func TestTheTableKeepsTheDesign(t *testing.T) {
	t.Parallel()
	forbidden := []struct{ from, to string }{
		{"bridge/change", "ctbridge/bridge/fault"},
		{"bridge/fault", "ctbridge/bridge"},
		{"bridge", "ctbridge/sink/kafka"},
		{"bridge", "ctbridge/source/qlikct"},
		{"bridge", "ctbridge/source/postgres"},
		{"bridge", "ctbridge/bridge/envelope/qlik"},
		{"bridge", "ctbridge/bridge/config"},
		{"bridge/envelope/qlik", "ctbridge/schema/avro"},
		{"schema/avro", "ctbridge/bridge/envelope/qlik"},
		{"source", "ctbridge/bridge"},
		{"source", "ctbridge/bridge/checkpoint"},
		{"source/qlikct", "ctbridge/source/postgres"},
		{"source/postgres", "ctbridge/source/mysql"},
		{"source/sqlite", "ctbridge/sink/kafka"},
		{"sink/kafka", "ctbridge/bridge"},
		{"sink/kafka", "ctbridge/source"},
		{"sink/kafka", "ctbridge/schema/avro"},
		{"bridge", "github.com/IBM/sarama"},
		{"sink/embedded", "github.com/IBM/sarama"},
		{"source/mysql", "github.com/jackc/pgx/v5"},
		{"source/postgres", "github.com/prometheus/client_golang/prometheus"},
		{"source/sqlite", "pgregory.net/rapid"},
		{"schema/avro", "github.com/linkedin/goavro/v2"},
	}
	module := &Tree{Module: "ctbridge"}
	for _, c := range forbidden {
		room := roomOf(Rooms(), c.from)
		if room == nil || room.Path != c.from {
			t.Errorf("%s has no line of its own", c.from)
			continue
		}
		if refused(module, Rooms(), room, &File{Folder: c.from}, c.to) == "" {
			t.Errorf("%s may import %s", c.from, c.to)
		}
	}
}

func TestSizes(t *testing.T) {
	t.Parallel()
	fn := func(name string, lines int) string {
		return "func " + name + "() {\n" + strings.Repeat("\t_ = 1\n", lines-2) + "}\n"
	}
	files := map[string]string{
		"a/screen.go":    "package a\n\n// a doc does not count\n" + fn("fits", MaxFunction) + fn("high", MaxFunction+1),
		"a/long.go":      "package a\n" + strings.Repeat("\n", MaxFile),
		"a/full.go":      "package a\n" + strings.Repeat("\n", MaxFile-1),
		"a/long_test.go": "package a\n" + fn("table", 2*MaxFile),
	}
	found := CheckSizes(tree(t, files))
	expect(t, found, "a/long.go: 401 lines", "a/screen.go:84: high has 81 lines")
	if got := Sizes(tree(t, files)); !strings.Contains(got, "functions 2: median 81, p90 81, longest 81, together 161") {
		t.Errorf("sizes:\n%s", got)
	}
}

func TestHabits(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		text  string
		check func(*Tree) []string
		want  []string
	}{
		"init":               {"package a\nfunc init() {}", CheckInit, []string{"a/a.go:2: init function"}},
		"method named init":  {"package a\ntype t int\nfunc (t) init() {}", CheckInit, nil},
		"sleep":              {"package a\nimport \"time\"\nfunc f() {\ntime.Sleep(1)\n}", CheckSleep, []string{"a/a.go:4: time.Sleep"}},
		"sleep, renamed":     {"package a\nimport clock \"time\"\nvar f = clock.Sleep", CheckSleep, []string{"a/a.go:3: time.Sleep"}},
		"another's Sleep":    {"package a\nimport \"time\"\ntype bed struct{}\nfunc (bed) Sleep() {}\nfunc f(b bed, _ time.Time) { b.Sleep() }", CheckSleep, nil},
		"no package comment": {"package a", CheckDocs, []string{"a: no package comment"}},
		"comment apart":      {"// Package a is far away.\n\npackage a", CheckDocs, []string{"a: no package comment"}},
		"package comment":    {"// Package a is for tests.\npackage a", CheckDocs, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expect(t, c.check(tree(t, map[string]string{"a/a.go": c.text})), c.want...)
		})
	}
	t.Run("sleep in a test", func(t *testing.T) {
		t.Parallel()
		expect(t, CheckSleep(tree(t, map[string]string{"a/a_test.go": "package a\nimport \"time\"\nvar f = time.Sleep"})), "time.Sleep")
	})
	t.Run("init in a test", func(t *testing.T) {
		t.Parallel()
		expect(t, CheckInit(tree(t, map[string]string{"a/a_test.go": "package a\nfunc init() {}"})))
	})
	t.Run("one comment is enough", func(t *testing.T) {
		t.Parallel()
		expect(t, CheckDocs(tree(t, map[string]string{"a/a.go": "package a", "a/doc.go": "// Package a is one.\npackage a", "b/b_test.go": "package b"})))
	})
}

func TestFolders(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		".gitignore": "/program\n/results/\n*.test\n", ".git/config": "", ".ci/run": "", "source/a.go": "package source", "results/a.txt": "", "pkg/a.txt": "", "README.md": "",
	}
	expect(t, CheckFolders(tree(t, files), []string{".ci", "source"}), "pkg: not one of the folders")
}

// What the go command does not build is not part of the tree.
func TestLoadLeavesOut(t *testing.T) {
	t.Parallel()
	got := tree(t, map[string]string{
		"a/a.go": "package a", "a/testdata/b.go": "not Go", "a/_old/b.go": "not Go", "a/.hidden/b.go": "not Go", "vendor/v/b.go": "not Go",
		"inner/go.mod": "module inner", "inner/b.go": "not Go", "a/a.txt": "not Go",
	})
	if len(got.Files) != 1 || got.Files[0].Path != "a/a.go" || got.Module != "ctbridge" {
		t.Errorf("loaded %+v", got.Files)
	}
	for _, root := range []fs.FS{
		fstest.MapFS{},
		fstest.MapFS{"go.mod": {Data: []byte("go 1.26\n")}},
		fstest.MapFS{"go.mod": {Data: []byte("module m\n")}, "a.go": {Data: []byte("package")}},
	} {
		if _, err := Load(root); err == nil {
			t.Errorf("%v loads", root)
		}
	}
}

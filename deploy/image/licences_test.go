package image

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write THIRD_PARTY_LICENSES.md anew")

const licences = tree + "/THIRD_PARTY_LICENSES.md"

// module is one whose code is in the binary.
type module struct {
	path, version string
	texts         []string // of its licence files, in the order of their names
	kinds         []string
}

var licenceFile = regexp.MustCompile(`(?i)^(licen[sc]e|copying|notice|patents|copyright|unlicense)([.\-_].*)?$`)

// Every module in the binary is listed with its licence texts, as most licences demand of who passes binaries on. A dependency that changes
// changes the file: go test ./deploy/image -run TestLicences -update.
func TestLicences(t *testing.T) {
	t.Parallel()
	want := document(t, modules(t))
	if *update {
		if err := os.WriteFile(licences, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(licences)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("THIRD_PARTY_LICENSES.md is not that of the binary: run go test ./deploy/image -run TestLicences -update and read the difference")
	}
}

// modules reads what the image's binary is made of, for both processors that it is built for.
func modules(t *testing.T) []module {
	t.Helper()
	files := map[string]map[string]bool{} // licence files by module
	for _, processor := range []string{"amd64", "arm64"} {
		list := exec.Command("go", "list", "-deps", "-f", "{{if .Module}}{{if not .Module.Main}}{{.Module.Path}} {{.Module.Version}}\t{{.Module.Dir}}\t{{.Dir}}{{end}}{{end}}", "./cmd/ctbridge")
		list.Dir, list.Env = tree, append(os.Environ(), "GOOS=linux", "GOARCH="+processor, "CGO_ENABLED=0")
		out, err := list.Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
			part := strings.Split(line, "\t")
			if files[part[0]] == nil {
				files[part[0]] = map[string]bool{}
			}
			for dir := part[2]; strings.HasPrefix(dir, part[1]); dir = filepath.Dir(dir) {
				collect(t, dir, files[part[0]])
			}
		}
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	files["Go standard library and runtime"] = map[string]bool{filepath.Join(strings.TrimSpace(string(root)), "LICENSE"): true}
	var out []module
	for _, name := range slices.Sorted(maps.Keys(files)) {
		out = append(out, read(t, name, slices.Sorted(maps.Keys(files[name]))))
	}
	return out
}

func collect(t *testing.T, dir string, into map[string]bool) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if licenceFile.MatchString(e.Name()) && !e.IsDir() && filepath.Ext(e.Name()) != ".go" {
			into[filepath.Join(dir, e.Name())] = true
		}
	}
}

func read(t *testing.T, name string, files []string) module {
	t.Helper()
	var m module
	m.path, m.version, _ = strings.Cut(name, " v")
	if m.version != "" {
		m.version = "v" + m.version
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.TrimSpace(strings.ReplaceAll(string(data), "\r\n", "\n"))
		if kind := kindOf(text); kind != "" && !slices.Contains(m.kinds, kind) {
			m.kinds = append(m.kinds, kind)
		}
		if !slices.Contains(m.texts, text) {
			m.texts = append(m.texts, text)
		}
	}
	if len(m.kinds) == 0 {
		t.Errorf("%s: no licence that is known here in %q", name, files)
	}
	return m
}

// kinds are recognised by words that only they have, the more special ones first.
var kinds = []struct{ name, words string }{
	{"AGPL", "GNU AFFERO GENERAL PUBLIC LICENSE"}, {"LGPL", "GNU LESSER GENERAL PUBLIC LICENSE"}, {"GPL", "GNU GENERAL PUBLIC LICENSE"},
	{"SSPL", "Server Side Public License"}, {"BUSL", "Business Source License"},
	{"MPL-2.0", "Mozilla Public License"}, {"Apache-2.0", "Apache License"}, {"Apache-2.0", "www.apache.org/licenses/LICENSE-2.0"},
	{"BSD-3-Clause", "Neither the name"}, {"BSD-3-Clause", "names of its contributors"}, {"BSD-2-Clause", "Redistributions in binary form"},
	{"MIT", "Permission is hereby granted, free of charge"}, {"ISC", "Permission to use, copy, modify, and/or distribute"}, {"ISC", "Permission to use, copy, modify, and distribute"},
	{"public domain", "public domain"}, {"public domain", "disclaims copyright"},
}

func kindOf(text string) string {
	flat := strings.Join(strings.Fields(text), " ")
	for _, k := range kinds {
		if strings.Contains(flat, k.words) {
			return k.name
		}
	}
	return ""
}

// Nothing in the binary binds who passes it on to publish code of their own; MPL-2.0 binds changes to its own files, of which there are none.
func TestLicencesLetTheBinaryBePassedOn(t *testing.T) {
	t.Parallel()
	for _, m := range modules(t) {
		for _, kind := range m.kinds {
			if slices.Contains([]string{"AGPL", "LGPL", "GPL", "SSPL", "BUSL"}, kind) {
				t.Errorf("%s is under %s", m.path, kind)
			}
		}
	}
}

// document is the file: a table of the modules, then each text once with who uses it.
func document(t *testing.T, all []module) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("# Licences of what is in the binary\n\nctbridge itself is under the licence in LICENSE. The binary and the image hold code of these modules; their texts follow.\n\n| Module | Version | Licence |\n| --- | --- | --- |\n")
	users := map[string][]string{}
	for _, m := range all {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", m.path, cmp.Or(m.version, "-"), strings.Join(m.kinds, ", "))
		for _, text := range m.texts {
			users[text] = append(users[text], m.path)
		}
	}
	texts := slices.SortedFunc(maps.Keys(users), func(x, y string) int {
		return cmp.Or(cmp.Compare(users[x][0], users[y][0]), cmp.Compare(x, y))
	})
	for _, text := range texts {
		fmt.Fprintf(&b, "\n## %s\n\n````text\n%s\n````\n", strings.Join(users[text], ", "), text)
	}
	return b.String()
}

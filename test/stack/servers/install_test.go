//go:build linux

package servers

import (
	"archive/tar"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestJavaMajor(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]int{
		`openjdk version "17.0.15" 2025-04-15`: 17, `openjdk version "21" 2023-09-19`: 21, `java version "1.8.0_201"`: 1, "nonsense": 0,
	} {
		if got := javaMajor(line); got != want {
			t.Errorf("javaMajor(%q) = %d; want %d", line, got, want)
		}
	}
}

func TestMissingProgramsNameTheirPackages(t *testing.T) {
	t.Parallel()
	var sh, none string
	missing := resolve([]need{
		{&sh, inPath("sh"), "dash"}, {&none, inPath("no-such-program-1"), "zzz"}, {&none, inPath("no-such-program-2"), "aaa"},
		{&none, inPath("no-such-program-3"), "zzz"},
	})
	if !slices.Equal(missing, []string{"aaa", "zzz"}) || !filepath.IsAbs(sh) || none != "" {
		t.Errorf("missing %v, sh at %q, none at %q; want aaa and zzz, an absolute path, nothing", missing, sh, none)
	}
}

// What the cache holds already must not ask for the programs that fill it.
func TestFullCacheNeedsNoMaven(t *testing.T) {
	t.Parallel()
	packages := func(c cache) (names []string) {
		var tools Tools
		for _, n := range tools.systemNeeds([]string{Kafka, Registry, Python}, c) {
			names = append(names, n.pack)
		}
		return names
	}
	c := cache{home: t.TempDir()}
	if got := packages(c); !slices.Equal(got, []string{"openjdk-17-jre-headless", "maven", "python3-venv"}) {
		t.Errorf("empty cache needs %v", got)
	}
	for _, dir := range []string{c.kafka(), c.registry(), c.pythonDone()} {
		mustDo(t, "mkdir", os.MkdirAll(dir, 0o755))
	}
	if got := packages(c); !slices.Equal(got, []string{"openjdk-17-jre-headless"}) {
		t.Errorf("full cache needs %v; want Java alone", got)
	}
}

func TestStageIsAllOrNothing(t *testing.T) {
	t.Parallel()
	c := cache{home: t.TempDir()}
	entry := filepath.Join(c.home, "entry")
	broken := errors.New("cut")
	err := c.stage(entry, func(dir string) error {
		return errors.Join(os.WriteFile(filepath.Join(dir, "half"), nil, 0o600), broken)
	})
	if left, _ := os.ReadDir(c.home); !errors.Is(err, broken) || len(left) != 0 {
		t.Errorf("after a failure: %v, left %v; want the error and nothing", err, left)
	}
	mustDo(t, "stage", c.stage(entry, func(dir string) error { return os.WriteFile(filepath.Join(dir, "whole"), nil, 0o600) }))
	if left, _ := os.ReadDir(c.home); !c.has(filepath.Join(entry, "whole")) || len(left) != 1 {
		t.Errorf("after success: left %v; want the entry alone", left)
	}
}

func TestUnpackOne(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"../evil", "/evil", "a/../../evil"} {
		header := &tar.Header{Name: name, Typeflag: tar.TypeReg}
		if err := unpackOne(header, strings.NewReader("x"), dir); err == nil {
			t.Errorf("entry %q was unpacked", name)
		}
	}
	mustDo(t, "unpack", unpackOne(&tar.Header{Name: "lib/x.jar", Typeflag: tar.TypeReg}, strings.NewReader("jar"), dir))
	if raw, err := os.ReadFile(filepath.Join(dir, "lib", "x.jar")); err != nil || string(raw) != "jar" {
		t.Errorf("unpacked %q, %v", raw, err)
	}
}

func TestRunShowsTheEndOfTheOutput(t *testing.T) {
	t.Parallel()
	err := run(t.Context(), t.TempDir(), "sh", "-c", "seq 1 100; echo boom >&2; exit 4")
	if err == nil || !strings.Contains(err.Error(), "exit status 4") || !strings.HasSuffix(err.Error(), "100\nboom") || strings.Contains(err.Error(), "\n70\n") {
		t.Errorf("run: %v; want the code and the last 30 lines", err)
	}
}

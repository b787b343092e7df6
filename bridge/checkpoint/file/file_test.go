package file_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/checkpoint/checkpointtest"
	"ctbridge/bridge/checkpoint/file"
	"ctbridge/bridge/fault"
)

func TestConformance(t *testing.T) {
	checkpointtest.Run(t, func(t *testing.T) checkpointtest.Place {
		path := filepath.Join(t.TempDir(), "checkpoint.json")
		return checkpointtest.Place{Shared: true, Open: func(*testing.T) checkpoint.Store { return file.New(path) }}
	})
}

func TestUnusableFileIsNeverAnEmptyCheckpoint(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, want string }{
		"cut":      {`{"version":1,"entries":{"a":{"te`, "damaged"},
		"empty":    {``, "damaged"},
		"not json": {"\x00\x00\x00", "damaged"},
		"newer":    {`{"version":2,"entries":{}}`, "version 2"},
		"other":    {`{"name":"something else"}`, "version 0"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "checkpoint.json")
			if err := os.WriteFile(path, []byte(tt.text), 0o644); err != nil {
				t.Fatal(err)
			}
			s := file.New(path)
			t.Cleanup(func() { s.Close() })
			_, err := s.Load(t.Context())
			checkFatal(t, err, path, tt.want)
			err = s.Save(t.Context(), []checkpoint.Entry{{Key: "a", Value: []byte("1")}})
			checkFatal(t, err, path, tt.want)
			if left, _ := os.ReadFile(path); string(left) != tt.text {
				t.Errorf("the file was changed to %q", left)
			}
		})
	}
}

func checkFatal(t *testing.T, err error, path, want string) {
	t.Helper()
	if err == nil || fault.ClassOf(err) != fault.Fatal || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) || fault.HintOf(err) == "" {
		t.Errorf("want a Fatal error about %q that names %s and how to mend it, got %v", want, path, err)
	}
}

func TestMissingFolderIsAnError(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "nowhere", "checkpoint.json")
	_, err := file.New(path).Load(t.Context())
	checkFatal(t, err, path, "no such file")
}

func TestFailedSaveLeavesTheOldStateAndNoLitter(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := filepath.Join(folder, "checkpoint.json")
	s := file.New(path)
	t.Cleanup(func() { s.Close() })
	if err := s.Save(t.Context(), []checkpoint.Entry{{Key: "a", Value: []byte("1")}}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// A folder in the file's place cannot be renamed over.
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(path, "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := s.Save(t.Context(), []checkpoint.Entry{{Key: "a", Value: []byte("2")}}); err == nil || fault.ClassOf(err) != fault.Retry {
		t.Fatalf("got %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(folder, "*.new-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	if entries, err := s.Load(t.Context()); err != nil || string(entries["a"]) != "1" {
		t.Errorf("entries %v, error %v", entries, err)
	}
}

// Peek reads beside the owner, and never takes the lock.
func TestPeek(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "checkpoint.json")
	if entries, saved, err := file.New(path).Peek(); err != nil || len(entries) != 0 || !saved.IsZero() {
		t.Errorf("a missing file: %v, %v, %v", entries, saved, err)
	}
	owner := file.New(path)
	t.Cleanup(func() { owner.Close() })
	if err := owner.Save(t.Context(), []checkpoint.Entry{{Key: "task", Value: []byte("1")}}); err != nil {
		t.Fatal(err)
	}
	entries, saved, err := file.New(path).Peek()
	if err != nil || string(entries["task"]) != "1" || saved.IsZero() {
		t.Errorf("%v, %v, %v", entries, saved, err)
	}
	if err := owner.Save(t.Context(), []checkpoint.Entry{{Key: "task", Value: []byte("2")}}); err != nil {
		t.Error("the owner lost its file:", err)
	}
}

func TestFileIsReadable(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "checkpoint.json")
	s := file.New(path)
	t.Cleanup(func() { s.Close() })
	if err := s.Save(t.Context(), []checkpoint.Entry{{Key: "task", Value: []byte("größe")}}); err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(path)
	if !strings.Contains(string(text), `"text": "größe"`) || !strings.Contains(string(text), `"version": 1`) {
		t.Errorf("file: %s", text)
	}
}

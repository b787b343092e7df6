package file

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"time"
	"unicode/utf8"

	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/fault"
)

// formatVersion is the version of the file's layout; later ones are refused.
const formatVersion = 1

// Store is a checkpoint.Store in a file. It is not safe for concurrent use.
type Store struct {
	path    string
	lock    *lock
	entries map[string][]byte // as on disk; nil when not known
}

// New makes a store at that path. The folder must exist; the file need not.
func New(path string) *Store { return &Store{path: path} }

type document struct {
	Version int              `json:"version"`
	Entries map[string]value `json:"entries"`
}

// value is text where it can be, so that people can read the file.
type value struct {
	Text   *string `json:"text,omitempty"`
	Base64 []byte  `json:"base64,omitempty"`
}

func newValue(b []byte) value {
	if utf8.Valid(b) {
		text := string(b)
		return value{Text: &text}
	}
	return value{Base64: b}
}

func (v value) bytes() []byte {
	if v.Text != nil {
		return []byte(*v.Text)
	}
	return append([]byte{}, v.Base64...)
}

// Load locks the file and reads it. A missing file is an empty checkpoint; a damaged one is a Fatal error, never an empty checkpoint.
func (s *Store) Load(context.Context) (map[string][]byte, error) {
	s.entries = nil
	if err := s.acquire(); err != nil {
		return nil, err
	}
	entries, err := s.read()
	if err != nil {
		return nil, err
	}
	s.entries = entries
	return maps.Clone(entries), nil
}

// Peek reads the file beside whoever uses it: Save replaces it as a whole. It also tells when that was; a missing file is an empty checkpoint
// of no time.
func (s *Store) Peek() (entries map[string][]byte, saved time.Time, err error) {
	info, err := os.Stat(s.path)
	switch {
	case err == nil:
		saved = info.ModTime()
	case !errors.Is(err, fs.ErrNotExist):
		return nil, saved, s.fail(fault.Retry, "read", err, "")
	}
	entries, err = s.read()
	return entries, saved, err
}

func (s *Store) read() (map[string][]byte, error) {
	text, err := os.ReadFile(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string][]byte{}, nil
	}
	if err != nil {
		return nil, s.fail(fault.Fatal, "read", err, "the bridge must be able to read and write the file")
	}
	var doc document
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, s.fail(fault.Fatal, "read", fmt.Errorf("the file is damaged: %w", err), "restore it from a backup; or move it away and let the tables load again")
	}
	if doc.Version < 1 || doc.Version > formatVersion {
		return nil, s.fail(fault.Fatal, "read", fmt.Errorf("the file has version %d, this program knows %d", doc.Version, formatVersion), "run the newer program that wrote it")
	}
	entries := make(map[string][]byte, len(doc.Entries))
	for key, v := range doc.Entries {
		entries[key] = v.bytes()
	}
	return entries, nil
}

// Save writes the file anew with the entries merged in.
func (s *Store) Save(ctx context.Context, entries []checkpoint.Entry) error {
	if s.entries == nil {
		if _, err := s.Load(ctx); err != nil {
			return err
		}
	}
	next := maps.Clone(s.entries)
	for _, e := range entries {
		if e.Value == nil {
			delete(next, e.Key)
			continue
		}
		next[e.Key] = append([]byte{}, e.Value...)
	}
	doc := document{Version: formatVersion, Entries: make(map[string]value, len(next))}
	for key, b := range next {
		doc.Entries[key] = newValue(b)
	}
	text, err := json.MarshalIndent(doc, "", " ")
	if err == nil {
		err = replace(s.path, append(text, '\n'))
	}
	if err != nil {
		s.entries = nil // unknown which of the two is there
		return s.fail(fault.Retry, "write", err, "is the disk full, or the folder read-only?")
	}
	s.entries = next
	return nil
}

// replace puts a new file in the place of the old one: all of it or nothing (I5).
func replace(path string, text []byte) error {
	folder := filepath.Dir(path)
	temp, err := os.CreateTemp(folder, filepath.Base(path)+".new-*")
	if err != nil {
		return err
	}
	_, err = temp.Write(text)
	if err == nil {
		err = temp.Sync()
	}
	err = errors.Join(err, temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return syncFolder(folder)
}

// syncFolder brings the rename to disk.
func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// Close gives the lock back.
func (s *Store) Close() error {
	s.entries = nil
	if s.lock == nil {
		return nil
	}
	err := s.lock.release()
	s.lock = nil
	return err
}

func (s *Store) acquire() error {
	if s.lock != nil {
		return nil
	}
	l, err := acquire(s.path + ".lock")
	switch {
	case errors.Is(err, errLocked):
		return s.fail(fault.Fatal, "lock", err, "stop the other process, or give each task a file of its own")
	case err != nil:
		return s.fail(fault.Fatal, "lock", err, "the folder must exist and the bridge must be able to write to it")
	}
	s.lock = l
	return nil
}

var errLocked = errors.New("another process uses it")

func (s *Store) fail(class fault.Class, what string, err error, hint string) error {
	return fault.New(class, what+" checkpoint file "+s.path, err, hint)
}

package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
)

// stateVersion is the version of every record written here. Older ones are migrated when read, newer ones are refused.
const stateVersion = 1

// State is the whole checkpoint of one shard, decoded.
type State struct {
	Task   Task
	Tables map[change.TableID]*Table
	Layout []byte // what the layout learned of its data; nil = nothing

	layoutSaved string
}

// Task is what belongs to the shard as a whole.
type Task struct {
	Position     change.Position `json:"position"`               // highest position published over all tables
	Transactions []Transaction   `json:"transactions,omitempty"` // most recent last: their counters go on after a restart (I4)
}

// Transaction is a source transaction with the counter of its last published event.
type Transaction struct {
	ID      string `json:"id"`
	Counter int64  `json:"counter"`
}

// Table is what belongs to one table.
type Table struct {
	ID        change.TableID
	Position  change.Position // of its last published event
	Version   int             // tableVersion of its structure
	Structure string          // fingerprint of that structure
	Announced string          // id of the schema whose metadata was published last, "" = none
	Identity  string          // of the change table
	Window    Window

	dirty bool
}

// Touch marks a table as changed, so that the next Entries holds it.
func (t *Table) Touch() { t.dirty = true }

type tableRecord struct {
	V         int             `json:"v"`
	Schema    string          `json:"schema"`
	Name      string          `json:"name"`
	Position  change.Position `json:"position"`
	Floor     change.Position `json:"floor"`
	Version   int             `json:"version"`
	Structure string          `json:"structure"`
	Announced string          `json:"announced,omitempty"`
	Identity  string          `json:"identity,omitempty"`
}

type taskRecord struct {
	V int `json:"v"`
	Task
}

// Keys of the entries. Tables are "table/<schema>/<name>", their look-back segments "window/<schema>/<name>/<n>", names path-escaped.
const (
	taskKey      = "task"
	layoutKey    = "layout"
	tablePrefix  = "table/"
	windowPrefix = "window/"
)

func escaped(id change.TableID) string {
	return url.PathEscape(id.Schema) + "/" + url.PathEscape(id.Name)
}

// Table gives the state of a table, new and empty if there is none yet.
func (s *State) Table(id change.TableID) *Table {
	t := s.Tables[id]
	if t == nil {
		t = &Table{ID: id}
		s.Tables[id] = t
	}
	return t
}

// Decode reads a checkpoint. A record that cannot be understood is a fault.Fatal that names its key: going on without it could lose or
// repeat rows (I2).
func Decode(entries map[string][]byte, now time.Time) (*State, error) {
	s := &State{Tables: make(map[change.TableID]*Table)}
	for key, value := range entries {
		if err := s.decodeEntry(key, value, now); err != nil {
			return nil, fault.New(fault.Fatal, fmt.Sprintf("checkpoint record %q", key), err,
				"restore the checkpoint from a copy, or reset the positions by hand")
		}
	}
	return s, nil
}

func (s *State) decodeEntry(key string, value []byte, now time.Time) error {
	switch {
	case key == taskKey:
		var r taskRecord
		err := decode(value, &r)
		s.Task = r.Task
		return err
	case key == layoutKey:
		s.Layout, s.layoutSaved = value, string(value)
		return nil
	case strings.HasPrefix(key, tablePrefix):
		return s.decodeTable(key, value)
	case strings.HasPrefix(key, windowPrefix):
		return s.decodeWindow(key, value, now)
	}
	return errors.New("unknown kind of record")
}

func (s *State) decodeTable(key string, value []byte) error {
	id, rest, err := parseTable(strings.TrimPrefix(key, tablePrefix))
	if err != nil || rest != "" {
		return errors.Join(err, errors.New("its key is not table/<schema>/<name>"))
	}
	var r tableRecord
	if err := decode(value, &r); err != nil {
		return err
	}
	t := s.Table(id)
	t.Position, t.Version, t.Structure, t.Announced, t.Identity = r.Position, r.Version, r.Structure, r.Announced, r.Identity
	t.Window.floor = r.Floor
	return nil
}

func (s *State) decodeWindow(key string, value []byte, now time.Time) error {
	id, rest, err := parseTable(strings.TrimPrefix(key, windowPrefix))
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(rest)
	if err != nil {
		return errors.New("its key is not window/<schema>/<name>/<n>")
	}
	return s.Table(id).Window.load(n, value, now)
}

func parseTable(path string) (change.TableID, string, error) {
	schema, path, ok := strings.Cut(path, "/")
	name, rest, _ := strings.Cut(path, "/")
	s, errSchema := url.PathUnescape(schema)
	n, errName := url.PathUnescape(name)
	if !ok || n == "" || errSchema != nil || errName != nil {
		return change.TableID{}, "", errors.New("its key names no table")
	}
	return change.TableID{Schema: s, Name: n}, rest, nil
}

// decode reads a versioned JSON record.
func decode(value []byte, into any) error {
	var v struct {
		V int `json:"v"`
	}
	if err := json.Unmarshal(value, &v); err != nil {
		return fmt.Errorf("not JSON: %w", err)
	}
	if v.V < 1 || v.V > stateVersion {
		return fmt.Errorf("format version %d, this program reads 1 to %d", v.V, stateVersion)
	}
	return json.Unmarshal(value, into)
}

// Entries gives what changed since the last call: only tables that moved, one record each, and the task record with them.
func (s *State) Entries() []Entry {
	var out []Entry
	for _, t := range s.Tables {
		if t.dirty {
			out = append(out, Entry{Key: tablePrefix + escaped(t.ID), Value: t.encode()})
			out = t.Window.entries(out, windowPrefix+escaped(t.ID)+"/")
			t.dirty = false
		}
	}
	if len(out) > 0 {
		value, _ := json.Marshal(taskRecord{V: stateVersion, Task: s.Task})
		out = append(out, Entry{Key: taskKey, Value: value})
	}
	if string(s.Layout) != s.layoutSaved {
		out = append(out, Entry{Key: layoutKey, Value: s.Layout})
		s.layoutSaved = string(s.Layout)
	}
	return out
}

func (t *Table) encode() []byte {
	out, _ := json.Marshal(tableRecord{
		V: stateVersion, Schema: t.ID.Schema, Name: t.ID.Name, Position: t.Position, Floor: t.Window.floor, Version: t.Version,
		Structure: t.Structure, Announced: t.Announced, Identity: t.Identity,
	})
	return out
}

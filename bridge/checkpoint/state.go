package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"sort"
	"strconv"
	"strings"
	"time"

	"ctbridge/bridge/change"
)

// stateVersion is the version of the records written here. Older ones are migrated when read, newer ones are refused. What one output alone
// needs is written in version 1, as before there could be several: see outputs.go.
const (
	stateVersion   = 1
	outputsVersion = 2
)

// State is the whole checkpoint of one shard, decoded.
type State struct {
	Task   Task
	Tables map[change.TableID]*Table
	Layout []byte // what the layout learned of its data; nil = nothing

	shard       Shard
	layoutSaved string
	all         []*Table // every table of Tables: walking a large map costs much more
}

// Task is what belongs to the shard as a whole.
type Task struct {
	Position     change.Position `json:"position"`               // highest position published over all tables
	Requests     int64           `json:"requests,omitempty"`     // how many requests to the task have been answered
	Transactions []Transaction   `json:"transactions,omitempty"` // most recent last: their counters go on after a restart (I4)
	Outputs      []string        `json:"outputs,omitempty"`      // that the counters belong to; none = there was only one
	Sequence     string          `json:"sequence,omitempty"`     // last change sequence given to an event whose source has none
	Moved        bool            `json:"moved,omitempty"`        // written when the number of shards changed: the shard has committed nothing since
}

// Table is what belongs to one table.
type Table struct {
	ID        change.TableID
	Position  change.Position // of its last published event
	Verified  change.Position // rows at or below it were seen while the newest structure was in force
	Announced []string        // which metadata was published last: schema, format, topic, of each output that has any
	Identity  string          // of the change table
	Seen      change.Position // the newest row that was seen, published or not
	Purged    bool            // the row at Position was seen to have gone from the change table, when nothing was unread
	Filter    string          // digest of the row filter that the look-back was filled under; empty = none
	Window    Window
	Load      *Load // nil before the first

	// Transactions count the table's own events, as Task.Transactions counts those of all tables.
	Transactions []Transaction

	// Structures are the table's newest structure, last, and before it those that unread rows may still have.
	Structures []*Structure

	Resets Resets // by people

	dirty     bool
	forgotten bool  // its records are to be deleted
	gone      []int // versions to delete from the store

	loadSaved string
}

// Structure is one version of a table's columns.
type Structure struct {
	Version int
	Upto    change.Position // of the last row that has this structure; empty for the newest
	Columns []change.Column
	Memo    []byte // the layout's own: see source.Captured
	Shape   string // what the rules of columns make of it: see values.Plan.Shape

	dirty bool
}

// Newest is the structure in force, nil before the first.
func (t *Table) Newest() *Structure {
	if len(t.Structures) == 0 {
		return nil
	}
	return t.Structures[len(t.Structures)-1]
}

// Restructure begins a new version of the table's structure; rows up to a position still have the one before.
func (t *Table) Restructure(columns []change.Column, memo []byte, upto change.Position) {
	version := 1
	if last := t.Newest(); last != nil {
		last.Upto, last.dirty, version = upto, true, last.Version+1
	}
	t.Structures = append(t.Structures, &Structure{Version: version, Columns: columns, Memo: memo, dirty: true})
	t.Verified = max(t.Verified, upto)
	t.dirty = true
}

// Outlive forgets the structures whose rows have all been published.
func (t *Table) Outlive() {
	for len(t.Structures) > 1 && t.Structures[0].Upto <= t.Position {
		t.gone = append(t.gone, t.Structures[0].Version)
		t.Structures, t.dirty = t.Structures[1:], true
	}
}

// Restart sets the position anew after the change table was reset: nothing is known of its rows any more, and all have the newest structure.
func (t *Table) Restart(at change.Position) {
	for len(t.Structures) > 1 {
		t.gone = append(t.gone, t.Structures[0].Version)
		t.Structures = t.Structures[1:]
	}
	t.Position, t.Verified, t.Seen, t.Purged = at, at, "", false
	t.Window.Restart(at)
	t.dirty = true
}

// Touch marks a table as changed, so that the next Entries holds it.
func (t *Table) Touch() { t.dirty = true }

type tableRecord struct {
	V         int             `json:"v"`
	Schema    string          `json:"schema"`
	Name      string          `json:"name"`
	Position  change.Position `json:"position"`
	Floor     change.Position `json:"floor"`
	Verified  change.Position `json:"verified"`
	Announced texts           `json:"announced,omitempty"`
	Identity  string          `json:"identity,omitempty"`
	Seen      change.Position `json:"seen,omitempty"`
	Purged    bool            `json:"purged,omitempty"`
	Filter    string          `json:"filter,omitempty"`

	Transactions []Transaction `json:"transactions,omitempty"`
}

type taskRecord struct {
	V int `json:"v"`
	Task
}

type structureRecord struct {
	V       int             `json:"v"`
	Upto    change.Position `json:"upto,omitempty"`
	Columns []change.Column `json:"columns"`
	Memo    []byte          `json:"memo,omitempty"`
	Shape   string          `json:"shape,omitempty"`
}

// Keys of the entries. What belongs to a shard is "task" and "layout", with "/<shard>" behind it from shard 1 on. Tables are "table/<schema>/<name>", their structures "structure/<schema>/<name>/<version>", their look-back segments
// "window/<schema>/<name>/<n>", names path-escaped.
const (
	taskKey         = "task"
	layoutKey       = "layout"
	tablePrefix     = "table/"
	structurePrefix = "structure/"
	windowPrefix    = "window/"
)

// TableKey is the key of a table's own entry.
func TableKey(id change.TableID) string { return tablePrefix + escaped(id) }

func escaped(id change.TableID) string {
	return url.PathEscape(id.Schema) + "/" + url.PathEscape(id.Name)
}

// Table gives the state of a table, new and empty if there is none yet.
func (s *State) Table(id change.TableID) *Table {
	t := s.Tables[id]
	if t == nil {
		t = &Table{ID: id}
		s.Tables[id] = t
		s.all = append(s.all, t)
	}
	return t
}

// Decode reads a checkpoint for one shard: all tables, and what belongs to the shard. A record that cannot be understood is a fault.Fatal
// that names its key: going on without it could lose or repeat rows (I2).
func Decode(entries map[string][]byte, shard Shard, now time.Time) (*State, error) {
	s := &State{Tables: make(map[change.TableID]*Table), shard: shard}
	for key, value := range entries {
		if err := s.decodeEntry(key, value, now); err != nil {
			return nil, damaged(key, err)
		}
	}
	return s, nil
}

func (s *State) decodeEntry(key string, value []byte, now time.Time) error {
	if n, ok := parseShard(key, taskKey); ok {
		return s.decodeTask(n, value)
	}
	if n, ok := parseShard(key, layoutKey); ok {
		if n == s.shard.Number {
			s.Layout, s.layoutSaved = value, string(value)
		}
		return nil
	}
	switch {
	case strings.HasPrefix(key, tablePrefix):
		return s.decodeTable(key, value)
	case strings.HasPrefix(key, structurePrefix):
		return s.decodeStructure(key, value)
	case strings.HasPrefix(key, loadPrefix):
		return s.decodeLoad(key, value)
	case strings.HasPrefix(key, resetPrefix):
		return s.decodeResets(key, value)
	case strings.HasPrefix(key, windowPrefix):
		return s.decodeWindow(key, value, now)
	}
	return errors.New("unknown kind of record")
}

func (s *State) decodeTask(shard int, value []byte) error {
	var r taskRecord
	if err := decodeUpTo(outputsVersion, value, &r); err != nil {
		return err
	}
	if shard == s.shard.Number {
		s.Task = r.Task
	}
	return r.whole(value)
}

func (s *State) decodeTable(key string, value []byte) error {
	id, rest, err := parseTable(strings.TrimPrefix(key, tablePrefix))
	if err != nil || rest != "" {
		return errors.Join(err, errors.New("its key is not table/<schema>/<name>"))
	}
	var r tableRecord
	if err := decodeUpTo(outputsVersion, value, &r); err != nil {
		return err
	}
	if err := r.whole(value, id); err != nil {
		return err
	}
	t := s.Table(id)
	t.Position, t.Verified, t.Announced, t.Identity = r.Position, r.Verified, r.Announced, r.Identity
	t.Seen, t.Purged, t.Filter, t.Transactions = r.Seen, r.Purged, r.Filter, r.Transactions
	t.Window.floor = r.Floor
	return nil
}

func (s *State) decodeStructure(key string, value []byte) error {
	id, version, err := parseNumbered(strings.TrimPrefix(key, structurePrefix))
	if err != nil {
		return err
	}
	var r structureRecord
	if err := decode(value, &r); err != nil {
		return err
	}
	if err := r.whole(); err != nil {
		return err
	}
	t := s.Table(id)
	t.Structures = append(t.Structures, &Structure{Version: version, Upto: r.Upto, Columns: r.Columns, Memo: r.Memo, Shape: r.Shape})
	sort.Slice(t.Structures, func(i, j int) bool { return t.Structures[i].Version < t.Structures[j].Version })
	return nil
}

func (s *State) decodeWindow(key string, value []byte, now time.Time) error {
	id, n, err := parseNumbered(strings.TrimPrefix(key, windowPrefix))
	if err != nil {
		return err
	}
	return s.Table(id).Window.load(n, value, now)
}

// parseNumbered reads <schema>/<name>/<n>.
func parseNumbered(path string) (change.TableID, int, error) {
	id, rest, err := parseTable(path)
	if err != nil {
		return id, 0, err
	}
	n, err := strconv.Atoi(rest)
	if err != nil || n < 0 {
		return id, 0, errors.New("its key does not end with a number")
	}
	return id, n, nil
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
func decode(value []byte, into any) error { return decodeUpTo(stateVersion, value, into) }

func decodeUpTo(newest int, value []byte, into any) error {
	var v struct {
		V int `json:"v"`
	}
	if err := json.Unmarshal(value, &v); err != nil {
		return fmt.Errorf("not JSON: %w", err)
	}
	if v.V < 1 || v.V > newest {
		return fmt.Errorf("format version %d, this program reads 1 to %d", v.V, newest)
	}
	return json.Unmarshal(value, into)
}

// Entries gives what changed since the last call: only tables that moved, one record each, and the task record with them.
func (s *State) Entries() []Entry {
	var out []Entry
	for _, t := range s.all {
		if t.dirty && s.shard.Has(t.ID) { // what is known of the other shards' tables is not as new as what they know
			out = append(out, Entry{Key: tablePrefix + escaped(t.ID), Value: t.encode()})
			out = t.structures(out, structurePrefix+escaped(t.ID)+"/")
			out = t.Window.entries(out, windowPrefix+escaped(t.ID)+"/")
			out = t.resetEntry(t.loadEntry(out))
			t.dirty, t.forgotten = false, false
		} else if t.forgotten {
			out, t.forgotten = t.forgottenEntries(out), false
		}
	}
	if len(out) > 0 {
		s.Task.Moved = false
		value, _ := json.Marshal(taskRecord{V: s.Task.version(), Task: s.Task})
		out = append(out, Entry{Key: s.shard.key(taskKey), Value: value})
	}
	if string(s.Layout) != s.layoutSaved {
		out = append(out, Entry{Key: s.shard.key(layoutKey), Value: s.Layout})
		s.layoutSaved = string(s.Layout)
	}
	return out
}

// structures appends the entries of the structures that have come, changed or gone.
func (t *Table) structures(dst []Entry, prefix string) []Entry {
	for _, version := range t.gone {
		dst = append(dst, Entry{Key: prefix + strconv.Itoa(version)})
	}
	t.gone = nil
	for _, s := range t.Structures {
		if s.dirty {
			value, _ := json.Marshal(structureRecord{V: stateVersion, Upto: s.Upto, Columns: s.Columns, Memo: s.Memo, Shape: s.Shape})
			dst = append(dst, Entry{Key: prefix + strconv.Itoa(s.Version), Value: value})
			s.dirty = false
		}
	}
	return dst
}

func (t *Table) encode() []byte {
	out, _ := json.Marshal(tableRecord{
		V: t.version(), Schema: t.ID.Schema, Name: t.ID.Name, Position: t.Position, Floor: t.Window.floor, Verified: t.Verified,
		Announced: t.Announced, Identity: t.Identity, Seen: t.Seen, Purged: t.Purged, Filter: t.Filter, Transactions: t.Transactions,
	})
	return out
}

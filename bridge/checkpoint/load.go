package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"ctbridge/bridge/change"
)

// LoadState is what a full load is doing.
type LoadState string

// The states of a load.
const (
	LoadWaiting   LoadState = "waiting"   // to begin
	LoadRunning   LoadState = "running"   // chunks are read
	LoadPaused    LoadState = "paused"    // until somebody resumes it
	LoadDone      LoadState = "done"      // every row that was asked for is published
	LoadCancelled LoadState = "cancelled" // the rows that are missing were given up
	LoadNone      LoadState = "none"      // the table began without a load, at a position that the start options chose
)

// Load is the last full load of a table, or how the table began without one. It is committed together with the rows that its cursor has
// passed, so that a restart goes on behind them (I5) and never loads again what is done.
type Load struct {
	State   LoadState       `json:"state"`
	Reason  string          `json:"reason"`            // why: "initial", "requested", "reset: …", "start_at: …"
	Request string          `json:"request,omitempty"` // id of the request, where somebody asked for it
	Note    string          `json:"note,omitempty"`    // why a request was refused or a load was given up
	Where   string          `json:"where,omitempty"`   // SQL condition, empty = all rows
	Fresh   bool            `json:"fresh,omitempty"`   // the table has published nothing that counts: its changes wait for the end of the load
	Fence   change.Position `json:"fence"`             // where the table's changes go on: the horizon read before the first row
	Key     []string        `json:"key,omitempty"`     // the columns that the cursor belongs to
	Cursor  []string        `json:"cursor,omitempty"`  // key of the last committed row, as the database writes it
	Rows    int64           `json:"rows"`              // committed so far
	Total   int64           `json:"total,omitempty"`   // rows counted at the beginning, 0 = not known
	Rejoin  change.Position `json:"rejoin,omitempty"`  // of the task at the end: what the table publishes up to here waited, and is not late
	Begin   time.Time       `json:"begin,omitzero"`
	End     time.Time       `json:"end,omitzero"`
}

// Active tells that rows are still to be read.
func (l *Load) Active() bool {
	return l != nil && (l.State == LoadWaiting || l.State == LoadRunning)
}

// Holds tells that the table's changes wait for the load.
func (l *Load) Holds() bool {
	return l != nil && (l.State == LoadRunning || l.Fresh && (l.State == LoadWaiting || l.State == LoadPaused))
}

// Chosen tells that a table's position is where it began, and not that of a row.
func (t *Table) Chosen() bool {
	return t.Load != nil && t.Load.Fence == t.Position && (t.Load.Fresh || t.Load.State == LoadNone)
}

var loadStates = []LoadState{LoadWaiting, LoadRunning, LoadPaused, LoadDone, LoadCancelled, LoadNone}

const loadPrefix = "load/"

type loadRecord struct {
	V int `json:"v"`
	Load
}

func (s *State) decodeLoad(key string, value []byte) error {
	id, rest, err := parseTable(strings.TrimPrefix(key, loadPrefix))
	if err != nil || rest != "" {
		return errors.Join(err, errors.New("its key is not load/<schema>/<name>"))
	}
	var r loadRecord
	if err := decode(value, &r); err != nil {
		return err
	}
	if err := r.whole(value); err != nil {
		return err
	}
	for _, known := range loadStates {
		if r.State == known {
			t := s.Table(id)
			t.Load, t.loadSaved = &r.Load, string(value)
			return nil
		}
	}
	return fmt.Errorf("its state %q is not known", r.State)
}

// loadEntry appends the entry of the table's load where it has changed.
func (t *Table) loadEntry(dst []Entry) []Entry {
	key := loadPrefix + escaped(t.ID)
	if t.Load == nil {
		if t.loadSaved == "" {
			return dst
		}
		t.loadSaved = ""
		return append(dst, Entry{Key: key})
	}
	value, _ := json.Marshal(loadRecord{V: stateVersion, Load: *t.Load})
	if string(value) == t.loadSaved {
		return dst
	}
	t.loadSaved = string(value)
	return append(dst, Entry{Key: key, Value: value})
}

package checkpoint

import (
	"encoding/json"
	"errors"
	"strings"
	"time"

	"ctbridge/bridge/change"
)

// ResetTarget is where a person moves a table.
type ResetTarget string

// The targets.
const (
	ResetEarliest  ResetTarget = "earliest"   // to the first row that the change table holds
	ResetNow       ResetTarget = "now"        // behind the newest row
	ResetPosition  ResetTarget = "position"   // behind a position
	ResetTime      ResetTarget = "time"       // to the changes of a moment and later
	ResetAcceptGap ResetTarget = "accept-gap" // behind the one hole that the table stands at
	ResetForget    ResetTarget = "forget"     // nothing is known of the table any more: it begins as a new one
	ResetLoad      ResetTarget = "load"       // a full load, and then the changes behind it
)

// Reset is one move of a table's position that a person has asked for. It is asked for in the checkpoint, carried out by the task before the table is
// read again, and kept as a record of who moved what.
type Reset struct {
	ID     string          `json:"id"`
	To     ResetTarget     `json:"to"`
	After  change.Position `json:"after,omitempty"` // of ResetPosition
	Time   time.Time       `json:"time,omitzero"`   // of ResetTime
	Hole   *Hole           `json:"hole,omitempty"`  // of ResetAcceptGap: this one and no other
	By     string          `json:"by"`              // who asked
	Reason string          `json:"reason,omitempty"`
	Asked  time.Time       `json:"asked"`

	// What became of it.
	Done   time.Time       `json:"done,omitzero"`
	From   change.Position `json:"from"`           // the table's position before
	Became change.Position `json:"became"`         // and after
	Task   change.Position `json:"task,omitempty"` // highest position of the task then: what is published again up to here is not late
	Note   string          `json:"note,omitempty"` // why it was not carried out
}

// Hole is a gap in the changes of a table: see source.Reset.
type Hole struct {
	Kind string          `json:"kind"`
	From change.Position `json:"from"`
	To   change.Position `json:"to"`
}

// Resets are those of one table.
type Resets struct {
	Pending *Reset  `json:"pending,omitempty"`
	Done    []Reset `json:"done,omitempty"` // the last of them, newest last

	saved string
}

// mostResets bounds what is kept of a table's past.
const mostResets = 32

// Settle ends the pending reset: became is where the table goes on, note why it does not.
func (r *Resets) Settle(at time.Time, became change.Position, note string) Reset {
	done := *r.Pending
	done.Done, done.Became, done.Note = at.UTC(), became, note
	r.Pending, r.Done = nil, append(r.Done, done)
	if over := len(r.Done) - mostResets; over > 0 {
		r.Done = r.Done[over:]
	}
	return done
}

// Again is where the task stood at the last reset: what the table publishes up to there it may have published before, and is not late.
func (r *Resets) Again() change.Position {
	if len(r.Done) == 0 {
		return ""
	}
	return r.Done[len(r.Done)-1].Task
}

// Find gives a reset by its id, and whether it is done; nil where there is none.
func (r *Resets) Find(id string) (reset *Reset, done bool) {
	if r.Pending != nil && r.Pending.ID == id {
		return r.Pending, false
	}
	for i := range r.Done {
		if r.Done[i].ID == id {
			return &r.Done[i], true
		}
	}
	return nil, false
}

// Forget gives up everything that is known of the table but who moved it. If nothing is noted of it before the next Entries, its records go.
func (t *Table) Forget() {
	t.Restart("")
	for _, s := range t.Structures {
		t.gone = append(t.gone, s.Version)
	}
	t.Structures, t.Announced, t.Transactions, t.Identity, t.Load = nil, nil, nil, "", nil
	t.dirty, t.forgotten = false, true
}

const resetPrefix = "reset/"

// ResetKey is the key of the entry that holds a table's resets.
func ResetKey(id change.TableID) string { return resetPrefix + escaped(id) }

type resetRecord struct {
	V int `json:"v"`
	Resets
}

// Ask gives the entry that asks for a reset, given what the checkpoint holds of the table. It is safe to write beside whoever runs the task, which
// itself writes that entry only after it has read a pending one.
func (t *Table) Ask(r Reset) Entry {
	asked := t.Resets
	asked.Pending = &r
	return Entry{Key: ResetKey(t.ID), Value: asked.encode()}
}

func (r *Resets) encode() []byte {
	value, _ := json.Marshal(resetRecord{V: stateVersion, Resets: *r})
	return value
}

func (s *State) decodeResets(key string, value []byte) error {
	id, rest, err := parseTable(strings.TrimPrefix(key, resetPrefix))
	if err != nil || rest != "" {
		return errors.Join(err, errors.New("its key is not reset/<schema>/<name>"))
	}
	var r resetRecord
	if err := decode(value, &r); err != nil {
		return err
	}
	t := s.Table(id)
	t.Resets, t.Resets.saved = r.Resets, string(value)
	return nil
}

// resetEntry appends the entry of the table's resets where it has changed.
func (t *Table) resetEntry(dst []Entry) []Entry {
	if t.Resets.Pending == nil && len(t.Resets.Done) == 0 {
		return dst
	}
	value := t.Resets.encode()
	if string(value) == t.Resets.saved {
		return dst
	}
	t.Resets.saved = string(value)
	return append(dst, Entry{Key: ResetKey(t.ID), Value: value})
}

// forgottenEntries appends the deletion of a table's records.
func (t *Table) forgottenEntries(dst []Entry) []Entry {
	dst = append(dst, Entry{Key: TableKey(t.ID)})
	dst = t.structures(dst, structurePrefix+escaped(t.ID)+"/")
	dst = t.Window.entries(dst, windowPrefix+escaped(t.ID)+"/")
	return t.resetEntry(t.loadEntry(dst))
}

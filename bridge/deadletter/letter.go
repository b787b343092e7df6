package deadletter

import (
	"strconv"
	"strings"
	"time"

	"ctbridge/bridge/change"
)

// Version of the documents that Encode writes.
const Version = 1

// Reason says what is wrong with a row, as metrics label it.
type Reason string

// The reasons.
const (
	Undecodable  Reason = "undecodable"  // a column holds something that its type cannot
	Header       Reason = "header"       // the change table tells something impossible of the row: operation, change mask, time
	Unrenderable Reason = "unrenderable" // the envelope or the format cannot carry a value, or no key can be made
	TooLarge     Reason = "too_large"    // the record is over the limit of the configuration or of the broker
)

// Letter is one row that could not be published.
type Letter struct {
	Task    string
	Output  string // the output that could not carry the row; empty where there is only one
	Event   *change.Event
	Key     []string // of a row of a full load, which has no position: the texts of its key columns
	Nth     int      // of the letters with this table and position, from 0
	Stage   string   // the part of the line that refused the row
	Reason  Reason
	Problem string // the error, for people
	At      time.Time

	// Omitted counts the values that were left out because the letter would have been too large, or because they must not be shown: such a letter
	// tells where its row is but cannot be rendered.
	Omitted int
	// Told says that the event and its table are as the rules of columns want them told: excluded columns are not there, masked ones are masked.
	Told bool
}

// Complete reports whether the row can be rendered from the letter alone.
func (l *Letter) Complete() bool { return l.Omitted == 0 && l.Undecoded() == "" }

// Undecoded names the first column whose value was not decoded; empty without one.
func (l *Letter) Undecoded() string {
	for _, image := range [][]change.Value{l.Event.After, l.Event.Before} {
		for i, v := range image {
			if v.Kind == change.KindUndecoded {
				return l.Event.Table.Columns[i].Name
			}
		}
	}
	return ""
}

// ID names the row: table, position, and its number among the letters of that position; for a row of a full load, table and key.
func (l *Letter) ID() string {
	table := l.Event.Table.ID.String()
	if l.Event.Op == change.OpRefresh {
		quoted := make([]string, len(l.Key))
		for i, text := range l.Key {
			quoted[i] = strconv.Quote(text)
		}
		return table + "@load(" + strings.Join(quoted, ",") + ")"
	}
	id := table + "@" + string(l.Event.Position)
	if l.Nth > 0 {
		id += "#" + strconv.Itoa(l.Nth)
	}
	return id
}

// The headers of a letter's record, so that it can be told and chosen without reading it.
const (
	HeaderID     = "ctbridge.dead_letter"
	HeaderReason = "ctbridge.reason"
	HeaderStage  = "ctbridge.stage"
)

// HeaderReplayed marks a replayed record; its value is the letter's ID.
const HeaderReplayed = "ctbridge.replayed"

// Record makes the letter's record, of at most so many bytes: keyed by table, so that the letters of a table keep their order.
func (l *Letter) Record(topic string, most int) (change.Record, error) {
	id := l.Event.Table.ID
	r := change.Record{Table: id, Topic: topic, Key: []byte(id.String()), Headers: []change.Header{
		{Name: HeaderID, Value: []byte(l.ID())}, {Name: HeaderReason, Value: []byte(l.Reason)}, {Name: HeaderStage, Value: []byte(l.Stage)},
	}}
	var err error
	r.Value, err = l.Encode(most - r.Size())
	return r, err
}

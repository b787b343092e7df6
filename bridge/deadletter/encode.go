package deadletter

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"ctbridge/bridge/change"
)

// document is a letter as it is written. Members are never renamed or given another meaning; a change that readers must know of raises "v".
type document struct {
	V       int    `json:"v"`
	ID      string `json:"id"`
	Task    string `json:"task"`
	Output  string `json:"output,omitempty"`
	Stage   string `json:"stage"`
	Reason  Reason `json:"reason"`
	Problem string `json:"error"`
	At      string `json:"at"` // RFC 3339, UTC

	Table     table  `json:"table"`
	Operation string `json:"operation"` // of package change; UNKNOWN where the row does not tell

	Position       change.Position `json:"position,omitempty"`
	Nth            int             `json:"nth,omitempty"`
	Key            []string        `json:"key,omitempty"`
	Load           *load           `json:"load,omitempty"` // that read the row
	ChangeSequence identifier      `json:"change_sequence,omitempty"`
	StreamPosition identifier      `json:"stream_position,omitempty"`
	TransactionID  identifier      `json:"transaction_id,omitempty"`
	Timestamp      json.RawMessage `json:"timestamp,omitempty"`
	Late           bool            `json:"late,omitempty"`
	Changed        *string         `json:"changed,omitempty"` // mask over the columns, hex: bit i of byte i/8 stands for column i

	Told    bool              `json:"rules_applied,omitempty"` // the rules of columns
	Omitted int               `json:"omitted,omitempty"`
	After   []json.RawMessage `json:"after,omitempty"`  // in the order of the columns
	Before  []json.RawMessage `json:"before,omitempty"` // likewise
}

type table struct {
	Schema  string   `json:"schema,omitempty"`
	Name    string   `json:"name"`
	Version int      `json:"version"`
	Columns []column `json:"columns"`
}

type load struct {
	Begin json.RawMessage `json:"begin"`
	Fence change.Position `json:"fence,omitempty"`
	Row   int64           `json:"row"`
}

type column struct {
	Name      string `json:"name"`
	Kind      string `json:"kind"`
	Native    string `json:"native"`
	Length    int    `json:"length,omitempty"`
	Precision int    `json:"precision,omitempty"`
	Scale     int    `json:"scale,omitempty"`
	Nullable  bool   `json:"nullable"`
	Key       int    `json:"key,omitempty"`
}

// columnKinds are the names of column kinds, by number.
var columnKinds = []string{
	change.Unsupported: "unsupported", change.Bool: "bool", change.Int1: "int1", change.Int2: "int2", change.Int4: "int4", change.Int8: "int8",
	change.Uint1: "uint1", change.Uint2: "uint2", change.Uint4: "uint4", change.Uint8: "uint8", change.Real4: "real4", change.Real8: "real8",
	change.Numeric: "numeric", change.String: "string", change.WString: "wstring", change.Bytes: "bytes", change.Date: "date", change.Time: "time",
	change.DateTime: "datetime", change.DateTimeTZ: "datetimetz", change.UUID: "uuid", change.JSON: "json", change.Clob: "clob",
	change.NClob: "nclob", change.Blob: "blob",
}

// Encode writes the letter in at most so many bytes. Where it would be larger, values are left out, the largest first, those of the key last; if that is
// not enough, the images and the structure of the table.
func (l *Letter) Encode(most int) ([]byte, error) {
	d, err := l.document()
	if err != nil {
		return nil, err
	}
	out, err := marshal(d)
	if err != nil || len(out) <= most {
		return out, err
	}
	if err := l.shrink(d, len(out)-most); err != nil {
		return nil, err
	}
	if out, err = marshal(d); err != nil || len(out) <= most {
		return out, err
	}
	d.Table.Columns, d.After, d.Before = []column{}, nil, nil
	d.Problem = clip(d.Problem)
	if out, err = marshal(d); err == nil && len(out) > most {
		err = fmt.Errorf("the dead letter of %s takes %d bytes without any value, %d are allowed", d.ID, len(out), most)
	}
	return out, err
}

func (l *Letter) document() (*document, error) {
	ev := l.Event
	d := &document{
		V: Version, ID: l.ID(), Task: l.Task, Output: l.Output, Stage: l.Stage, Reason: l.Reason, Problem: l.Problem, At: l.At.UTC().Format(time.RFC3339Nano),
		Operation: ev.Op.String(), Position: ev.Position, Nth: l.Nth, Key: l.Key, Late: ev.Late, Omitted: l.Omitted, Told: l.Told,
		ChangeSequence: ev.ChangeSequence, StreamPosition: ev.StreamPosition, TransactionID: ev.TransactionID,
	}
	d.Table = table{Schema: ev.Table.ID.Schema, Name: ev.Table.ID.Name, Version: ev.Table.Version, Columns: []column{}}
	for _, c := range ev.Table.Columns {
		d.Table.Columns = append(d.Table.Columns, column{c.Name, columnKinds[c.Type.Kind], c.Native, c.Type.Length, c.Type.Precision, c.Type.Scale, c.Nullable, c.KeyPosition})
	}
	if ev.HasChanged {
		changed := hex.EncodeToString(ev.Changed)
		d.Changed = &changed
	}
	var err error
	if l := ev.Load; l != nil {
		d.Load = &load{Fence: l.Fence, Row: l.Row}
		if d.Load.Begin, err = encodeValue(l.Begin); err != nil {
			return nil, err
		}
	}
	if d.Timestamp, err = encodeValue(ev.Timestamp); err != nil {
		return nil, err
	}
	if d.After, err = encodeImage(ev.After); err != nil {
		return nil, err
	}
	d.Before, err = encodeImage(ev.Before)
	return d, err
}

// identifier is text, or {"bytes": base64} where it is no UTF-8. An empty one reads as missing.
type identifier []byte

// MarshalJSON writes it.
func (i identifier) MarshalJSON() ([]byte, error) {
	if utf8.Valid(i) {
		return marshal(string(i))
	}
	return member("bytes", []byte(i))
}

// UnmarshalJSON reads it.
func (i *identifier) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		var s string
		err := json.Unmarshal(data, &s)
		*i = identifier(s)
		return err
	}
	var object struct {
		Bytes []byte `json:"bytes"`
	}
	err := json.Unmarshal(data, &object)
	*i = object.Bytes
	return err
}

func encodeImage(values []change.Value) ([]json.RawMessage, error) {
	if values == nil {
		return nil, nil
	}
	out := make([]json.RawMessage, len(values))
	for i, v := range values {
		var err error
		if out[i], err = encodeValue(v); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// place is where a value stands.
type place struct {
	at    *json.RawMessage
	value change.Value
	key   bool
}

// shrink leaves out values until so many bytes are saved, or none is left whose omission saves anything.
func (l *Letter) shrink(d *document, excess int) error {
	var places []place
	columns := l.Event.Table.Columns
	for i, v := range l.Event.After {
		places = append(places, place{&d.After[i], v, columns[i].KeyPosition > 0})
	}
	for i, v := range l.Event.Before {
		places = append(places, place{&d.Before[i], v, columns[i].KeyPosition > 0})
	}
	slices.SortStableFunc(places, func(a, b place) int {
		switch {
		case a.key == b.key:
			return len(*b.at) - len(*a.at)
		case a.key:
			return 1
		}
		return -1
	})
	excess += len(`"omitted":1000000,`) // the count itself
	for _, p := range places {
		if excess <= 0 {
			return nil
		}
		stub, err := member(memberOmitted, omitted{nameOf(p.value.Kind), len(p.value.Raw)})
		if err != nil {
			return err
		}
		if len(stub) >= len(*p.at) {
			continue
		}
		excess -= len(*p.at) - len(stub)
		*p.at = stub
		d.Omitted++
	}
	if excess > 0 {
		d.Omitted = len(places) // the images go as a whole
	}
	return nil
}

const clipped = 200

// clip keeps the beginning of a long error.
func clip(text string) string {
	if len(text) <= clipped {
		return text
	}
	return string(bytes.ToValidUTF8([]byte(text[:clipped]), nil)) + "…"
}

// marshal writes JSON without escaping what only HTML needs escaped.
func marshal(v any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

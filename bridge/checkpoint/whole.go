package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"

	"ctbridge/bridge/change"
)

// A record that has lost a part is worse than one that cannot be read: a table without position would begin anew, one without counters count
// from zero. What is always written must be there, and what cannot be must not (I2).

// required reports the first of the keys that a record lacks.
func required(value []byte, keys ...string) error {
	var found map[string]json.RawMessage
	if err := json.Unmarshal(value, &found); err != nil {
		return err
	}
	for _, key := range keys {
		if v, ok := found[key]; !ok || string(v) == "null" {
			return fmt.Errorf("it has no %q", key)
		}
	}
	return nil
}

// whole checks the record of a shard.
func (r *taskRecord) whole(value []byte) error {
	if r.Requests < 0 {
		return fmt.Errorf("it counts %d requests", r.Requests)
	}
	return errors.Join(required(value, "position"), counted(r.Transactions))
}

// whole checks the record of a table, which knows whose it is.
func (r *tableRecord) whole(value []byte, id change.TableID) error {
	own := change.TableID{Schema: r.Schema, Name: r.Name}
	if own != (change.TableID{Schema: written(id.Schema), Name: written(id.Name)}) {
		return fmt.Errorf("it is the record of table %s", own)
	}
	return errors.Join(required(value, "schema", "name", "position", "floor", "verified"), counted(r.Transactions))
}

// written is a name as a record holds it: JSON has no bytes that are not UTF-8, while keys have all.
func written(name string) (text string) {
	raw, _ := json.Marshal(name) // a string
	_ = json.Unmarshal(raw, &text)
	return text
}

// counted checks counters.
func counted(transactions []Transaction) error {
	for _, t := range transactions {
		least := t.Counter
		for _, n := range t.Counters {
			least = min(least, n)
		}
		if least < 0 {
			return fmt.Errorf("transaction %q has counter %d", t.ID, least)
		}
	}
	return nil
}

// whole checks the record of a structure.
func (r *structureRecord) whole() error {
	if len(r.Columns) == 0 {
		return errors.New("it has no columns")
	}
	table := change.NewTable(change.TableID{}, 1, r.Columns)
	for i, c := range r.Columns {
		if c.Name == "" || !c.Type.Kind.Known() {
			return fmt.Errorf("column %d, %q, has type %d, which this program does not know", i+1, c.Name, c.Type.Kind)
		}
		if c.KeyPosition != 0 && (c.KeyPosition < 1 || c.KeyPosition > len(table.Key) || table.Key[c.KeyPosition-1] != i) {
			return fmt.Errorf("column %q stands at %d in a key of %d", c.Name, c.KeyPosition, len(table.Key))
		}
	}
	return nil
}

// whole checks the record of a load.
func (r *loadRecord) whole(value []byte) error {
	if r.Rows < 0 || r.Total < 0 || len(r.Cursor) > len(r.Key) {
		return fmt.Errorf("it counts %d of %d rows, up to a key of %d columns out of %d", r.Rows, r.Total, len(r.Cursor), len(r.Key))
	}
	return required(value, "state", "fence", "rows")
}

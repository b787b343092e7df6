package envelope

import (
	"errors"
	"fmt"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
)

// KeyMode says what the text key of a message is.
type KeyMode string

// The modes.
const (
	KeyNone           KeyMode = "none"             // no key
	KeySchemaAndTable KeyMode = "schema_and_table" // schema.table, the same for all rows
	KeyPrimaryKey     KeyMode = "primary_key"      // the columns of the primary key; no key for a table without one
	KeyTransactionID  KeyMode = "transaction_id"   // the transaction id; no key for an event without one
	KeyColumns        KeyMode = "columns"          // columns that the user chose
)

// TextKey makes the text keys of one table version and the bytes that choose partitions. It allocates nothing per event and is not safe
// for concurrent use.
//
// The key of one column is its text (change.AppendText). The texts of several columns are joined by '|', with a backslash before every
// '|' and '\' inside them. NULL is \N. The one text that could be mistaken for it, backslashes and an N alone in a single-column key,
// gets one backslash more: different keys never have the same bytes.
type TextKey struct {
	mode    KeyMode
	table   *change.Table
	name    []byte // schema.table
	columns []int  // of the key in the modes primary_key and columns
	scratch []byte
}

// NewTextKey checks mode and columns; columns are for the mode KeyColumns only. Errors have class Config, or Table where the table lacks a
// column.
func NewTextKey(mode KeyMode, t *change.Table, columns ...string) (*TextKey, error) {
	k := &TextKey{mode: mode, table: t, name: []byte(t.ID.String())}
	switch mode {
	case KeyNone, KeySchemaAndTable, KeyTransactionID:
		return k, nil
	case KeyPrimaryKey:
		k.columns = t.Key
		return k, nil
	case KeyColumns:
		if err := k.choose(columns); err != nil {
			return nil, err
		}
		return k, nil
	}
	return nil, fault.New(fault.Config, "message key", fmt.Errorf("mode %q is unknown", mode),
		"choose none, schema_and_table, primary_key, transaction_id or columns")
}

func (k *TextKey) choose(columns []string) error {
	if len(columns) == 0 {
		return fault.New(fault.Config, "message key", errors.New("no columns are named"), "list the key columns")
	}
	for _, name := range columns {
		i := k.table.ColumnIndex(name)
		if i < 0 {
			return fault.New(fault.Table, "message key of "+string(k.name), fmt.Errorf("column %q does not exist", name),
				"correct the key columns of this table")
		}
		k.columns = append(k.columns, i)
	}
	return nil
}

// Append adds the event's key to dst. It is the key of the new row, or of the deleted one. The second result is false, and dst unchanged,
// where the event has no key (Record.Key is nil then). A key column that was not captured is an error of class Poison.
func (k *TextKey) Append(dst []byte, ev *change.Event) ([]byte, bool, error) {
	if !k.hasKey(ev) {
		return dst, false, nil
	}
	switch k.mode {
	case KeySchemaAndTable:
		return append(dst, k.name...), true, nil
	case KeyTransactionID:
		return append(dst, ev.TransactionID...), true, nil
	case KeyNone, KeyPrimaryKey, KeyColumns:
	}
	return k.appendColumns(dst, ev, k.columns)
}

// AppendPartition adds to dst the bytes for Record.PartitionBy of an event that Append gives no key: the text of its primary key, or
// schema.table where it has none, so that what must keep its order stays in one partition (I4). The second result is false, and dst
// unchanged, where the key chooses.
func (k *TextKey) AppendPartition(dst []byte, ev *change.Event) ([]byte, bool, error) {
	if k.hasKey(ev) {
		return dst, false, nil
	}
	if len(k.table.Key) == 0 || ev.Row() == nil {
		return append(dst, k.name...), true, nil
	}
	return k.appendColumns(dst, ev, k.table.Key)
}

func (k *TextKey) hasKey(ev *change.Event) bool {
	switch k.mode {
	case KeySchemaAndTable:
		return true
	case KeyTransactionID:
		return len(ev.TransactionID) > 0
	case KeyNone, KeyPrimaryKey, KeyColumns:
	}
	return len(k.columns) > 0 && ev.Row() != nil
}

func (k *TextKey) appendColumns(dst []byte, ev *change.Event, columns []int) ([]byte, bool, error) {
	row, start := ev.Row(), len(dst)
	for n, i := range columns {
		if n > 0 {
			dst = append(dst, '|')
		}
		if row[i].Kind == change.KindNull {
			dst = append(dst, `\N`...)
			continue
		}
		text, err := change.AppendText(k.scratch[:0], row[i], k.table.Columns[i].Type)
		if err != nil {
			return dst[:start], false, k.refuse(ev, i, err)
		}
		k.scratch = text
		if len(columns) == 1 {
			dst = appendSingle(dst, text)
		} else {
			dst = appendEscaped(dst, text)
		}
	}
	return dst, true, nil
}

func (k *TextKey) refuse(ev *change.Event, column int, err error) error {
	c := &k.table.Columns[column]
	if ev.Row()[column].Kind == change.KindAbsent {
		err = errors.New("the value was not captured")
	}
	where := fmt.Sprintf("message key of %s at %s", k.name, ev.Position)
	return fault.New(fault.Poison, where, fmt.Errorf("column %q: %w", c.Name, err), "capture the key columns in the source, or choose another key")
}

// appendSingle adds the text as it is, but one backslash more to `\N`, `\\N` and so on.
func appendSingle(dst, text []byte) []byte {
	last := len(text) - 1
	if last > 0 && text[last] == 'N' && onlyBackslashes(text[:last]) {
		dst = append(dst, '\\')
	}
	return append(dst, text...)
}

func onlyBackslashes(text []byte) bool {
	for _, c := range text {
		if c != '\\' {
			return false
		}
	}
	return true
}

func appendEscaped(dst, text []byte) []byte {
	for _, c := range text {
		if c == '|' || c == '\\' {
			dst = append(dst, '\\')
		}
		dst = append(dst, c)
	}
	return dst
}

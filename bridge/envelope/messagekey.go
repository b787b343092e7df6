package envelope

import (
	"errors"
	"fmt"

	"ctbridge/bridge/change"
)

// MessageKey gives the columns of a table's message key, as indexes into its columns: those that the user chose, else the primary key. Every
// chosen column that the table lacks is in the error; the others are given all the same.
func MessageKey(t *change.Table, chosen []string) ([]int, error) {
	if len(chosen) == 0 {
		return t.Key, nil
	}
	var problems []error
	key := make([]int, 0, len(chosen))
	for _, name := range chosen {
		if i := t.ColumnIndex(name); i >= 0 {
			key = append(key, i)
		} else {
			problems = append(problems, fmt.Errorf("key column %q does not exist", name))
		}
	}
	return key, errors.Join(problems...)
}

// KeyChanged reports whether an UPDATE with both images gives a column of the message key another value. It allocates nothing.
func KeyChanged(ev *change.Event, chosen []string) bool {
	if ev.Op != change.OpUpdate || ev.Before == nil || ev.After == nil {
		return false
	}
	if len(chosen) == 0 {
		for _, i := range ev.Table.Key {
			if Differ(&ev.Before[i], &ev.After[i]) {
				return true
			}
		}
		return false
	}
	for _, name := range chosen {
		if i := ev.Table.ColumnIndex(name); i >= 0 && Differ(&ev.Before[i], &ev.After[i]) {
			return true
		}
	}
	return false
}

// Differ compares two values of one column. A value that was not captured has not changed.
func Differ(before, after *change.Value) bool {
	return before.Kind != change.KindAbsent && after.Kind != change.KindAbsent && !before.Equal(*after)
}

// ColumnNames gives the Avro names of a table's columns. Two that would become one are an error that shows both.
func ColumnNames(t *change.Table) ([]string, error) {
	names := make([]string, len(t.Columns))
	for i := range t.Columns {
		names[i] = t.Columns[i].Name
	}
	return AvroNames(names)
}

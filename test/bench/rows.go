package main

import (
	"fmt"
	"slices"
)

// shape is one change table: its columns and the events in it. An event is what the bridge publishes: an insert is one row of the change table,
// an update is two of equal change sequence, before-image and new image.
type shape struct {
	table       string
	columns     []column
	events      int
	updates     bool // every second event updates the row of the event before it; else all are inserts
	transaction int  // events in one source transaction
	first, step int  // numbers of the events: tables that are read together share one sequence; 0 = 1
}

// headers are the header columns of a change table, in the order of the values of a row.
var headers = []string{"header__change_seq", "header__change_oper", "header__change_mask", "header__stream_position", "header__operation",
	"header__transaction_id", "header__timestamp"}

// sequence is the change sequence of an event: 16 digits of a time, 19 of a number.
func sequence(n int) string { return fmt.Sprintf("2023091103232500%019d", n) }

// changeRows is how many rows the change table has.
func (s shape) changeRows() int {
	if s.updates {
		return s.events + s.events/2
	}
	return s.events
}

// number is that of the i-th event.
func (s shape) number(i int) int { return max(s.first, 1) + i*max(s.step, 1) }

// each makes the rows in order: headers, then data. The slice is used again for the next one.
func (s shape) each(yield func(row []any) error) error {
	row := make([]any, len(headers)+len(s.columns))
	inserted, updated := s.mask(nil), s.mask(changedByUpdate)
	for i := range s.events {
		n := s.number(i)
		if !s.updates || i%2 == 0 {
			s.head(row, n, "I", "INSERT", inserted)
			s.fill(row, n, n)
			if err := yield(row); err != nil {
				return err
			}
			continue
		}
		of := s.number(i - 1)
		s.head(row, n, "B", "BEFOREIMAGE", updated)
		s.fill(row, of, of)
		if err := yield(row); err != nil {
			return err
		}
		s.head(row, n, "U", "UPDATE", updated)
		s.fill(row, of, n)
		if err := yield(row); err != nil {
			return err
		}
	}
	return nil
}

func (s shape) head(row []any, n int, oper, operation string, mask []byte) {
	row[0], row[1], row[2], row[3] = sequence(n), oper, mask, "00000027:00000130:0001"
	row[4], row[5], row[6] = operation, fmt.Sprintf("%032d", (n-1)/max(s.transaction, 1)+1), "2023-09-11 03:23:25.000000"
}

// fill writes the values of row id; those that updates change are as event n left them.
func (s shape) fill(row []any, id, n int) {
	for i, c := range s.columns {
		seed := uint64(id)
		if slices.Contains(changedByUpdate, c.name) {
			seed = uint64(n)
		}
		if c.value == nil {
			row[len(headers)+i] = int64(id)
		} else {
			row[len(headers)+i] = c.value(seed)
		}
	}
}

// mask has a bit for each changed column of the change table, its headers included, the lowest first; nil = all data columns.
func (s shape) mask(changed []string) []byte {
	out := make([]byte, (len(headers)+len(s.columns)+7)/8)
	for i, c := range s.columns {
		if changed == nil || slices.Contains(changed, c.name) {
			bit := len(headers) + i
			out[bit/8] |= 1 << (bit % 8)
		}
	}
	return out
}

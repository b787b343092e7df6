package cdcwriter

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// Server is a database with its capture job. What a transaction changes stands in the base tables at once, and in the change tables only when the job has
// scanned it, in commit order.
type Server struct {
	*Writer
	LSN       int       // of the last transaction
	Clock     time.Time // of the server
	unscanned []transaction
}

type transaction struct {
	lsn     []byte
	at      time.Time
	changes []Changes
}

// NewServer takes over a writer's tables; transactions begin behind an LSN.
func NewServer(w *Writer, lsn int) *Server { return &Server{Writer: w, LSN: lsn, Clock: Day} }

// Transact commits one transaction: its rows change the base tables.
func (s *Server) Transact(tb testing.TB, changes ...Changes) {
	tb.Helper()
	tx, err := s.DB.Begin()
	if err != nil {
		tb.Fatal(err)
	}
	for _, c := range changes {
		for _, r := range c.Rows {
			text := s.baseText(c.Table, r)
			if text == "" {
				continue
			}
			if _, err := tx.Exec(text); err != nil {
				_ = tx.Rollback()
				tb.Fatalf("%s: %v", text, err)
			}
		}
	}
	if err := tx.Commit(); err != nil {
		tb.Fatal(err)
	}
	s.LSN++
	s.Clock = s.Clock.Add(time.Second)
	s.unscanned = append(s.unscanned, transaction{LSN(s.LSN), s.Clock, changes})
}

// Scan lets the capture job write the changes of the next n transactions; fewer where there are no more.
func (s *Server) Scan(tb testing.TB, n int) {
	tb.Helper()
	for ; n > 0 && len(s.unscanned) > 0; n-- {
		t := s.unscanned[0]
		s.unscanned = s.unscanned[1:]
		s.Commit(tb, t.lsn, t.at, t.changes...)
	}
}

// Tick is an empty entry of the capture job, behind everything that it has scanned. Nothing may be waiting.
func (s *Server) Tick(tb testing.TB) {
	tb.Helper()
	s.Scan(tb, len(s.unscanned))
	s.LSN++
	s.Clock = s.Clock.Add(time.Second)
	s.Commit(tb, LSN(s.LSN), s.Clock)
}

// baseText is what a change row does to its base table; "" for a before-image.
func (s *Server) baseText(t Table, r Row) string {
	values := make(map[string]string)
	for i, c := range t.captured() {
		if !c.Computed {
			values[c.Name] = Literal(r.Values[i])
		}
	}
	names := slices.Sorted(maps.Keys(values))
	key := t.Key
	if len(key) == 0 {
		key = []string{t.Columns[0].Name}
	}
	var set, where, list, quoted []string
	for _, name := range names {
		quoted, list = append(quoted, quote(name)), append(list, values[name])
		set = append(set, quote(name)+" = "+values[name])
	}
	for _, name := range key {
		where = append(where, quote(name)+" = "+values[name])
	}
	table := s.table(s.Base, t.Name)
	switch r.Op {
	case 1:
		return "DELETE FROM " + table + " WHERE " + strings.Join(where, " AND ")
	case 2:
		return "INSERT INTO " + table + " (" + strings.Join(quoted, ", ") + ") VALUES (" + strings.Join(list, ", ") + ")"
	case 4:
		return "UPDATE " + table + " SET " + strings.Join(set, ", ") + " WHERE " + strings.Join(where, " AND ")
	}
	return ""
}

package config

import (
	"errors"
	"strings"
	"time"
)

// Modes of the full load.
const (
	FullLoadNone       = "none"
	FullLoadInitial    = "initial"
	FullLoadWhenNeeded = "when_needed"
)

// FullLoad says which tables are read whole, and how fast.
type FullLoad struct {
	Mode           string  `yaml:"mode" default:"none" oneof:"none|initial|when_needed" doc:"Which tables are read whole, as REFRESH messages, before their changes go on: none, initial (those that the task has published nothing of), when_needed (also those whose change table has lost rows, like source.on_reset resnapshot). ctbridge snapshot asks for single tables in any mode."`
	ChunkRows      int     `yaml:"chunk_rows" default:"10000" min:"1" max:"1000000" doc:"Rows that one query reads at most. Tables are read by their key; one without a key is read by a single query, and from the beginning after an interruption."`
	ParallelTables int     `yaml:"parallel_tables" default:"2" min:"1" max:"100" doc:"Tables that are loaded at the same time; the others wait."`
	Filters        Filters `yaml:"filters" example:"{dbo.orders: \"status <> 'draft'\"}" doc:"SQL predicates for the rows of base tables, in place of those of source.filters: for predicates that name columns which only change tables have. An empty one loads all rows."`
	RowsPerSecond  int     `yaml:"rows_per_second" default:"0" min:"0" max:"100000000" doc:"Speed limit over all tables, to spare the database; 0 = as fast as it goes."`
}

// StartAt is where tables begin: see Start.
type StartAt string

// Start is a StartAt taken apart; all zero means earliest.
type Start struct {
	Now   bool
	After string // a change sequence
	LSN   string // a commit LSN, 20 hex digits
	Time  time.Time
}

const (
	sequenceLength = 35
	lsnLength      = 20
)

// UnmarshalText checks the text.
func (s *StartAt) UnmarshalText(text []byte) error {
	*s = StartAt(text)
	_, err := s.parse()
	return err
}

// Start takes the text apart.
func (s StartAt) Start() Start {
	start, _ := s.parse()
	return start
}

func (s StartAt) parse() (Start, error) {
	switch {
	case s == "" || s == "earliest":
		return Start{}, nil
	case s == "now":
		return Start{Now: true}, nil
	case len(s) == sequenceLength && strings.Trim(string(s), "0123456789") == "":
		return Start{After: string(s)}, nil
	}
	if lsn, ok := strings.CutPrefix(string(s), "0x"); ok && len(lsn) == lsnLength && strings.Trim(lsn, "0123456789abcdefABCDEF") == "" {
		return Start{LSN: lsn}, nil
	}
	at, err := time.Parse(time.RFC3339Nano, string(s))
	if err != nil {
		return Start{}, errors.New("is not earliest, now, a change sequence of 35 digits, an LSN like 0x0000002A000001C80003, or a time like 2031-05-10T16:00:00Z")
	}
	return Start{Time: at}, nil
}

func (r *rules) checkFullLoad() {
	if r.FullLoad.Mode == FullLoadWhenNeeded && r.has("source.on_reset") && r.Source.OnReset != "resnapshot" {
		r.wrong("source.on_reset", "remove one of them", "contradicts full_load.mode when_needed")
	}
	if r.FullLoad.Mode != FullLoadNone {
		r.noEffect("with full_load.mode "+r.FullLoad.Mode+": new tables begin with a load", "remove one of them", "source.start_at")
	}
}

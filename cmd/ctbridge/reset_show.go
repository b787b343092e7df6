package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"text/tabwriter"

	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
	"ctbridge/cmd/ctbridge/internal/redact"
	"ctbridge/cmd/ctbridge/wiring"
)

// show tells what would happen.
func (r *resetting) show(source error) error {
	if source != nil {
		_, _ = fmt.Fprintf(r.app.err, "the source does not answer, so that no rows are counted: %s\n", redact.Text(source.Error()))
	}
	w := tabwriter.NewWriter(r.app.out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "TABLE\tFROM\tTO\tAGAIN\tSKIPPED")
	for i := range r.moves {
		m := &r.moves[i]
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", m.Table, positionText(m.From), r.destination(m), counted(m.Again), counted(m.Skipped))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for i := range r.moves {
		if m := &r.moves[i]; m.Hole != nil {
			_, _ = fmt.Fprintf(r.app.out, "%s stands at a hole, %s: the changes above %s, up to %s, are not there any more\n", m.Table, m.Hole.Kind, positionText(m.Hole.From), positionText(m.Hole.To))
		}
	}
	return nil
}

// destination is where a table would go on, for people.
func (r *resetting) destination(m *wiring.Move) string {
	switch {
	case m.Problem != nil:
		return "-"
	case r.flags.target.To == checkpoint.ResetForget:
		return "as a new table"
	case r.flags.target.To == checkpoint.ResetLoad:
		return "a full load"
	case !m.Known:
		return r.flags.to
	}
	return positionText(m.To)
}

func positionText(p change.Position) string {
	if p == "" {
		return "the start"
	}
	return string(p)
}

func counted(n int64) string {
	if n < 0 {
		return "-"
	}
	return strconv.FormatInt(n, 10)
}

// resetLine is one table for programs.
type resetLine struct {
	Table   string            `json:"table"`
	From    change.Position   `json:"from"`
	To      *change.Position  `json:"to"` // null = the task decides
	Again   *int64            `json:"again"`
	Skipped *int64            `json:"skipped"`
	Hole    *checkpoint.Hole  `json:"hole,omitempty"`
	Done    *checkpoint.Reset `json:"done,omitempty"`
}

type resetDocument struct {
	Task   string                 `json:"task"`
	Target checkpoint.ResetTarget `json:"target"`
	State  string                 `json:"state"` // "shown", "left" for the next start, "done" by the running task
	Tables []resetLine            `json:"tables"`
}

var resetStates = map[string]string{"": "shown", "left": "left", "asked": "done"}

// tell says what became of it.
func (r *resetting) tell() error {
	if r.flags.json {
		return r.document()
	}
	var err error
	switch r.how {
	case "":
		_, err = fmt.Fprintln(r.app.out, "nothing was changed: add --yes")
	case "left":
		_, err = fmt.Fprintln(r.app.out, "left in the checkpoint: the next start of the task carries it out")
	}
	for i := range r.moves {
		if done := r.done[r.moves[i].Table]; err == nil && done != nil && done.Note == "" {
			_, err = fmt.Fprintf(r.app.out, "%s: reset from %s, goes on from %s\n", r.moves[i].Table, positionText(done.From), positionText(done.Became))
		}
	}
	return err
}

func (r *resetting) document() error {
	out := resetDocument{Task: r.task.Name, Target: r.flags.target.To, State: resetStates[r.how], Tables: []resetLine{}}
	for i := range r.moves {
		m := &r.moves[i]
		line := resetLine{Table: m.Table.String(), From: m.From, Again: known(m.Again), Skipped: known(m.Skipped), Hole: m.Hole, Done: r.done[m.Table]}
		if m.Known {
			line.To = &m.To
		}
		out.Tables = append(out.Tables, line)
	}
	enc := json.NewEncoder(r.app.out)
	enc.SetEscapeHTML(false)
	return enc.Encode(out)
}

func known(n int64) *int64 {
	if n < 0 {
		return nil
	}
	return &n
}

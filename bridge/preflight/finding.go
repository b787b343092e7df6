package preflight

import (
	"cmp"
	"slices"
	"strings"

	"ctbridge/bridge/fault"
)

// Level says how bad a finding is.
type Level string

// The levels.
const (
	Pass Level = "pass"
	Warn Level = "warn" // it works, or will for a while
	Fail Level = "fail" // a table, or the task, cannot go on
)

// Area says whom a finding is about.
type Area string

// The areas, in the order of reports.
const (
	AreaConfig     Area = "config"
	AreaSource     Area = "source"
	AreaTable      Area = "table"
	AreaKafka      Area = "kafka"
	AreaRegistry   Area = "registry"
	AreaCheckpoint Area = "checkpoint"
)

// Areas lists all areas in order.
func Areas() []Area {
	return []Area{AreaConfig, AreaSource, AreaTable, AreaKafka, AreaRegistry, AreaCheckpoint}
}

// Finding is one thing that was looked at. Its JSON is API: see docs/doctor.md.
type Finding struct {
	Level    Level    `json:"level"`
	Area     Area     `json:"area"`
	Check    string   `json:"check"`              // what was looked at; docs/doctor.md has a section for each
	Subject  string   `json:"subject"`            // of what: a table, a topic, a number of tables
	Seen     string   `json:"seen"`               // what was found
	Do       string   `json:"do,omitempty"`       // what helps
	SQL      []string `json:"sql,omitempty"`      // for the administrator of the database
	Commands []string `json:"commands,omitempty"` // for a shell
}

// Report is everything that was found.
type Report struct {
	Version  int       `json:"version"` // of this form
	Task     string    `json:"task"`
	Level    Level     `json:"level"` // of the worst finding
	Passed   int       `json:"passed"`
	Warnings int       `json:"warnings"`
	Failed   int       `json:"failed"`
	Findings []Finding `json:"findings"`

	// Deaf tells that not one neighbour could be asked.
	Deaf bool `json:"deaf"`
}

const reportVersion = 1

func newReport(task string, all []Finding, deaf bool) *Report {
	slices.SortStableFunc(all, func(a, b Finding) int {
		areas := Areas()
		return cmp.Compare(slices.Index(areas, a.Area), slices.Index(areas, b.Area))
	})
	r := &Report{Version: reportVersion, Task: task, Level: Pass, Findings: all, Deaf: deaf}
	for _, f := range all {
		switch f.Level {
		case Pass:
			r.Passed++
		case Warn:
			r.Warnings++
		case Fail:
			r.Failed++
		}
	}
	switch {
	case r.Failed > 0:
		r.Level = Fail
	case r.Warnings > 0:
		r.Level = Warn
	}
	return r
}

// notes collects the findings of one check.
type notes struct {
	area  Area
	check string
	list  []Finding
}

func (n *notes) add(level Level, subject, seen, do string) *Finding {
	n.list = append(n.list, Finding{Level: level, Area: n.area, Check: n.check, Subject: subject, Seen: seen, Do: do})
	return &n.list[len(n.list)-1]
}

func (n *notes) pass(subject, seen string) { n.add(Pass, subject, seen, "") }

func (n *notes) warn(subject, seen, do string) *Finding { return n.add(Warn, subject, seen, do) }

func (n *notes) fail(subject, seen, do string) *Finding { return n.add(Fail, subject, seen, do) }

// failed notes an error: what it says, and its hint.
func (n *notes) failed(subject string, err error) *Finding {
	seen, do := told(err)
	return n.fail(subject, seen, do)
}

// unknown notes that something could not be found out.
func (n *notes) unknown(subject, what string, err error) *Finding {
	seen, do := told(err)
	return n.warn(subject, what+": "+seen, do)
}

// told takes an error apart: what happened, and what helps.
func told(err error) (seen, do string) {
	do = fault.HintOf(err)
	seen = err.Error()
	if do != "" {
		seen = strings.Replace(seen, " ("+do+")", "", 1)
	}
	return strings.Join(strings.Fields(seen), " "), do
}

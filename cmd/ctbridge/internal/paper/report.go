package paper

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"ctbridge/bridge/preflight"
)

var levels = map[preflight.Level]string{preflight.Pass: green, preflight.Warn: yellow, preflight.Fail: red}

// Columns of a report: level, check, subject, and what was seen.
const (
	levelWidth   = 6
	checkWidth   = 15
	subjectWidth = 24
	seenAt       = 2 + levelWidth + checkWidth + subjectWidth
)

// Report writes the findings of a doctor, grouped by area.
func Report(w io.Writer, r *preflight.Report, o Options) error {
	s := &sheet{color: o.Color}
	s.line(s.paint(bold, "doctor of task "+r.Task))
	findings := fold(r.Findings)
	for _, area := range preflight.Areas() {
		first := true
		for i := range findings {
			f := &findings[i]
			if f.Area != area {
				continue
			}
			if first {
				s.line()
				s.line(s.paint(bold, string(area)))
				first = false
			}
			s.finding(f)
		}
	}
	s.line()
	s.line(s.paint(levels[r.Level], fmt.Sprintf("%d failed, %s, %d passed", r.Failed, counted(r.Warnings, "warning"), r.Passed)))
	return s.flush(w)
}

// most is how many findings that only differ in their subjects are told one by one.
const most = 3

// fold tells findings that only differ in their subjects as one: a thousand tables of one task lack the same thing. JSON has them all.
func fold(all []preflight.Finding) (out []preflight.Finding) {
	type alike struct {
		level           preflight.Level
		area            preflight.Area
		check, seen, do string
	}
	of := func(f *preflight.Finding) alike { return alike{f.Level, f.Area, f.Check, f.Seen, f.Do} }
	counts := make(map[alike]int)
	for i := range all {
		if bare(&all[i]) {
			counts[of(&all[i])]++
		}
	}
	for _, f := range all {
		n := counts[of(&f)]
		switch {
		case !bare(&f) || n <= most && n > 0:
			out = append(out, f)
		case n > most:
			counts[of(&f)] = 0 // told
			f.Subject = fmt.Sprintf("%s and %d more", f.Subject, n-1)
			out = append(out, f)
		}
	}
	return out
}

func bare(f *preflight.Finding) bool { return len(f.SQL)+len(f.Commands) == 0 }

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func (s *sheet) finding(f *preflight.Finding) {
	head := "  " + s.paint(levels[f.Level], pad(string(f.Level), levelWidth)) + pad(f.Check, checkWidth)
	if utf8.RuneCountInString(f.Subject) < subjectWidth {
		s.block(head+pad(f.Subject, subjectWidth), seenAt, plain, f.Seen)
	} else { // a long name has a line of its own
		s.block(head, seenAt-subjectWidth, plain, f.Subject)
		s.block(strings.Repeat(" ", seenAt), seenAt, plain, f.Seen)
	}
	if f.Do != "" {
		s.block(strings.Repeat(" ", seenAt-2)+"→ ", seenAt, plain, f.Do)
	}
	const indent = 2 + levelWidth
	for _, sql := range f.SQL {
		s.command(indent, "", sql)
	}
	for _, command := range f.Commands {
		s.command(indent, ` \`, command)
	}
}

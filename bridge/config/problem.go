package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing that is wrong with a configuration.
type Problem struct {
	Path string // key in the file, e.g. "kafka.sasl.mechanism"; empty where the file as a whole is meant
	Line int    // 1-based line of the file, 0 where the key is not in it
	Text string // what is wrong, with the value
	Fix  string // how to mend it; may be empty
}

// String is "path: what is wrong (how to mend it)".
func (p Problem) String() string {
	s := p.Text
	if p.Path != "" {
		s = p.Path + ": " + s
	}
	if p.Fix != "" {
		s += " (" + p.Fix + ")"
	}
	return s
}

// Problems is every problem of one configuration, in the order of the file.
//
//nolint:errname // an error by what it lists: the word stands in every message
type Problems []Problem

// Error lists all problems, one a line.
func (p Problems) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d problem%s in the configuration", len(p), plural(len(p)))
	for _, problem := range p {
		b.WriteString("\n  ")
		if problem.Line > 0 {
			fmt.Fprintf(&b, "line %d: ", problem.Line)
		}
		b.WriteString(problem.String())
	}
	return b.String()
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// sort puts the problems into the order of the file; those without a line come last.
func (p Problems) sort() {
	slices.SortStableFunc(p, func(a, b Problem) int {
		if (a.Line == 0) != (b.Line == 0) {
			return cmp.Compare(b.Line, a.Line)
		}
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Path, b.Path))
	})
}

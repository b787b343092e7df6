package values

import (
	"errors"
	"fmt"
	"strings"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
)

// Pattern chooses columns by name.
type Pattern interface {
	Match(column string) bool
	// Exact gives the name of a pattern that can only mean one column.
	Exact() (name string, ok bool)
	String() string
}

// Rule says what to do with columns of some tables. The first rule that names a column decides about its values; each rule that leaves a column out
// does.
type Rule struct {
	Name   string                       // in errors, such as columns.rules[0]
	Tables func(id change.TableID) bool // nil = every table
	Exact  func(id change.TableID) bool // the rule names that very table: its columns must be there. nil = no table
	Types  []string                     // only columns of these types; see Types. Empty = of all

	Include []Pattern // where there are any, other columns are left out
	Exclude []Pattern // left out

	Hash     []Pattern // HMAC-SHA-256 of the value's text, 64 hex digits
	Nullify  []Pattern // NULL
	AsText   []Pattern // the value's text
	Constant []Constant
	Truncate []Truncation

	AllowKey bool // columns of the key may be left out or masked, too
}

// Constant replaces values, NULL among them, by a text.
type Constant struct {
	Columns Pattern
	Text    string
}

// Truncation cuts text to so many characters, and binary values to so many bytes.
type Truncation struct {
	Columns Pattern
	Length  int
}

// Rules are all rules of a task.
type Rules struct {
	rules []Rule
	salt  []byte
	// DropUnchanged tells that updates that change no published column are left out.
	DropUnchanged bool
}

// New checks what can be checked without tables. salt is the key of the hashes.
func New(rules []Rule, salt []byte) (*Rules, error) {
	for i := range rules {
		r := &rules[i]
		if len(r.Hash) > 0 && len(salt) == 0 {
			return nil, fault.New(fault.Config, r.Name, errors.New("hash needs a salt: values that can be guessed could be found by their hashes"), "set columns.salt")
		}
		for _, name := range r.Types {
			if !knownType(name) {
				return nil, fault.New(fault.Config, r.Name, fmt.Errorf("no type has the name %q", name), "known: "+strings.Join(Types(), ", ")+", or native: and a type of the database, as in native:money")
			}
		}
		for _, t := range r.Truncate {
			if t.Length < 0 {
				return nil, fault.New(fault.Config, r.Name, fmt.Errorf("%s cannot be cut to %d characters", t.Columns, t.Length), "")
			}
		}
	}
	return &Rules{rules: rules, salt: salt}, nil
}

// action is what happens to a column's values.
type action uint8

const (
	keep action = iota
	exclude
	hashed
	nullify
	constant
	truncate
	asText
)

var actionNames = [...]string{"keep", "exclude", "hash", "nullify", "constant", "truncate", "as_text"}

func (a action) String() string { return actionNames[a] }

// decision is what the rules say of one column.
type decision struct {
	do     action
	by     *Rule
	text   string
	length int
}

// decide asks the rules for a column of a table.
func (r *Rules) decide(id change.TableID, c *change.Column) (decision, error) {
	var d decision
	for i := range r.rules {
		rule := &r.rules[i]
		if rule.Tables != nil && !rule.Tables(id) || !rule.ofType(c) {
			continue
		}
		found, err := rule.decide(c.Name)
		switch {
		case err != nil:
			return d, err
		case found.do == exclude:
			return found, nil
		case d.do == keep:
			d = found
		}
	}
	return d, nil
}

// decide gives what one rule says of a column. It may say one thing only.
func (r *Rule) decide(column string) (decision, error) {
	d := decision{by: r}
	var err error
	say := func(do action, p Pattern, text string, length int) {
		switch {
		case err != nil || !p.Match(column):
		case d.do != keep && d != (decision{do, r, text, length}):
			err = fault.New(fault.Table, r.Name, fmt.Errorf("column %q falls under %s and under %s", column, d.do, do), "name it once")
		default:
			d = decision{do, r, text, length}
		}
	}
	for _, list := range []struct {
		do       action
		patterns []Pattern
	}{{exclude, r.Exclude}, {hashed, r.Hash}, {nullify, r.Nullify}, {asText, r.AsText}} {
		for _, p := range list.patterns {
			say(list.do, p, "", 0)
		}
	}
	for _, c := range r.Constant {
		say(constant, c.Columns, c.Text, 0)
	}
	for _, t := range r.Truncate {
		say(truncate, t.Columns, "", t.Length)
	}
	if err == nil && len(r.Include) > 0 && !matches(r.Include, column) {
		if d.do != keep && d.do != exclude {
			return d, fault.New(fault.Table, r.Name, fmt.Errorf("column %q falls under %s and is not among those of include", column, d.do), "include it, or name it nowhere")
		}
		d = decision{do: exclude, by: r}
	}
	return d, err
}

func matches(patterns []Pattern, column string) bool {
	for _, p := range patterns {
		if p.Match(column) {
			return true
		}
	}
	return false
}

// patterns lists all that a rule names columns by.
func (r *Rule) patterns() []Pattern {
	var out []Pattern
	for _, list := range [][]Pattern{r.Include, r.Exclude, r.Hash, r.Nullify, r.AsText} {
		out = append(out, list...)
	}
	for _, c := range r.Constant {
		out = append(out, c.Columns)
	}
	for _, t := range r.Truncate {
		out = append(out, t.Columns)
	}
	return out
}

// Check refuses what the rules cannot do to a table, and a column that a rule names exactly in a table that it names exactly, and that is not there: a slip
// of the pen, or a column that has another name by now, would be published as it is. Errors have class Table.
func (r *Rules) Check(t *change.Table) error {
	if r == nil {
		return nil
	}
	for i := range r.rules {
		rule := &r.rules[i]
		if rule.Exact == nil || !rule.Exact(t.ID) {
			continue
		}
		for _, p := range rule.patterns() {
			if name, ok := p.Exact(); ok && t.ColumnIndex(name) < 0 {
				return fault.New(fault.Table, rule.Name, fmt.Errorf("table %s has no column %q", t.ID, name), "correct the name, or take it out of the rule")
			}
		}
	}
	_, err := r.Plan(t)
	return err
}

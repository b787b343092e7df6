package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"ctbridge/bridge/change"
)

// Columns is what users decide about columns.
type Columns struct {
	Salt          Secret       `yaml:"salt" example:"file:/run/secrets/salt" doc:"Key of the hashes. The same salt gives the same hash of a value, whatever the table, the database or the start; another one gives others."`
	DropUnchanged bool         `yaml:"drop_unchanged" default:"false" doc:"Leave out, and count, updates that change nothing but columns that are left out or always the same. They count in no transaction."`
	Rules         []ColumnRule `yaml:"rules" doc:"What happens to columns. The first rule that names a column decides about its values; any rule can leave it out."`
}

// ColumnRule says what happens to columns of some tables.
type ColumnRule struct {
	Tables   TablePatterns           `yaml:"tables" doc:"Tables, as in source.tables; left out = all. A rule that names tables without a star is refused where a column that it names without one is not there."`
	Types    []string                `yaml:"types" doc:"Only columns of these types: bool, integer, float, decimal, text, binary, lob, date, time, datetime, uuid, json, or native: and the database's own name, as in native:money. Left out = of all types."`
	Include  []ColumnChoice          `yaml:"include" doc:"Columns to publish, by name or pattern with *; others of the tables are left out. Names that hold a star or begin with a quote are quoted as in source.tables."`
	Exclude  []ColumnChoice          `yaml:"exclude" doc:"Columns to leave out of messages and schemas."`
	Hash     []ColumnChoice          `yaml:"hash" doc:"Columns whose values become 64 hex digits, HMAC-SHA-256 of their text under columns.salt. Equal values have equal hashes; NULL stays NULL."`
	Constant map[ColumnChoice]string `yaml:"constant" doc:"Columns whose values, NULL among them, become a text."`
	Nullify  []ColumnChoice          `yaml:"nullify" doc:"Columns whose values become NULL."`
	Truncate map[ColumnChoice]int    `yaml:"truncate" doc:"Columns whose text is cut to so many characters, or binary value to so many bytes. A record header ctbridge.truncated. and the column's name has the length before the cut, with truncated_before. for the old or deleted row."`
	AsText   []ColumnChoice          `yaml:"as_text" doc:"Columns whose values become their text, such as decimals with all their digits."`
	AllowKey bool                    `yaml:"allow_key" doc:"Lets the rule leave out or mask columns of the key, which it is refused otherwise: consumers could no longer tell rows apart."`
}

// ColumnChoice chooses columns by name: an exact name, or one with stars. Quoting is that of TablePattern; dots need none.
type ColumnChoice string

// UnmarshalText checks the pattern.
func (p *ColumnChoice) UnmarshalText(text []byte) error {
	*p = ColumnChoice(text)
	_, err := p.glob()
	return err
}

func (p ColumnChoice) glob() (glob, error) {
	var out glob
	text := string(p)
	for {
		part, rest, err := parsePart(text)
		switch {
		case err != nil:
			return nil, err
		case out == nil:
			out = part
		default: // a dot is a letter like others
			last := len(out) - 1
			out = append(out[:last:last], out[last]+"."+part[0])
			out = append(out, part[1:]...)
		}
		if rest == "" {
			return out, nil
		}
		text = rest[1:]
	}
}

// Match reports whether the pattern means a column.
func (p ColumnChoice) Match(column string) bool {
	g, err := p.glob()
	return err == nil && g.match(column)
}

// Exact gives the one column that the pattern can mean.
func (p ColumnChoice) Exact() (string, bool) {
	g, err := p.glob()
	if err != nil || len(g) != 1 {
		return "", false
	}
	return g[0], true
}

// String is the pattern as it was written.
func (p ColumnChoice) String() string { return string(p) }

// Match reports whether the rule concerns a table.
func (c *ColumnRule) Match(id change.TableID) bool { return len(c.Tables) == 0 || c.Tables.Match(id) }

// Names reports whether the rule names that very table.
func (c *ColumnRule) Names(id change.TableID) bool { return slices.Contains(c.Tables.Exact(), id) }

// ColumnRulePath names a rule as errors do.
func ColumnRulePath(i int) string { return "columns.rules[" + strconv.Itoa(i) + "]" }

func (r *rules) checkColumns() {
	hashes := false
	for i := range r.Columns.Rules {
		rule, path := &r.Columns.Rules[i], ColumnRulePath(i)
		hashes = hashes || len(rule.Hash) > 0
		r.checkPatterns(path+".tables", rule.Tables)
		if rule.idle() {
			r.wrong(path, "add include, exclude, hash, constant, nullify, truncate or as_text", "does nothing")
		}
		for _, p := range slices.Sorted(maps.Keys(rule.Truncate)) {
			if rule.Truncate[p] < 0 {
				r.wrong(path+".truncate."+string(p), "write 0 or more", "is below 0")
			}
		}
		for j, name := range rule.Types {
			if !knownType(name) {
				r.wrong(fmt.Sprintf("%s.types[%d]", path, j), "see the reference; a type of the database is written native:money", "is no type%s", suggestion(name, columnTypes))
			}
		}
	}
	switch {
	case hashes && !r.Columns.Salt.IsSet():
		r.wrong("columns.salt", "write file: and the path of a file with a long random text", "is needed for hash: values that can be guessed could be found by their hashes")
	case !hashes:
		r.noEffect("without hash in columns.rules", "remove it", "columns.salt")
	}
	if r.Columns.DropUnchanged && len(r.Columns.Rules) == 0 {
		r.wrong("columns.drop_unchanged", "remove it", "has no effect without columns.rules")
	}
}

func (c *ColumnRule) idle() bool {
	return len(c.Include)+len(c.Exclude)+len(c.Hash)+len(c.Constant)+len(c.Nullify)+len(c.Truncate)+len(c.AsText) == 0
}

// columnTypes are the names of types that do not depend on the database.
var columnTypes = []string{"binary", "bool", "date", "datetime", "decimal", "float", "integer", "json", "lob", "text", "time", "uuid"}

func knownType(name string) bool {
	const native = "native:"
	return slices.Contains(columnTypes, name) || len(name) > len(native) && name[:len(native)] == native
}

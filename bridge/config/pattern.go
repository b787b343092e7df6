package config

import (
	"fmt"
	"strings"

	"ctbridge/bridge/change"
)

// TablePattern is one entry of source.tables:
//
//	dbo.orders          one table, by its exact name
//	dbo.*   *.orders    * stands for any run of characters inside its part
//	*                   every table of every schema
//	orders              a table of a database without schemas (SQLite)
//	!dbo.audit          never this one, whatever the other entries say
//	dbo."a.b*"          quoted: every character stands for itself
//
// Names compare exactly, in the spelling of the catalog. Spaces, $, ] and other characters need no quotes; a dot, a star, and a leading
// ! or quote do. Quotes are "…", […] or `…`; the closing one is doubled inside.
type TablePattern struct {
	text    string
	exclude bool
	parts   []glob // table, or schema and table
}

// TablePatterns chooses tables: those that an entry names and no ! entry does. The order of the entries has no meaning.
type TablePatterns []TablePattern

// UnmarshalText reads one entry.
func (p *TablePattern) UnmarshalText(text []byte) error {
	p.text = string(text)
	rest, exclude := strings.CutPrefix(p.text, "!")
	parts, err := parseName(rest)
	p.exclude, p.parts = exclude, parts
	return err
}

// MarshalText gives the entry as it was written.
func (p TablePattern) MarshalText() ([]byte, error) { return []byte(p.text), nil }

// String is the entry as it was written.
func (p TablePattern) String() string { return p.text }

func (p TablePattern) match(id change.TableID) bool {
	name := p.parts[len(p.parts)-1]
	if len(p.parts) == 1 {
		return (id.Schema == "" || name.any()) && name.match(id.Name)
	}
	return id.Schema != "" && p.parts[0].match(id.Schema) && name.match(id.Name)
}

// exact gives the one table that the entry can mean.
func (p TablePattern) exact() (change.TableID, bool) {
	for _, part := range p.parts {
		if len(part) > 1 {
			return change.TableID{}, false
		}
	}
	return tableID(p.parts), true
}

func tableID(parts []glob) change.TableID {
	id := change.TableID{Name: parts[len(parts)-1][0]}
	if len(parts) == 2 {
		id.Schema = parts[0][0]
	}
	return id
}

// Match reports whether the table is chosen.
func (ps TablePatterns) Match(id change.TableID) bool {
	chosen := false
	for _, p := range ps {
		if !p.match(id) {
			continue
		}
		if p.exclude {
			return false
		}
		chosen = true
	}
	return chosen
}

// Exact lists the tables that are named without a star.
func (ps TablePatterns) Exact() []change.TableID {
	var ids []change.TableID
	for _, p := range ps {
		if id, exact := p.exact(); exact && !p.exclude {
			ids = append(ids, id)
		}
	}
	return ids
}

// Unused lists the entries that none of the tables matches: most likely misspelled.
func (ps TablePatterns) Unused(ids []change.TableID) []string {
	var unused []string
	for _, p := range ps {
		if !matchesAny(p, ids) {
			unused = append(unused, p.text)
		}
	}
	return unused
}

func matchesAny(p TablePattern, ids []change.TableID) bool {
	for _, id := range ids {
		if p.match(id) {
			return true
		}
	}
	return false
}

// TableName is the exact name of a table, with the quoting of TablePattern.
type TableName struct {
	id   change.TableID
	text string
}

// UnmarshalText reads a name without stars.
func (n *TableName) UnmarshalText(text []byte) error {
	parts, err := parseName(string(text))
	if err != nil {
		return err
	}
	for _, part := range parts {
		if len(part) > 1 {
			return fmt.Errorf("is a pattern where one table must be named: quote a star that belongs to the name")
		}
	}
	*n = TableName{id: tableID(parts), text: string(text)}
	return nil
}

// ID is the table.
func (n TableName) ID() change.TableID { return n.id }

func (n TableName) parts() int {
	if n.id.Schema == "" {
		return 1
	}
	return 2
}

// glob is the literal texts between the stars of one part of a name; one element means no star.
type glob []string

func (g glob) any() bool { return len(g) == 2 && g[0] == "" && g[1] == "" }

func (g glob) match(s string) bool {
	if len(g) == 1 {
		return s == g[0]
	}
	first, last := g[0], g[len(g)-1]
	if len(s) < len(first)+len(last) || !strings.HasPrefix(s, first) || !strings.HasSuffix(s, last) {
		return false
	}
	s = s[len(first) : len(s)-len(last)]
	for _, literal := range g[1 : len(g)-1] {
		_, rest, found := strings.Cut(s, literal)
		if !found {
			return false
		}
		s = rest
	}
	return true
}

// parseName reads table or schema.table.
func parseName(text string) ([]glob, error) {
	parts, err := parseParts(text)
	if err == nil && len(parts) > 2 {
		err = fmt.Errorf(`has %d parts, not schema and table: quote a dot that belongs to a name, like dbo."a.b"`, len(parts))
	}
	if err != nil {
		return nil, err
	}
	return parts, nil
}

// parseParts reads names with dots between them.
func parseParts(text string) ([]glob, error) {
	var parts []glob
	for {
		part, rest, err := parsePart(text)
		if err != nil {
			return nil, err
		}
		if parts = append(parts, part); rest == "" {
			break
		}
		text = rest[1:] // the dot
	}
	return parts, nil
}

var closing = map[byte]byte{'"': '"', '[': ']', '`': '`'}

// parsePart reads up to a dot outside quotes, or the end.
func parsePart(text string) (part glob, rest string, err error) {
	part, rest = glob{""}, text
	fresh := true // a quote may open here
	for rest != "" && rest[0] != '.' {
		last := &part[len(part)-1]
		c := rest[0]
		switch end := closing[c]; {
		case fresh && end != 0:
			if *last, rest, err = quoted(rest[1:], end); err != nil {
				return nil, "", err
			}
		case c == '*':
			if len(part) == 1 || *last != "" { // ** is *
				part = append(part, "")
			}
			rest, fresh = rest[1:], true
			continue
		default:
			*last, rest = *last+string(rest[:1]), rest[1:]
		}
		fresh = false
	}
	if len(part) == 1 && part[0] == "" {
		return nil, "", fmt.Errorf("has an empty name")
	}
	return part, rest, nil
}

// quoted reads up to the closing quote, which must end the part or stand before a star.
func quoted(text string, end byte) (name, rest string, err error) {
	for i := 0; i < len(text); i++ {
		if text[i] != end {
			name += text[i : i+1]
			continue
		}
		rest = text[i+1:]
		switch {
		case rest == "" || rest[0] == '.' || rest[0] == '*':
			return name, rest, nil
		case rest[0] != end:
			return "", "", fmt.Errorf("has text behind a closing %c: double the quote if it belongs to the name", end)
		}
		name += string(end)
		i++
	}
	return "", "", fmt.Errorf("has a quote that is not closed by %c", end)
}

package tdspeer

import (
	"regexp"
	"strings"
)

// The translation covers the T-SQL of this project's readers and tests, no more: quoting, paging, binary literals, types in CREATE TABLE,
// index names, catalog views, conversions.

var paging = regexp.MustCompile(`(?i)\bOFFSET 0 ROWS FETCH NEXT (\S+) ROWS ONLY`)

// toSQLite translates one statement.
func toSQLite(text string) string {
	words := tokens(paging.ReplaceAllString(text, "LIMIT $1"))
	if keyword(words, "CREATE", "TABLE") {
		prefixTypes(words)
	} else {
		words = conversions(words)
	}
	if moved, ok := moveIndexSchema(words); ok {
		words = moved
	}
	nameCatalogViews(words)
	return strings.Join(words, "")
}

// tokens splits SQL into words, quoted things, blanks and single characters. Quoted identifiers and literals come out in SQLite's form.
func tokens(s string) (list []string) {
	for len(s) > 0 {
		n := 1
		out := ""
		switch c := s[0]; {
		case c == '\'':
			n = quotedEnd(s, '\'')
			out = s[:n]
		case (c == 'N' || c == 'n') && strings.HasPrefix(s[1:], "'") && !endsWord(list):
			n = 1 + quotedEnd(s[1:], '\'')
			out = s[1:n]
		case c == '[':
			n = quotedEnd(s, ']')
			out = doubleQuoted(strings.ReplaceAll(strings.TrimSuffix(s[1:n], "]"), "]]", "]"))
		case c == '"':
			n = quotedEnd(s, '"')
			out = s[:n]
		case strings.HasPrefix(s, "0x") && !endsWord(list):
			n = 2 + run(s[2:])
			out = "X'" + s[2:n] + "'"
		case wordByte(c):
			n = run(s)
			out = s[:n]
		default:
			out = s[:1]
		}
		list = append(list, out)
		s = s[n:]
	}
	return list
}

// quotedEnd is the length of the quoted thing that s begins with; a doubled closing quote stands for itself.
func quotedEnd(s string, closing byte) int {
	for i := 1; i < len(s); i++ {
		if s[i] != closing {
			continue
		}
		if i+1 < len(s) && s[i+1] == closing {
			i++
			continue
		}
		return i + 1
	}
	return len(s)
}

func doubleQuoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

func wordByte(c byte) bool {
	return c == '_' || c == '@' || c == '$' || c == '#' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// run is the length of the word that s begins with.
func run(s string) int {
	for i := range len(s) {
		if !wordByte(s[i]) {
			return i
		}
	}
	return len(s)
}

func endsWord(list []string) bool {
	return len(list) > 0 && wordByte(list[len(list)-1][0])
}

// keyword reports whether a statement begins with these words.
func keyword(words []string, want ...string) bool {
	for _, w := range words {
		if len(want) == 0 {
			return true
		}
		if strings.TrimSpace(w) == "" {
			continue
		}
		if !strings.EqualFold(w, want[0]) {
			return false
		}
		want = want[1:]
	}
	return len(want) == 0
}

// affinities put a prefix before type names, so that SQLite stores values as they are sent: decimals and dates as text. typeOfPrefixed takes
// it off again.
var affinities = map[string]string{
	"bit": "INT_", "tinyint": "INT_", "smallint": "INT_", "int": "INT_", "integer": "INT_", "bigint": "INT_", "real": "REAL_", "float": "REAL_",
	"binary": "BLOB_", "varbinary": "BLOB_", "image": "BLOB_", "timestamp": "BLOB_", "rowversion": "BLOB_",
	"decimal": "TEXT_", "numeric": "TEXT_", "money": "TEXT_", "smallmoney": "TEXT_", "uniqueidentifier": "TEXT_", "xml": "TEXT_",
	"char": "TEXT_", "varchar": "TEXT_", "nchar": "TEXT_", "nvarchar": "TEXT_", "text": "TEXT_", "ntext": "TEXT_",
	"date": "TEXT_", "time": "TEXT_", "datetime": "TEXT_", "smalldatetime": "TEXT_", "datetime2": "TEXT_", "datetimeoffset": "TEXT_",
}

func prefixTypes(words []string) {
	for i, w := range words {
		if prefix, ok := affinities[strings.ToLower(w)]; ok && i > 1 {
			words[i] = prefix + strings.ToLower(w)
		}
		if strings.EqualFold(w, "max") && words[i-1] == "(" {
			words[i] = "-1" // SQLite wants a number
		}
	}
	collations(words)
}

// typeOfPrefixed gives the T-SQL type of a declared column; "" where SQLite knows none.
func typeOfPrefixed(declared string) string {
	typ := strings.ReplaceAll(strings.ToLower(declared), "(-1)", "(max)")
	for _, prefix := range []string{"int_", "real_", "blob_", "text_"} {
		if rest, ok := strings.CutPrefix(typ, prefix); ok {
			typ = rest
		}
	}
	if typ == "integer" {
		return "int"
	}
	return typ
}

// moveIndexSchema turns CREATE INDEX i ON s.t into CREATE INDEX s.i ON t.
func moveIndexSchema(words []string) ([]string, bool) {
	if !keyword(words, "CREATE", "INDEX") && !keyword(words, "CREATE", "UNIQUE", "INDEX") {
		return nil, false
	}
	for i, w := range words {
		if strings.EqualFold(w, "ON") && i+4 < len(words) && words[i+3] == "." {
			out := append(append([]string{}, words[:i-2]...), words[i+2], ".")
			out = append(out, words[i-2:i+2]...)
			return append(out, words[i+4:]...), true
		}
	}
	return nil, false
}

// nameCatalogViews makes one name of INFORMATION_SCHEMA.X and sys.X: the temporary tables that stand for them.
func nameCatalogViews(words []string) {
	for i := 0; i+2 < len(words); i++ {
		if (strings.EqualFold(words[i], "INFORMATION_SCHEMA") || strings.EqualFold(words[i], "sys")) && words[i+1] == "." {
			words[i] = doubleQuoted(strings.ToLower(words[i] + "." + words[i+2]))
			words[i+1], words[i+2] = "", ""
		}
	}
}

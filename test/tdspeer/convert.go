package tdspeer

import (
	"bytes"
	"database/sql/driver"
	"errors"
	"strings"

	sqlite "modernc.org/sqlite"
)

// Conversions and orders that the store behind the peer has otherwise.

// conversions turns CONVERT(type, value, style) and CAST(value AS type) into what the store makes of its own values: decimals, dates and
// uniqueidentifiers are text in it already. Styles 1 and 2 are hexadecimal text of bytes, 3 is a float in 17 digits.
func conversions(words []string) []string {
	var out []string
	for i := 0; i < len(words); i++ {
		call := strings.ToUpper(words[i])
		if call != "CONVERT" && call != "CAST" || i+1 >= len(words) || words[i+1] != "(" {
			out = append(out, words[i])
			continue
		}
		args, n := arguments(words[i+1:], call == "CAST")
		i += n
		typ, value, style := args[0], args[1], ""
		if call == "CAST" {
			typ, value = value, typ
		}
		if len(args) > 2 {
			style = strings.TrimSpace(strings.Join(args[2], ""))
		}
		out = append(out, converted(strings.TrimSpace(strings.Join(typ, "")), strings.TrimSpace(strings.Join(conversions(value), "")), style))
	}
	return out
}

// arguments splits what stands between a parenthesis and its closing one at commas, or at AS; n is how many words that took.
func arguments(words []string, as bool) (args [][]string, n int) {
	depth := 0
	args = [][]string{nil}
	for n < len(words) {
		w := words[n]
		n++
		switch {
		case w == "(":
			depth++
			if depth == 1 {
				continue
			}
		case w == ")":
			depth--
			if depth == 0 {
				return args, n
			}
		case depth == 1 && (!as && w == "," || as && strings.EqualFold(w, "AS")):
			args = append(args, nil)
			continue
		}
		args[len(args)-1] = append(args[len(args)-1], w)
	}
	return args, n
}

func converted(typ, value, style string) string {
	name, _, _ := strings.Cut(strings.ToLower(typ), "(")
	switch {
	case strings.HasSuffix(name, "char") && (style == "1" || style == "2"):
		return "hex(" + value + ")"
	case strings.HasSuffix(name, "char") && style == "3":
		return "printf('%!.17g', " + value + ")"
	case strings.HasSuffix(name, "binary") && style == "2":
		return "unhex(" + value + ")"
	}
	switch affinities[name] {
	case "INT_":
		return "CAST(" + value + " AS INTEGER)"
	case "REAL_":
		return "CAST(" + value + " AS REAL)"
	case "BLOB_":
		return "CAST(" + value + " AS BLOB)"
	}
	return "CAST(" + value + " AS TEXT)"
}

// guidCollation sorts uniqueidentifiers as SQL Server does.
const guidCollation = "sqlserver_guid"

// newDriver is a driver of the store that knows the peer's orders.
func newDriver() (*sqlite.Driver, error) {
	d := &sqlite.Driver{}
	err := d.RegisterCollationUtf8(guidCollation, func(a, b string) int { return bytes.Compare(weighed(a), weighed(b)) })
	// Of collations and the database itself the peer knows nothing.
	for name, arguments := range map[string]int32{"collationproperty": 2, "databasepropertyex": 2, "db_name": 0} {
		null := func(*sqlite.FunctionContext, []driver.Value) (driver.Value, error) { return nil, nil }
		err = errors.Join(err, d.RegisterScalarFunction(name, arguments, null))
	}
	return d, err
}

// guidOrder is the weight of the sixteen bytes, the heaviest first (Microsoft Learn, "Compare GUID and uniqueidentifier values").
var guidOrder = [16]int{10, 11, 12, 13, 14, 15, 8, 9, 6, 7, 4, 5, 0, 1, 2, 3}

// weighed is a uniqueidentifier in the order of its weights.
func weighed(text string) []byte {
	raw, err := guidValue(text)
	if err != nil {
		return []byte(text)
	}
	out := make([]byte, 0, 16)
	for _, i := range guidOrder {
		out = append(out, raw[i])
	}
	return out
}

// collations gives columns the order that their types have.
func collations(words []string) {
	for i, w := range words {
		switch {
		case strings.EqualFold(w, "COLLATE") && i+2 < len(words): // COLLATE, a blank, a name
			words[i+2] = map[bool]string{true: "NOCASE", false: "BINARY"}[strings.Contains(strings.ToUpper(words[i+2]), "_CI_")]
		case strings.HasSuffix(w, "_uniqueidentifier"):
			words[i] += " COLLATE " + guidCollation
		}
	}
}

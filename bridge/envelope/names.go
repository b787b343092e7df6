package envelope

import (
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Avro names are [A-Za-z_][A-Za-z0-9_]* (Avro specification, "Names"); SQL allows anything. Every character that Avro refuses becomes
// `_uXXXX`, its UTF-16 unit in four upper-case hex digits, two of them for a character above U+FFFF. So that the mapping is injective:
//
//   - an underscore that already starts such an escape is itself escaped (`_u0041` becomes `_u005Fu0041`);
//   - a byte that is not UTF-8 becomes a lone low surrogate, `_uDC80` to `_uDCFF`, which no character has;
//   - the empty name becomes `_uDC00`, which nothing else has.
//
// A legal name without an escape in it stays as it is.
const (
	escapeSize = len("_uXXXX")
	emptyName  = "_uDC00"
	rawByte    = 0xDC00 // plus the byte
	upperHex   = "0123456789ABCDEF"
)

// AvroName gives the Avro name of a source name: always legal, always the same, never the same for two different names.
func AvroName(name string) string {
	if name == "" {
		return emptyName
	}
	if plainName(name) {
		return name
	}
	var b strings.Builder
	for i := 0; i < len(name); {
		r, size := utf8.DecodeRuneInString(name[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			writeEscape(&b, rawByte+uint16(name[i]))
		case r < utf8.RuneSelf && legalAt(i, byte(r)) && !startsEscape(name[i:]):
			b.WriteByte(byte(r))
		default:
			for _, unit := range utf16.AppendRune(nil, r) {
				writeEscape(&b, unit)
			}
		}
		i += size
	}
	return b.String()
}

// AvroNames gives the Avro names of the columns of one record, or of the records of one namespace. Two names that would become one
// are an error that shows both.
func AvroNames(names []string) ([]string, error) {
	adjusted := make([]string, len(names))
	origin := make(map[string]string, len(names))
	for i, name := range names {
		adjusted[i] = AvroName(name)
		if other, taken := origin[adjusted[i]]; taken {
			return nil, fmt.Errorf("names %q and %q both become %q in Avro: rename or leave out one of them", other, name, adjusted[i])
		}
		origin[adjusted[i]] = name
	}
	return adjusted, nil
}

// AvroNamespace joins the Avro names of the parts with dots. A dot inside a part is escaped: parts stay apart.
func AvroNamespace(parts ...string) string {
	adjusted := make([]string, len(parts))
	for i, part := range parts {
		adjusted[i] = AvroName(part)
	}
	return strings.Join(adjusted, ".")
}

// OriginalName undoes AvroName.
func OriginalName(avro string) string {
	if avro == emptyName {
		return ""
	}
	var b strings.Builder
	for i := 0; i < len(avro); {
		if !startsEscape(avro[i:]) {
			b.WriteByte(avro[i])
			i++
			continue
		}
		r := rune(unitOf(avro[i:]))
		i += escapeSize
		switch {
		case utf16.IsSurrogate(r) && startsEscape(avro[i:]) && r < rawByte:
			b.WriteRune(utf16.DecodeRune(r, rune(unitOf(avro[i:]))))
			i += escapeSize
		case utf16.IsSurrogate(r):
			b.WriteByte(byte(r - rawByte))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// plainName reports whether a name that is not empty needs no change.
func plainName(name string) bool {
	for i := 0; i < len(name); i++ {
		if !legalAt(i, name[i]) || startsEscape(name[i:]) {
			return false
		}
	}
	return true
}

func legalAt(i int, c byte) bool {
	return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || i > 0 && '0' <= c && c <= '9'
}

func startsEscape(s string) bool {
	if len(s) < escapeSize || s[0] != '_' || s[1] != 'u' {
		return false
	}
	for i := 2; i < escapeSize; i++ {
		if strings.IndexByte(upperHex, s[i]) < 0 {
			return false
		}
	}
	return true
}

func unitOf(escape string) (unit uint16) {
	for i := 2; i < escapeSize; i++ {
		unit = unit<<4 | uint16(strings.IndexByte(upperHex, escape[i]))
	}
	return unit
}

func writeEscape(b *strings.Builder, unit uint16) {
	b.WriteString("_u")
	for shift := 12; shift >= 0; shift -= 4 {
		b.WriteByte(upperHex[unit>>shift&15])
	}
}

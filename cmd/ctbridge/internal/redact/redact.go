// Package redact hides secrets inside texts for people. Errors hold none by the rules of those who make them: it is a second lock, on the way
// to the log, the terminal and the status page.
package redact

import (
	"regexp"
	"strings"
	"unicode"
)

// Hidden stands where a secret was.
const Hidden = "***"

var (
	userPassword = regexp.MustCompile(`([^\s:/@"']+):([^\s/@"']+)@`)                                           // user:password@ of a URL or a DSN
	namedSecret  = regexp.MustCompile(`(?i)\b(password|pwd|secret|token)(\s*=\s*)("[^"]*"|'[^']*'|[^\s;&,]+)`) // password=… of a DSN
	header       = regexp.MustCompile(`(?i)\b(authorization:\s*(?:basic|bearer)?)\s*\S+`)
)

// Text hides the passwords in a text.
func Text(s string) string {
	s = userPassword.ReplaceAllString(s, "$1:"+Hidden+"@")
	s = namedSecret.ReplaceAllString(s, "$1$2"+Hidden)
	return header.ReplaceAllString(s, "$1 "+Hidden)
}

// Printable replaces what a terminal would obey, such as escape sequences in the words of a server: line breaks and tabs stay.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

package paper

import (
	"bytes"
	"io"
	"strings"
	"unicode/utf8"
)

// Width is the most columns of a line.
const Width = 100

// Options say how a report looks.
type Options struct{ Color bool }

// Colours of a terminal.
const (
	plain  = ""
	bold   = "1"
	red    = "31"
	green  = "32"
	yellow = "33"
)

// sheet collects the lines of a report.
type sheet struct {
	out   bytes.Buffer
	color bool
}

func (s *sheet) paint(style, text string) string {
	if !s.color || style == plain || text == "" {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

func (s *sheet) line(parts ...string) {
	s.out.WriteString(strings.TrimRight(strings.Join(parts, ""), " "))
	s.out.WriteByte('\n')
}

// block writes text behind a first line's beginning, which takes up indent columns; the lines that follow are indented as much.
func (s *sheet) block(first string, indent int, style, text string) {
	for i, line := range wrap(text, Width-indent) {
		if i > 0 {
			first = strings.Repeat(" ", indent)
		}
		s.line(first, s.paint(style, line))
	}
}

// command writes a command that goes on in further lines where it is too long; end marks the broken ends.
func (s *sheet) command(indent int, end, text string) {
	lines := fill(pieces(text), Width-indent-len(end)-2)
	for i, line := range lines {
		at := indent
		if i > 0 {
			at += 2
		}
		if i < len(lines)-1 {
			line += end
		}
		s.line(strings.Repeat(" ", at), s.paint(bold, line))
	}
}

func (s *sheet) flush(w io.Writer) error {
	_, err := w.Write(s.out.Bytes())
	return err
}

// wrap breaks a text at blanks into lines of at most so many columns. A word that is longer has a line of its own.
func wrap(text string, columns int) []string { return fill(strings.Fields(text), columns) }

func fill(words []string, columns int) []string {
	var lines []string
	line := ""
	for i, word := range words {
		switch {
		case i == 0:
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= columns:
			line += " " + word
		default:
			lines, line = append(lines, line), word
		}
	}
	return append(lines, line)
}

// quotes are those of SQL and of shells, with what closes them.
var quotes = map[rune]rune{'"': '"', '\'': '\'', '`': '`', '[': ']'}

// pieces takes a command apart at single blanks outside of quotes: joined by blanks they are the command again.
func pieces(text string) (out []string) {
	var word strings.Builder
	var end rune
	for _, c := range text {
		switch {
		case end != 0:
			if c == end {
				end = 0
			}
		case c == ' ':
			out = append(out, word.String())
			word.Reset()
			continue
		default:
			end = quotes[c]
		}
		word.WriteRune(c)
	}
	return append(out, word.String())
}

// pad fills a text up to a width in characters.
func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
}

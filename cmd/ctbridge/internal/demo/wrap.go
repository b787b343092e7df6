package demo

import (
	"bytes"
	"io"
	"unicode/utf8"
)

// wrapper breaks lines that are longer than the terminal at their spaces, and indents what it moves down. Colours take no room.
type wrapper struct {
	w     io.Writer
	width func() int // columns; below minWidth lines are left as they are
}

const (
	minWidth = 20
	hanging  = "      "
)

// Write takes whole lines.
func (w *wrapper) Write(p []byte) (int, error) {
	width := w.width()
	if width < minWidth {
		return w.w.Write(p)
	}
	var out bytes.Buffer
	for line := range bytes.Lines(p) {
		wrapLine(&out, line, width)
	}
	if _, err := w.w.Write(out.Bytes()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// wrapLine writes one line, word by word. A word is what lies between two spaces; one that is too long for a line of its own stays whole.
func wrapLine(out *bytes.Buffer, line []byte, width int) {
	used, begun := 0, false
	var gap []byte // spaces that are not written yet: a line does not end with them
	for len(line) > 0 {
		n := wordEnd(line)
		word := bytes.TrimRight(line[:n], " ")
		if begun && used+len(gap)+visible(word) > width {
			out.WriteString("\n" + hanging)
			used, gap = len(hanging), nil
		}
		begun = begun || visible(bytes.TrimLeft(word, " ")) > 0
		out.Write(gap)
		out.Write(word)
		used += len(gap) + visible(word)
		gap, line = line[len(word):n], line[n:]
	}
	out.Write(gap)
}

// A word of at most so many characters, its space included, goes down with the next one, as in "seq 123".
const shortWord = 4

// wordEnd finds where the first word of a line ends, its space included.
func wordEnd(line []byte) int {
	end := afterSpace(line)
	if n := visible(line[:end]); n < 2 || n > shortWord {
		return end
	}
	return end + afterSpace(line[end:])
}

func afterSpace(text []byte) int {
	if space := bytes.IndexByte(text, ' '); space >= 0 {
		return space + 1
	}
	return len(text)
}

// visible is how many columns a text takes: characters without colour codes and line ends.
func visible(text []byte) int {
	n := 0
	for len(text) > 0 {
		if text[0] == '\x1b' {
			end := bytes.IndexByte(text, 'm')
			text = text[end+1:]
			if end < 0 {
				return n
			}
			continue
		}
		_, size := utf8.DecodeRune(text)
		if text[0] != '\n' {
			n++
		}
		text = text[size:]
	}
	return n
}

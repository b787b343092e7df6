package program

import (
	"errors"
	"fmt"

	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
)

// Writer appends the content of a value that is neither NULL nor absent. It returns what it was given, extended, or an error.
type Writer func(dst []byte, s *Step, v *change.Value) ([]byte, error)

// Step is one instruction. The exported part is what a Writer may use; Scratch and Limbs are its own between calls.
type Step struct {
	// What every value needs lies together.
	write    Writer
	literal  []byte // stands before it
	column   int
	kind     kind
	marked   bool // a mark stands before its value
	nullable bool

	Integer Integer // reads the number of an integer form
	Text    Writer  // writes the text of a text form
	Form    envelope.Form
	Scratch []byte
	Limbs   []uint64

	get   envelope.Getter
	image func(*change.Event) []change.Value
	check func(*change.Event) error
	skip  int // of enter and divide: the index of the last step that a missing value leaves out
	path  string

	absent *change.Value // stands for a value that was not captured
}

type kind uint8

const (
	literal  kind = iota // fixed bytes alone: only the last step
	column               // value of the image in force
	computed             // value of a Getter
	enter                // another image comes into force
	leave                // back to the image before
	divide               // the column that the steps up to skip write parts of
	open                 // a length is to stand here
	shut                 // the length is known
)

// Builder collects the steps of one program.
type Builder struct {
	program Program
	before  []byte // literals that the next step takes along
	images  []int  // indexes of the enter steps that are not left yet
	divided int    // index of the divide step that is not over yet
}

// NewBuilder starts a program. null is what a missing value is written as; mark stands before a value that could have been missing, 0 where
// the format needs no such thing.
func NewBuilder(null string, mark byte) *Builder {
	return &Builder{program: Program{null: null, mark: mark}}
}

// Literal adds fixed bytes.
func (b *Builder) Literal(text string) { b.before = append(b.before, text...) }

// Present adds what stands before the content of a nullable node that is never missing.
func (b *Builder) Present(n *envelope.Node) {
	if b.marks(n) {
		b.Literal(string([]byte{b.program.mark}))
	}
}

func (b *Builder) marks(n *envelope.Node) bool { return n.Nullable && b.program.mark != 0 }

// Leaf adds one value of the tree. A constant is written at once: its errors come now.
func (b *Builder) Leaf(n *envelope.Node, form envelope.Form, path string, write Writer) error {
	s := Step{Form: form, Text: Text(form.Kind), Integer: IntegerOf(form.Kind), path: path, write: write, nullable: n.Nullable, marked: b.marks(n), absent: n.Absent}
	switch {
	case n.Constant != nil:
		return b.constant(&s, n.Constant)
	case n.Get != nil:
		s.kind, s.get = computed, n.Get
	case len(b.images) == 0:
		return fmt.Errorf("%s: a column outside of any row image", path)
	case n.Column < 0:
		return fmt.Errorf("%s: column %d does not exist", path, n.Column)
	default:
		s.kind, s.column = column, n.Column
	}
	if n.Absent != nil { // it must fit now, not when the first such value comes
		if _, err := b.program.leaf(nil, &s, n.Absent); err != nil {
			return fmt.Errorf("%s: what stands for absent values: %w", path, err)
		}
	}
	b.add(s)
	return nil
}

// Divide begins the parts of one column; Together ends them. Where the column has no value null is written in place of all of them.
func (b *Builder) Divide(n *envelope.Node, path string) error {
	if len(b.images) == 0 || n.Column < 0 || n.Absent != nil {
		return fmt.Errorf("%s: only a column of a row image can be split, and nothing can stand for its absence", path)
	}
	b.divided = len(b.program.steps)
	b.add(Step{kind: divide, column: n.Column, nullable: n.Nullable, marked: b.marks(n), path: path})
	return nil
}

// Together ends what the last Divide began: its parts are leaves of the column, so that no literal of theirs can run into what follows.
func (b *Builder) Together() {
	b.program.steps[b.divided].skip = len(b.program.steps) - 1
}

func (b *Builder) constant(s *Step, v *change.Value) error {
	text, err := b.program.leaf(nil, s, v)
	if err != nil {
		return fmt.Errorf("%s: %w", path(s.path), err)
	}
	b.Literal(string(text))
	return nil
}

// Enter begins the part of the program that a row image feeds; Leave ends it. A missing image writes null in its place.
func (b *Builder) Enter(n *envelope.Node, path string) {
	b.images = append(b.images, len(b.program.steps))
	b.add(Step{kind: enter, image: n.Image, check: n.Check, nullable: n.Nullable, marked: b.marks(n), path: path})
}

// Leave ends what the last Enter began.
func (b *Builder) Leave() {
	last := len(b.images) - 1
	b.program.steps[b.images[last]].skip = len(b.program.steps)
	b.images = b.images[:last]
	b.add(Step{kind: leave})
}

// Open begins a part that has its length in bytes, as an Avro long, in front; Close ends it.
func (b *Builder) Open() { b.add(Step{kind: open}) }

// Close ends what the last Open began.
func (b *Builder) Close() { b.add(Step{kind: shut}) }

func (b *Builder) add(s Step) {
	s.literal, b.before = b.before, nil
	b.program.steps = append(b.program.steps, s)
}

// Program gives the finished program.
func (b *Builder) Program() *Program {
	if len(b.before) > 0 {
		b.add(Step{kind: literal})
	}
	return &b.program
}

// errNull is the error of a value that must not be missing.
var errNull = errors.New("NULL in a field that is not nullable")

// path names a place in a message; the root has no name.
func path(p string) string {
	if p == "" {
		return "message"
	}
	return p
}

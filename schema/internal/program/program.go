package program

import (
	"encoding/binary"
	"errors"
	"fmt"

	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
	"ctbridge/bridge/fault"
)

// Program is a compiled tree. It is not safe for concurrent use.
type Program struct {
	steps   []Step
	null    string // stands for a missing value
	mark    byte   // stands before a value that could have been missing; 0 = nothing does
	scratch envelope.Scratch
	value   change.Value     // what the last Getter gave
	images  [][]change.Value // those to return to
	opened  []int            // where lengths are to stand
}

// Append runs the program over one event. With an error dst comes back as it was. A program of constants alone takes a nil event.
func (p *Program) Append(dst []byte, ev *change.Event) ([]byte, error) {
	start := len(dst)
	p.images, p.opened = p.images[:0], p.opened[:0]
	var image []change.Value
	var err error
	steps := p.steps
	for i := 0; i < len(steps); i++ {
		s := &steps[i]
		if len(s.literal) > 0 {
			dst = append(dst, s.literal...)
		}
		var v *change.Value
		switch {
		case s.kind == column && s.column < len(image):
			v = &image[s.column]
		case s.kind == computed:
			p.value = s.get(ev, &p.scratch)
			v = &p.value
		default:
			var skip bool
			if dst, image, skip, err = p.turn(dst, s, ev, image); err != nil {
				return dst[:start], refuse(ev, s, err)
			}
			if skip {
				i = s.skip
			}
			continue
		}
		if v.Kind <= change.KindAbsent {
			dst, err = p.empty(dst, s, v)
		} else {
			if s.marked {
				dst = append(dst, p.mark)
			}
			dst, err = s.write(dst, s, v)
		}
		if err != nil {
			return dst[:start], refuse(ev, s, err)
		}
	}
	return dst, nil
}

func noColumn(s *Step, image []change.Value) error {
	return fmt.Errorf("column %d of a row of %d", s.column, len(image))
}

// turn carries out a step that writes no value of its own. It gives the image that is in force then, and whether the steps that depend on a missing
// value are to be left out.
func (p *Program) turn(dst []byte, s *Step, ev *change.Event, image []change.Value) (out []byte, next []change.Value, skip bool, err error) {
	switch s.kind {
	case enter:
		next = s.image(ev)
		if s.check != nil {
			if err := s.check(ev); err != nil {
				return dst, image, false, err
			}
		}
		if next == nil {
			dst, err = p.missing(dst, s)
			return dst, image, true, err
		}
		p.images = append(p.images, image)
		return p.marked(dst, s), next, false, nil
	case leave:
		last := len(p.images) - 1
		image, p.images = p.images[last], p.images[:last]
	case column:
		return dst, image, false, noColumn(s, image)
	case divide:
		if s.column >= len(image) {
			return dst, image, false, noColumn(s, image)
		}
		if !image[s.column].HasContent() {
			dst, err = p.missing(dst, s)
			return dst, image, true, err
		}
		dst = p.marked(dst, s)
	case open:
		dst = append(dst, 0)
		p.opened = append(p.opened, len(dst))
	case shut:
		last := len(p.opened) - 1
		dst = CloseLength(dst, p.opened[last])
		p.opened = p.opened[:last]
	case literal, computed:
	}
	return dst, image, false, nil
}

func (p *Program) leaf(dst []byte, s *Step, v *change.Value) ([]byte, error) {
	if v.Kind <= change.KindAbsent {
		return p.empty(dst, s, v)
	}
	return s.write(p.marked(dst, s), s, v)
}

// empty writes a value without content.
func (p *Program) empty(dst []byte, s *Step, v *change.Value) ([]byte, error) {
	if v.Kind == change.KindNull || s.absent == nil {
		return p.missing(dst, s)
	}
	return s.write(p.marked(dst, s), s, s.absent)
}

func (p *Program) marked(dst []byte, s *Step) []byte {
	if s.marked {
		dst = append(dst, p.mark)
	}
	return dst
}

func (p *Program) missing(dst []byte, s *Step) ([]byte, error) {
	switch {
	case s.nullable:
		return append(dst, p.null...), nil
	case s.kind == enter:
		return dst, errors.New("the row image is missing")
	}
	return dst, errNull
}

// refuse names the field, the table and the position of a value that cannot be carried.
func refuse(ev *change.Event, s *Step, err error) error {
	where := "encode"
	if ev != nil && ev.Table != nil {
		where = fmt.Sprintf("encode %s at %q", ev.Table.ID, ev.Position)
	}
	return fault.New(fault.Poison, where, fmt.Errorf("%s: %w", path(s.path), err), "")
}

// CloseLength puts the length of dst[start:] in front of it, as an Avro long, where the byte dst[start-1] is kept free for it.
func CloseLength(dst []byte, start int) []byte {
	n := len(dst) - start
	if n < 64 {
		dst[start-1] = byte(n << 1)
		return dst
	}
	var length [binary.MaxVarintLen64]byte
	size := binary.PutVarint(length[:], int64(n))
	dst = append(dst, length[:size-1]...)
	copy(dst[start-1+size:], dst[start:start+n])
	copy(dst[start-1:], length[:size])
	return dst
}

package values

import (
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
)

// Apply gives the event as the rules want it told. The result lives until the next call; the event itself is not changed. An error has class Poison,
// and names the column but not the value.
func (p *Plan) Apply(ev *change.Event) (*change.Event, error) {
	p.event, p.text = *ev, p.text[:0]
	out := &p.event
	out.Table = p.table
	var err error
	if out.After, err = p.image(p.after, ev.After, newRow); err != nil {
		return nil, err
	}
	if out.Before, err = p.image(p.before, ev.Before, oldRow); err != nil {
		return nil, err
	}
	if ev.Counterpart != nil {
		return nil, errors.New("an event was split before its values were changed")
	}
	if ev.HasChanged {
		clear(p.mask)
		for i := range p.columns {
			if ev.Changed.Has(p.columns[i].from) {
				p.mask.Set(i)
			}
		}
		out.Changed = p.mask
	}
	return out, nil
}

func (p *Plan) image(dst, src []change.Value, which int) ([]change.Value, error) {
	clear(p.lengths[which])
	if src == nil {
		return nil, nil
	}
	for i := range p.columns {
		c := &p.columns[i]
		v, err := p.value(c, src[c.from], which)
		if err != nil {
			return nil, fault.New(fault.Poison, "", fmt.Errorf("column %q: %w", c.source.Name, err), "repair the row, or let the rule leave the column out")
		}
		dst[i] = v
	}
	return dst, nil
}

var errText = errors.New("the value has no text") // without the value: it is to be hidden

func (p *Plan) value(c *column, v change.Value, which int) (change.Value, error) {
	switch {
	case c.do == keep || v.Kind == change.KindAbsent:
		return v, nil
	case c.do == constant:
		return c.value, nil
	case c.do == nullify || v.Kind == change.KindNull:
		return change.Null, nil
	case c.do == truncate:
		cut, length := shorten(v, c.length)
		p.lengths[which][c.cut] = length
		return cut, nil
	}
	raw, err := p.textOf(c, v)
	if err != nil {
		return change.Null, errText
	}
	start := len(p.text)
	if c.do == hashed {
		p.mac.Reset()
		p.mac.Write(raw)
		p.sum = p.mac.Sum(p.sum[:0])
		p.text = change.AppendHex(p.text, p.sum, change.LowerHex)
	} else {
		p.text = append(p.text, raw...)
	}
	return change.TextValue(p.text[start:len(p.text):len(p.text)]), nil
}

// textOf gives the text of a value, as message keys have it; binary values are hashed as they are.
func (p *Plan) textOf(c *column, v change.Value) ([]byte, error) {
	if v.Kind == change.KindText || v.Kind == change.KindBytes && c.do == hashed {
		return v.Raw, nil
	}
	var err error
	p.scratch, err = change.AppendText(p.scratch[:0], v, c.source.Type)
	return p.scratch, err
}

// shorten cuts a value and gives the length that it had, 0 where it is short enough. Text is cut between characters.
func shorten(v change.Value, most int) (change.Value, int) {
	if v.Kind != change.KindText {
		length := len(v.Raw)
		if length <= most {
			return v, 0
		}
		v.Raw = v.Raw[:most:most]
		return v, length
	}
	if len(v.Raw) <= most {
		return v, 0 // a character has a byte at least
	}
	length := utf8.RuneCount(v.Raw)
	if length <= most {
		return v, 0
	}
	end := 0
	for range most {
		_, size := utf8.DecodeRune(v.Raw[end:])
		end += size
	}
	v.Raw = v.Raw[:end:end]
	return v, length
}

// Headers gives the record headers that a message of the event takes: one for each value that was cut, in the images that the event has. The event is
// the one that Apply gave last, or a part of it. They live until the next Apply.
func (p *Plan) Headers(ev *change.Event) []change.Header {
	p.headers, p.digits = p.headers[:0], p.digits[:0]
	if len(p.cuts) == 0 {
		return nil
	}
	for which, image := range [2][]change.Value{newRow: ev.After, oldRow: ev.Before} {
		for cut, length := range p.lengths[which] {
			if image == nil || length == 0 {
				continue
			}
			start := len(p.digits)
			p.digits = strconv.AppendInt(p.digits, int64(length), 10)
			p.headers = append(p.headers, change.Header{Name: p.columns[p.cuts[cut]].names[which], Value: p.digits[start:len(p.digits):len(p.digits)]})
		}
	}
	return p.headers
}

// Unchanged tells that an update changes nothing that is published: its changes are in columns that are left out, or that are the same in every message.
// Where the source does not say what has changed, both images must show it.
func (p *Plan) Unchanged(ev *change.Event) bool {
	if ev.Op != change.OpUpdate || ev.After == nil || !ev.HasChanged && ev.Before == nil || ev.HasChanged && ev.Changed.Empty() {
		return false
	}
	for i := range p.columns {
		c := &p.columns[i]
		if c.do == constant || c.do == nullify {
			continue
		}
		if ev.HasChanged && ev.Changed.Has(c.from) || ev.Before != nil && differs(ev.Before[c.from], ev.After[c.from], ev.HasChanged) {
			return false
		}
	}
	return true
}

// differs tells that two values differ, or may do. What was not captured has not changed where the source says what has.
func differs(before, after change.Value, told bool) bool {
	if before.Kind == change.KindAbsent || after.Kind == change.KindAbsent {
		return !told
	}
	return !before.Equal(after)
}

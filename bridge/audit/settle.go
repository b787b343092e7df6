package audit

import (
	"cmp"
	"context"
	"maps"
	"slices"
)

// changeAt is all that is known of one place.
type changeAt struct {
	expected []Item
	matched  []bool
	rest     []Item // found, and not equal to anything that was still expected
}

// settle reads both sides again, keeps what falls into the chosen buckets, and tells what is wrong there.
func (c *comparison) settle(ctx context.Context, expected, found Stream, chosen map[int]bool) error {
	at := make(map[string]*changeAt)
	of := func(place string) *changeAt {
		if at[place] == nil {
			at[place] = &changeAt{}
		}
		return at[place]
	}
	err := expected(ctx, func(i *Item) error {
		if chosen[c.bucketOf(i.Place)] {
			p := of(i.Place)
			p.expected, p.matched = append(p.expected, *i), append(p.matched, false)
		}
		return nil
	})
	if err == nil {
		err = found(ctx, func(i *Item) error {
			if chosen[c.bucketOf(i.Place)] {
				of(i.Place).take(i)
			}
			return nil
		})
	}
	if err != nil {
		return err
	}
	for i := range chosen {
		c.buckets[i] = bucket{}
	}
	return c.tell(ctx, at)
}

// take matches a found item with an equal one that is expected.
func (p *changeAt) take(i *Item) {
	for n := range p.expected {
		if !p.matched[n] && p.expected[n].Sum == i.Sum {
			p.matched[n] = true
			return
		}
	}
	p.rest = append(p.rest, *i)
}

// tell names what is left at each place, in order.
func (c *comparison) tell(ctx context.Context, at map[string]*changeAt) error {
	var missing []Difference
	for _, place := range slices.Sorted(maps.Keys(at)) {
		p := at[place]
		rest := p.rest[:0]
		for i := range p.rest {
			if !c.known(place, p, &p.rest[i]) {
				rest = append(rest, p.rest[i])
			}
		}
		p.rest = rest
		missing = append(missing, c.pair(place, p)...)
	}
	return c.tellMissing(ctx, missing)
}

// known accounts for a found message that is equal, or as equal as may be, to one that is expected.
func (c *comparison) known(place string, p *changeAt, found *Item) bool {
	for n := range p.expected {
		if p.matched[n] && p.expected[n].Sum == found.Sum {
			c.twice(place, found)
			return true
		}
	}
	for pass := range 2 { // those that are still expected first
		for n := range p.expected {
			if p.matched[n] != (pass == 1) || !c.alike(&p.expected[n], found) {
				continue
			}
			if pass == 1 && !p.expected[n].Blank {
				c.twice(place, found)
			} else {
				p.matched[n] = true
				c.result.Alike++
			}
			return true
		}
	}
	return false
}

func (c *comparison) alike(expected, found *Item) bool {
	if expected.Blank {
		return true
	}
	l := c.Lenient
	l.Schema = l.Schema || found.Replayed
	l.Moment = l.Moment || !expected.Timed
	if l == (Lenience{}) {
		return false
	}
	same, _ := c.Shape.alike(expected.Doc, found.Doc, l)
	return same
}

func (c *comparison) twice(place string, found *Item) {
	switch {
	case found.Edge:
	case found.Replayed:
		c.result.Repeated++
	case c.Twice != nil && c.Twice(place):
		c.result.Repeated++
	default:
		c.name(Difference{Kind: Doubled, Place: place, Member: found.what(), At: found.At})
	}
}

// pair tells what is left at a place: a wrong message stands for one that is missing, as long as there are both.
func (c *comparison) pair(place string, p *changeAt) (missing []Difference) {
	for n := range p.expected {
		if p.matched[n] {
			continue
		}
		if len(p.rest) == 0 {
			missing = append(missing, Difference{Kind: Missing, Place: place, Member: p.expected[n].what()})
			continue
		}
		_, where := c.Shape.alike(p.expected[n].Doc, p.rest[0].Doc, Lenience{})
		c.name(Difference{Kind: Different, Place: place, Member: where, At: p.rest[0].At})
		p.rest = p.rest[1:]
	}
	for i := range p.rest {
		d := Difference{Kind: Unknown, Place: place, Member: p.rest[i].what(), At: p.rest[i].At}
		if len(p.expected) > 0 { // beside the right one
			d.Kind = Different
			_, d.Member = c.Shape.alike(p.expected[0].Doc, p.rest[i].Doc, Lenience{})
		}
		switch {
		case p.rest[i].Edge:
		case p.rest[i].Replayed && d.Kind == Unknown: // of a row that cannot become a message as it is now
			c.result.Alike++
		default:
			c.name(d)
		}
	}
	return missing
}

// what names the tombstone among the messages of a change.
func (i *Item) what() string {
	if i.Tombstone {
		return tombstone
	}
	return ""
}

func (c *comparison) tellMissing(ctx context.Context, missing []Difference) error {
	excused := map[string]string{}
	if c.Excuse != nil && len(missing) > 0 {
		places := make([]string, len(missing))
		for i := range missing {
			places[i] = missing[i].Place
		}
		var err error
		if excused, err = c.Excuse(ctx, slices.Compact(places)); err != nil {
			return err
		}
	}
	for _, d := range missing {
		if reason := excused[d.Place]; reason != "" {
			c.result.Excused[reason]++
			continue
		}
		c.name(d)
	}
	named := c.result.Differences
	slices.SortStableFunc(named, func(a, b Difference) int { return cmp.Compare(a.Place, b.Place) })
	c.result.Differences = named[:min(len(named), c.Max)]
	return nil
}

// name counts a difference, and keeps it; there are no more of them than there was room for their messages.
func (c *comparison) name(d Difference) {
	c.result.Counts[d.Kind]++
	c.result.Differences = append(c.result.Differences, d)
}

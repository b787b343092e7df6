package sqlservercdc

import (
	"context"
	"strings"

	"ctbridge/bridge/change"
	"ctbridge/source"
)

// add appends the event of a row, unless the filter leaves it out. It has been paired by then: its before-image is nobody else's.
func (r *reader) add(page *source.Page, s *span, row, before []change.Value) {
	if s.filtered {
		page.Passed = keyOf(row).event()
		if row[s.marker()-1].Num == 0 {
			page.Skip(source.SkippedFilter, 1)
			return
		}
	}
	r.addEvent(page, s, row, before)
}

// addEvent appends the event of a row; before is the data of an update's before-image, nil where there is none.
func (r *reader) addEvent(page *source.Page, s *span, row, before []change.Value) {
	k := keyOf(row)
	ev := change.Event{Table: r.table, Position: k.event(), StreamPosition: streamPosition(&page.Arena, k)}
	changed := r.mask(page, s, row[slotMask])
	ev.Changed, ev.HasChanged = changed, changed != nil
	image := r.image(&page.Arena, s, row[slotData:])
	switch k.op {
	case opDelete:
		ev.Op, ev.Before = change.OpDelete, image
	case opInsert:
		ev.Op, ev.After = change.OpInsert, image
	default:
		ev.Op, ev.After = change.OpUpdate, image
		if before != nil {
			ev.Before = r.image(&page.Arena, s, before)
		}
	}
	r.markAbsent(&ev)
	page.Events = append(page.Events, ev)
}

// streamPosition is "commit LSN:sequence value" in hex digits.
func streamPosition(arena *change.Arena, k key) []byte {
	out := change.AppendHex(arena.Make(2*lsnDigits + 1)[:0], k.lsn, change.LowerHex)
	return change.AppendHex(append(out, ':'), k.seq, change.LowerHex)
}

// image gives the columns of the table from the data of a row.
func (r *reader) image(arena *change.Arena, s *span, data []change.Value) []change.Value {
	out := arena.Values(len(s.places))
	for i, place := range s.places {
		out[i] = change.Absent
		if place >= 0 {
			out[i] = data[place]
		}
	}
	return out
}

// mask turns an update mask, whose last byte holds the lowest ordinals (case 48), into a set of columns of the table; nil where there is none.
func (r *reader) mask(page *source.Page, s *span, update change.Value) change.Mask {
	if !update.HasContent() || len(update.Raw) == 0 {
		return nil
	}
	out := change.Mask(page.Arena.Make(change.MaskBytes(len(r.table.Columns))))
	clear(out)
	for i, place := range s.places {
		if place < 0 {
			continue
		}
		bit := s.bits[place]
		if at := len(update.Raw) - 1 - bit/8; at >= 0 && update.Raw[at]&(1<<(bit%8)) != 0 {
			out.Set(i)
		}
	}
	return out
}

// markAbsent turns NULLs that stand for "not captured" into absent values: a large value that the update has not touched (case 47); text, ntext and
// image in a delete or before-image (case 44); NULL in a NOT NULL column, which is counted.
func (r *reader) markAbsent(ev *change.Event) {
	odd := 0
	mark := func(image []change.Value, before bool) {
		for i := range image {
			switch {
			case image[i].Kind != change.KindNull:
			case before && r.longText[i], r.large[i] && ev.Op == change.OpUpdate && ev.HasChanged && !ev.Changed.Has(i):
				image[i] = change.Absent
			case r.notNull[i]:
				image[i] = change.Absent
				odd++
			}
		}
	}
	mark(ev.After, false)
	mark(ev.Before, true)
	if odd > 0 {
		r.layout.options.Observer.NullInNotNull(r.table.ID, odd)
		if r.layout.said.anew("null "+r.table.ID.String(), "") {
			r.layout.log.Warn("NULL in a column that is NOT NULL: told as not captured", "table", r.table.ID.String(), "position", string(ev.Position))
		}
	}
}

// commit is what lsn_time_mapping knows of a transaction.
type commit struct {
	at change.Value
	id []byte
}

// addCommits gives the events from index first on their transaction and its time: one look at the mapping for all of them.
func (r *reader) addCommits(ctx context.Context, page *source.Page, s *span, first int) error {
	events := page.Events[first:]
	if len(events) == 0 {
		return nil
	}
	from, until, err := bounds(events[0].Position, events[len(events)-1].Position)
	if err != nil {
		return err
	}
	commits := make(map[string]commit)
	err = source.EachRow(ctx, s.q.commits, 3, func(row []change.Value) error {
		c := commit{id: transactionID(row[2].Raw)}
		if row[1].HasContent() {
			c.at = utc(r.layout.options.Zone, row[1])
		}
		commits[lsnText(row[0].Raw)] = c
		return nil
	}, from.lsn, until.lsn)
	if err != nil {
		return err
	}
	for i := range events {
		ev := &events[i]
		c, known := commits[lsnOf(ev.Position)]
		if !known || c.id == nil {
			// The LSN names the transaction as well, only not as the server does.
			c.id = []byte(strings.Repeat("0", transactionDigits-lsnDigits) + strings.ToUpper(lsnOf(ev.Position)))
			commits[lsnOf(ev.Position)] = c
		}
		ev.Timestamp, ev.TransactionID = c.at, c.id
	}
	return nil
}

const transactionDigits = 32

// transactionID writes a transaction's number as 32 hex digits; nil where the mapping has none.
func transactionID(id []byte) []byte {
	if len(id) == 0 || len(id) > transactionDigits/2 {
		return nil
	}
	out := make([]byte, transactionDigits-2*len(id), transactionDigits)
	for i := range out {
		out[i] = '0'
	}
	return change.AppendHex(out, id, change.UpperHex)
}

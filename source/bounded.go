package source

import (
	"context"

	"ctbridge/bridge/change"
)

// Bounded is a layout that itself knows up to where its change tables are complete, and from where on they are kept. Policy and settling time of the
// horizon do not apply to it.
type Bounded interface {
	// Horizon gives the position up to which every change table is complete. It is asked before each detection: what a detection finds below it has
	// all been there.
	Horizon(ctx context.Context) (change.Position, error)
	// Guard hears after each detection where the tables stand. It sets the Reset of those whose rows may have been removed unread, or whose source has
	// gone back; the poller then looks for no resets of its own. What it returns concerns the source as a whole: nothing new may come, though it answers.
	Guard(ctx context.Context, tables []Progress, newest []Newest, upto change.Position) (trouble error, err error)
	// Forget tells that the Reset of a table was accepted, or its position set anew.
	Forget(id change.TableID)
}

// guarded tells that the layout looks for resets itself.
func (p *Poller) guarded() bool {
	_, ok := p.layout.(Bounded)
	return ok
}

// bound asks a layout for its own horizon; bounded is false where it has none.
func (p *Poller) bound(ctx context.Context) (upto change.Position, bounded bool, err error) {
	b, ok := p.layout.(Bounded)
	if !ok {
		return "", false, nil
	}
	upto, err = b.Horizon(ctx)
	return upto, true, err
}

// limit sets the window's horizon: the layout's own, read before the detection, or the policy's.
func (p *Poller) limit(ctx context.Context, w *Window, tables []Progress, bound change.Position, bounded bool) (err error) {
	if !bounded {
		w.Upto, err = p.horizon.advance(ctx, highest(w.Newest))
		return err
	}
	w.Upto = bound
	w.Trouble, err = p.layout.(Bounded).Guard(ctx, tables, w.Newest, bound)
	return err
}

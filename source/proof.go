package source

import (
	"context"
	"slices"
	"sync"

	"ctbridge/bridge/fault"
)

// proofs asks the catalog whether pages were read under the structures that their tables were captured with: one question for all pages that wait by
// then. A question about one table costs the server about as much as one about eight, and often more than the page itself where a thousand tables share
// the memory and pages are small. A page is read on behind it meanwhile: only who uses its events waits for its proof.
type proofs struct {
	mu      sync.Mutex
	waiting []*proof
	asking  bool
}

// proof is the answer about one page.
type proof struct {
	captured *Captured
	done     chan struct{} // closed with the answer
	err      error         // *Restructured where the structure is another one, or why it could not be told; nil = proven
}

// prove has a page proven that was read before the call.
func (m *Merge) prove(t *Captured) *proof {
	p := &proof{captured: t, done: make(chan struct{})}
	m.proofs.mu.Lock()
	defer m.proofs.mu.Unlock()
	m.proofs.waiting = append(m.proofs.waiting, p)
	if !m.proofs.asking {
		m.proofs.asking = true
		m.work.Go(m.answerProofs)
	}
	return p
}

// answerProofs asks until no page waits. It takes turns with those who read pages: behind a thousand of them it asks about a thousand.
func (m *Merge) answerProofs() {
	for m.takeSlot() {
		waiting := m.proofs.take()
		m.answer(waiting)
		m.leaveSlot()
		if len(waiting) == 0 {
			return
		}
	}
}

// take gives the pages that wait. Without any it signs the caller off.
func (p *proofs) take() []*proof {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.waiting
	p.waiting, p.asking = nil, len(out) > 0
	return out
}

func (m *Merge) answer(waiting []*proof) {
	if len(waiting) == 0 {
		return
	}
	answers := m.askCatalog(tablesOf(waiting))
	for _, p := range waiting {
		p.err = answers[p.captured]
		close(p.done)
	}
}

// tablesOf lists each table once, however many of its pages wait.
func tablesOf(waiting []*proof) []*Captured {
	var out []*Captured
	seen := make(map[*Captured]bool, len(waiting))
	for _, p := range waiting {
		if !seen[p.captured] {
			seen[p.captured] = true
			out = append(out, p.captured)
		}
	}
	return out
}

// askCatalog gives an error for each table whose pages are not proven. Where one table spoils the question for all, each is asked about alone.
func (m *Merge) askCatalog(tables []*Captured) map[*Captured]error {
	out := make(map[*Captured]error)
	changed, err := m.poller.layout.Changed(m.ctx, tables)
	if err != nil && fault.ClassOf(err) == fault.Table && len(tables) > 1 {
		for one := range slices.Chunk(tables, 1) {
			out[one[0]] = m.askCatalog(one)[one[0]]
		}
		return out
	}
	for i, t := range tables {
		switch {
		case err != nil:
			out[t] = err
		case changed[i]:
			out[t] = &Restructured{t.Changes}
		}
	}
	return out
}

// await waits for the answer; nil is proven.
func (p *proof) await(ctx context.Context) error {
	if !arrives(ctx, p.done) {
		return ctx.Err()
	}
	return p.err
}

// there tells that the answer has come.
func (p *proof) there() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// takeSlot waits for a connection to be free, and reports whether it came to that before the merge ended.
func (m *Merge) takeSlot() bool { return deliver(m.ctx, m.poller.slots, struct{}{}) }

func (m *Merge) leaveSlot() { <-m.poller.slots }

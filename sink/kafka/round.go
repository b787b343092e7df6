package kafka

import "ctbridge/bridge/change"

// divide begins the next round: what is written from now on waits here until join, so that the round before can be flushed and ended meanwhile. Nothing of
// two transactions is ever on its way together (I5).
func (w *writer) divide() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.divided = true
}

// addLater appends a record of the next round. It gets its sequence number when the round has begun. w.mu is held.
func (w *writer) addLater(l *lane, r *change.Record, size int, counted int64) {
	n := len(l.later)
	if n == 0 {
		w.later = append(w.later, l)
	}
	if n == 0 || l.later[n-1].size+size > w.conf.MaxMessageBytes || l.later[n-1].size >= sendAt {
		if n > 0 {
			w.packAhead(l.later[n-1])
			l.many = true
		}
		l.later = append(l.later, w.newBatch(l))
	}
	l.later[len(l.later)-1].add(r, size, counted)
	w.behind++
}

// join lets the records of the next round go. Nothing of the one before may be on its way.
func (w *writer) join() {
	w.mu.Lock()
	for _, l := range w.later {
		for _, b := range l.later {
			if l.open != nil {
				w.seal(l)
			}
			l.open = b
		}
		l.later = l.later[:0]
		switch {
		case l.open.size >= sendAt:
			w.close(l)
		case len(l.ready) > 0:
			w.queue(l)
		}
		w.mark(l)
	}
	w.count, w.behind, w.divided, w.later = w.count+w.behind, 0, false, w.later[:0]
	w.mu.Unlock()
	w.wake()
}

package source_test

import (
	"errors"
	"fmt"
	"testing"

	"ctbridge/bridge/change"
	"ctbridge/source"
)

// Whoever waits for a page is told so before, and can end the merge: that is no failure of the table.
func TestMergeTellsThatItWaits(t *testing.T) {
	t.Parallel()
	m := newMemory("a")
	m.show("a", 1, 2, 3, 4, 5)
	r := newReader(m, newClock(), source.Options{PageRows: 2, Parallel: 2}) // one reads ahead and is held up, one proves
	m.hold = make(chan struct{})
	events := r.poller.Read(t.Context(), r.poll(t))
	defer events.Close()
	waited, failure := 0, errors.New("something else went wrong")
	events.Waits = func() error {
		waited++
		if waited == 3 {
			return &change.TableError{Table: change.TableID{Name: "a"}, Err: failure}
		}
		m.hold <- struct{}{} // only now the page can come
		return nil
	}
	var got []string
	for {
		ev, err := events.Next()
		if err != nil {
			if fmt.Sprint(got) != "[1 2 3 4]" || !errors.Is(err, failure) || len(events.Failures()) > 0 || waited != 3 {
				t.Errorf("events %v, waited %d times, error %v", got, waited, err)
			}
			close(m.hold)
			return
		}
		if ev == nil {
			t.Fatalf("the merge ended, with %v", got)
		}
		got = append(got, fmt.Sprint(int(ev.Position[7]-'0')))
	}
}

package sqlservercdc_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/source"
	"ctbridge/source/sqlservercdc"
	"ctbridge/test/cdcwriter"
)

// clock is a hand-moved clock.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Move(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(by)
}

// poll is one poll of tables that have all been read up to a position.
func (b *bench) poll(l *sqlservercdc.Layout, after change.Position) *source.Window {
	b.Helper()
	p := source.NewPoller(b.engine, l, source.Options{PageRows: 10})
	var progress []source.Progress
	for _, t := range b.discover(l).Tables {
		progress = append(progress, source.Progress{Captured: t, After: after})
	}
	w, err := p.Poll(b.Context(), progress)
	if err != nil {
		b.Fatal(err)
	}
	return w
}

// at is a position inside an LSN.
func at(lsn int) change.Position {
	return change.Position(lsnText(lsn) + ":00000001:00000000000000010000:2")
}

func lsnText(lsn int) string {
	const digits = "0123456789abcdef"
	out := make([]byte, 0, 20)
	for _, c := range cdcwriter.LSN(lsn) {
		out = append(out, digits[c>>4], digits[c&15])
	}
	return string(out)
}

func TestCase23_QuietTableIsNoGap(t *testing.T) {
	everywhere(t, func(b *bench) {
		c := b.capture(cdcwriter.Parcel("parcel"))
		b.commit(0x10, c, row(1, 1, 2, 1, "a", nil))
		b.commit(0x95, c)
		l := b.layout(options())
		if w := b.poll(l, at(0x10)); w.Newest[0].Reset != nil || w.Pending {
			b.Fatalf("quiet: %+v", w.Newest)
		}
		saved := l.Memory()
		b.CleanUp(b, cdcwriter.LSN(0x90), "parcel")
		if w := b.poll(l, at(0x10)); w.Newest[0].Reset != nil {
			b.Fatalf("after the clean-up: %v", w.Newest[0].Reset)
		}
		restarted := b.layout(options())
		if err := restarted.Recall(saved); err != nil {
			b.Fatal(err)
		}
		if w := b.poll(restarted, at(0x10)); w.Newest[0].Reset != nil {
			b.Fatalf("after a restart: %v", w.Newest[0].Reset)
		}
		// A position that was moved back has nothing of this: rows between may be gone.
		if w := b.poll(restarted, at(0x08)); w.Newest[0].Reset == nil {
			b.Error("a position moved back behind removed rows is no gap")
		}
	})
}

func TestCase24_StoppedCaptureJob(t *testing.T) {
	everywhere(t, func(b *bench) {
		c := b.capture(cdcwriter.Parcel("parcel"))
		b.commit(0x10, c, row(1, 1, 2, 1, "a", nil))
		clock := &clock{now: time.Unix(1_900_000_000, 0)}
		log, said := logger()
		l := b.logged(sqlservercdc.Options{CaptureTimeout: 10 * time.Minute, Now: clock.Now}, log)
		for _, step := range []struct {
			after   time.Duration
			trouble bool
			warned  int
		}{{0, false, 0}, {4 * time.Minute, false, 0}, {2 * time.Minute, false, 1}, {4 * time.Minute, true, 1}, {time.Minute, true, 1}} {
			clock.Move(step.after)
			w := b.poll(l, at(0x10))
			if (w.Trouble != nil) != step.trouble || said.count("stand still") != step.warned || w.Newest[0].Problem != nil {
				b.Fatalf("after %s more: trouble %v, said %q", step.after, w.Trouble, said.text())
			}
		}
		if b.observed.age != 11*time.Minute {
			b.Errorf("age %s, want 11m", b.observed.age)
		}
		b.commit(0x11, c)
		if w := b.poll(l, at(0x10)); w.Trouble != nil || b.observed.age != 0 {
			b.Errorf("the job runs again: trouble %v, age %s", w.Trouble, b.observed.age)
		}
	})
}

func TestCase25_CleanUpOvertakes(t *testing.T) {
	everywhere(t, func(b *bench) {
		c := b.capture(cdcwriter.Parcel("parcel"))
		for lsn := 0x10; lsn <= 0x50; lsn += 5 {
			b.commit(lsn, c, row(1, 1, 2, lsn, "a", nil))
		}
		b.CleanUp(b, cdcwriter.LSN(0x40), "parcel")
		l := b.layout(options())
		for range 2 {
			w := b.poll(l, at(0x10))
			if r := w.Newest[0].Reset; r == nil || r.Kind != source.ResetPurged || r.From != at(0x10) || r.To[:20] != change.Position(lsnText(0x40)) || !w.Empty() {
				b.Fatalf("reset %+v", r)
			}
		}
		l.Forget(b.ID("parcel")) // accepted
		saved := l.Memory()
		if w := b.poll(l, at(0x10)); w.Newest[0].Reset != nil || w.Empty() {
			b.Fatalf("accepted: %+v", w.Newest[0].Reset)
		}
		l = b.layout(options())
		if err := l.Recall(saved); err != nil {
			b.Fatal(err)
		}
		if w := b.poll(l, at(0x10)); w.Newest[0].Reset != nil || w.Empty() {
			b.Fatalf("accepted before a restart: %+v", w.Newest[0].Reset)
		}
		if w := b.poll(l, ""); w.Newest[0].Reset != nil {
			b.Errorf("a table that was never read has no gap: %+v", w.Newest[0].Reset)
		}
	})
}

// A clean-up between the look at the positions and the reading of a page makes the page void.
func TestCase25_CleanUpWhileReading(t *testing.T) {
	everywhere(t, func(b *bench) {
		c := b.capture(cdcwriter.Parcel("parcel"))
		b.commit(0x10, c, row(1, 1, 2, 1, "a", nil))
		b.commit(0x50, c, row(1, 1, 2, 2, "a", nil))
		l := b.layout(options())
		captured := b.only(l)
		b.CleanUp(b, cdcwriter.LSN(0x40), "parcel")
		p := source.NewPoller(b.engine, l, source.Options{PageRows: 10})
		w, err := p.Poll(b.Context(), []source.Progress{{Captured: captured, After: at(0x08)}})
		if err != nil || w.Empty() {
			b.Fatalf("poll: %v", err)
		}
		m := p.Read(b.Context(), w)
		defer m.Close()
		ev, err := m.Next()
		var changed *source.Restructured
		failures := m.Failures()
		if ev != nil || err != nil || len(failures) != 1 || !errors.As(failures[0], &changed) {
			b.Fatalf("event %v, error %v, failures %v", ev, err, failures)
		}
	})
}

func TestCase28_DatabaseGoneBack(t *testing.T) {
	everywhere(t, func(b *bench) {
		c := b.capture(cdcwriter.Parcel("parcel"))
		b.commit(0x50, c, row(1, 1, 2, 1, "a", nil))
		if w := b.poll(b.layout(options()), at(0x99)); !rewound(w) || lsn(w.Newest[0].Reset.From) != lsnText(0x50) {
			b.Fatalf("problem %v", w.Newest[0].Reset)
		}
		// A quiet table shows it as well: it was seen to be read further.
		l := b.layout(options())
		b.commit(0x90, c)
		if w := b.poll(l, at(0x50)); w.Newest[0].Reset != nil {
			b.Fatalf("%+v", w.Newest[0].Reset)
		}
		b.Exec(b, "DELETE FROM ["+b.Schema+"].[lsn_time_mapping] WHERE [start_lsn] > "+cdcwriter.Literal(cdcwriter.LSN(0x50)))
		if w := b.poll(l, at(0x50)); !rewound(w) || lsn(w.Newest[0].Reset.To) != lsnText(0x90) {
			b.Fatalf("problem %v", w.Newest[0].Reset)
		}
	})
}

// A database that has gone back grows on: when it has passed what was read, its log may have taken another course.
func TestCase28_AnotherCourse(t *testing.T) {
	everywhere(t, func(b *bench) {
		c := b.capture(cdcwriter.Parcel("parcel"))
		for _, lsn := range []int{0x10, 0x20, 0x30} {
			b.commit(lsn, c, row(1, 1, 2, lsn, "a", nil))
		}
		if w := b.poll(b.layout(options()), at(0x20)); w.Newest[0].Reset != nil {
			b.Fatalf("the same course: %v", w.Newest[0].Reset)
		}
		if w := b.poll(b.layout(options()), at(0x25)); !rewound(w) {
			b.Fatalf("another course: %v", w.Newest[0].Reset)
		}
		// One that lags behind and catches up is the same database.
		l := b.layout(options())
		if w := b.poll(l, at(0x40)); !rewound(w) {
			b.Fatalf("behind: %v", w.Newest[0].Reset)
		}
		b.commit(0x40, c)
		if w := b.poll(l, at(0x40)); w.Newest[0].Reset != nil {
			b.Fatalf("caught up: %v", w.Newest[0].Reset)
		}
	})
}

// A table that stands where it began, after a load or by start_at, shows a database that has gone back as well; a capture instance that the job has not come
// to yet is none.
func TestCase28_GoneBackBehindABeginning(t *testing.T) {
	everywhere(t, func(b *bench) {
		c := b.capture(cdcwriter.Parcel("parcel"))
		b.commit(0x50, c, row(1, 1, 2, 1, "a", nil))
		poll := func(l *sqlservercdc.Layout, after change.Position) *source.Reset {
			w, err := source.NewPoller(b.engine, l, source.Options{PageRows: 10}).Poll(b.Context(), []source.Progress{{Captured: b.only(l), After: after, Chosen: true}})
			if err != nil {
				b.Fatal(err)
			}
			return w.Newest[0].Reset
		}
		l := b.layout(options())
		for _, begin := range []int{0x50, 0x4f, 1} { // a commit, between two, the capture instance's beginning
			if r := poll(b.layout(options()), sqlservercdc.Behind(lsnText(begin))); r != nil {
				b.Errorf("begun at %#x: %+v", begin, r)
			}
		}
		begin := sqlservercdc.Behind(lsnText(0x50))
		b.commit(0x60, c)
		if r := poll(l, begin); r != nil {
			b.Errorf("quiet since it began: %+v", r)
		}
		b.Exec(b, "DELETE FROM ["+b.Schema+"].[lsn_time_mapping] WHERE [start_lsn] > "+cdcwriter.Literal(cdcwriter.LSN(0x40)))
		b.commit(0x48, c)
		for name, l := range map[string]*sqlservercdc.Layout{"watched": l, "just started": b.layout(options())} {
			if r := poll(l, begin); r == nil || r.Kind != source.ResetRewound {
				b.Errorf("gone back, %s: %+v", name, r)
			}
		}
		// It grows past what was read, on another course.
		b.commit(0x70, c)
		if r := poll(l, begin); r == nil || r.Kind != source.ResetRewound {
			b.Errorf("another course: %+v", r)
		}
		ahead := cdcwriter.Parcel("ahead")
		b.Create(b, ahead)
		b.Capture(b, ahead, "ahead", cdcwriter.LSN(0x90))
		o := options()
		o.Tables = only{b.ID("ahead")}
		if r := poll(b.layout(o), sqlservercdc.Behind(lsnText(0x90))); r != nil {
			b.Errorf("a new instance: %+v", r)
		}
	})
}

func rewound(w *source.Window) bool {
	return w.Newest[0].Reset != nil && w.Newest[0].Reset.Kind == source.ResetRewound
}

func lsn(p change.Position) string { return string(p[:20]) }

// Every poll sees what has been committed before it.
func TestCase29_FreshTransactionPerPoll(t *testing.T) {
	everywhere(t, func(b *bench) {
		c := b.capture(cdcwriter.Parcel("parcel"))
		l := b.layout(options())
		for lsn := 1; lsn <= 3; lsn++ {
			b.commit(lsn, c, row(1, 1, 2, lsn, "a", nil))
			if w := b.poll(l, ""); w.Newest[0].Position != at(lsn) || w.Upto <= at(lsn) {
				b.Fatalf("newest %s, horizon %s", w.Newest[0].Position, w.Upto)
			}
		}
	})
}

// Nothing above the newest LSN is read, even when its rows can be seen already (case 14).
func TestCase14_NothingAboveTheHorizon(t *testing.T) {
	everywhere(t, func(b *bench) {
		c := b.capture(cdcwriter.Parcel("parcel"))
		b.commit(0x10, c, row(1, 1, 2, 1, "a", nil))
		b.Exec(b, b.InsertText(c, cdcwriter.LSN(0x11), row(1, 1, 2, 2, "a", nil)))
		l := b.layout(options())
		w := b.poll(l, at(0x10))
		if !w.Pending || w.Upto >= at(0x11) {
			b.Fatalf("horizon %s, pending %v", w.Upto, w.Pending)
		}
		if events, failed := b.events(l, b.only(l), at(0x10), w.Upto, 10); len(events) != 0 || failed != nil {
			b.Fatalf("%d events above the horizon, %v", len(events), failed)
		}
	})
}

func TestRetentionMargin(t *testing.T) {
	everywhere(t, func(b *bench) {
		c := b.capture(cdcwriter.Parcel("parcel"))
		for lsn := 0x10; lsn <= 0x40; lsn += 0x10 {
			b.commit(lsn, c, row(1, 1, 2, lsn, "a", nil))
		}
		b.CleanUp(b, cdcwriter.LSN(0x20), "parcel")
		b.poll(b.layout(options()), at(0x30))
		if b.observed.margin != 0x10*time.Second {
			b.Errorf("margin %s, want 16s", b.observed.margin)
		}
	})
}

func TestMemoryOfOtherVersionsIsRefused(t *testing.T) {
	t.Parallel()
	for _, saved := range []string{`{"v":2,"read":{}}`, `{"v":1,"read":{"00":["x"]}}`, "lsb"} {
		if err := (&sqlservercdc.Layout{}).Recall([]byte(saved)); err == nil {
			t.Errorf("%s passes", saved)
		}
	}
}

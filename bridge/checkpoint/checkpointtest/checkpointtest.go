// Package checkpointtest is the conformance suite of checkpoint.Store: every implementation passes it.
package checkpointtest

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/fault"
)

// Place is where a store keeps its entries. Open gives a store on it, as a fresh process would; it may be called again after the store before
// was closed, and, where Shared is set, while it is open.
type Place struct {
	Open func(t *testing.T) checkpoint.Store
	// Shared says that two instances can reach the place at once, so that one of them must be kept out.
	Shared bool
}

// Run runs the suite; each test gets a new, empty place.
func Run(t *testing.T, place func(t *testing.T) Place) {
	for name, test := range map[string]func(*testing.T, Place){
		"EmptyAtFirst":       testEmpty,
		"Values":             testValues,
		"Deletes":            testDeletes,
		"SaveWithoutLoad":    testSaveWithoutLoad,
		"LoadIsACopy":        testCopy,
		"ManyEntries":        testMany,
		"CancelledSave":      testCancelled,
		"OneInstanceAtATime": testOneInstance,
		"RandomHistory":      testHistory,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, place(t))
		})
	}
}

func open(t *testing.T, p Place) checkpoint.Store {
	t.Helper()
	s := p.Open(t)
	t.Cleanup(func() { s.Close() })
	return s
}

func load(t *testing.T, s checkpoint.Store) map[string][]byte {
	t.Helper()
	entries, err := s.Load(t.Context())
	if err != nil {
		t.Fatalf("load: %v", err)
	}
	return entries
}

func save(t *testing.T, s checkpoint.Store, entries ...checkpoint.Entry) {
	t.Helper()
	if err := s.Save(t.Context(), entries); err != nil {
		t.Fatalf("save: %v", err)
	}
}

// reopen closes a store and opens the place again.
func reopen(t *testing.T, p Place, s checkpoint.Store) checkpoint.Store {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
	return open(t, p)
}

func expect(t *testing.T, got, want map[string][]byte) {
	t.Helper()
	for key, value := range want {
		found, ok := got[key]
		if !ok || found == nil || !bytes.Equal(found, value) {
			t.Errorf("entry %q: got %.60q (there: %v), want %.60q", key, found, ok, value)
		}
	}
	for key := range got {
		if _, ok := want[key]; !ok {
			t.Errorf("entry %q should not be there", key)
		}
	}
}

func testEmpty(t *testing.T, p Place) {
	s := open(t, p)
	expect(t, load(t, s), nil)
	s = reopen(t, p, s)
	expect(t, load(t, s), nil)
}

func testValues(t *testing.T, p Place) {
	want := map[string][]byte{
		"task":               []byte(`{"v":1}`),
		"empty":              {},
		"binary":             {0, 1, 0xff, 0xfe, '\n', '\''},
		"table/dbo/order ct": []byte("spaces"),
		"table/dbo/Order Ct": []byte("capitals"),
		"table/dbo/größe/ю%": []byte("ж <>&\u2028 text"),
		"trailing ":          []byte("with a blank"),
		"trailing":           []byte("without"),
		strings.Repeat("window/%D0%B6/", 120) + "1": bytes.Repeat([]byte("x"), 200_000),
	}
	s := open(t, p)
	load(t, s)
	var entries []checkpoint.Entry
	for key, value := range want {
		entries = append(entries, checkpoint.Entry{Key: key, Value: value})
	}
	save(t, s, entries...)
	expect(t, load(t, s), want)
	expect(t, load(t, reopen(t, p, s)), want)
}

func testDeletes(t *testing.T, p Place) {
	s := open(t, p)
	load(t, s)
	save(t, s, checkpoint.Entry{Key: "a", Value: []byte("1")}, checkpoint.Entry{Key: "b", Value: []byte("1")}, checkpoint.Entry{Key: "c", Value: []byte("1")})
	save(t, s, checkpoint.Entry{Key: "a"}, checkpoint.Entry{Key: "b", Value: []byte("2")}, checkpoint.Entry{Key: "never there"})
	expect(t, load(t, reopen(t, p, s)), map[string][]byte{"b": []byte("2"), "c": []byte("1")})
}

func testSaveWithoutLoad(t *testing.T, p Place) {
	s := open(t, p)
	save(t, s, checkpoint.Entry{Key: "a", Value: []byte("1")})
	s = reopen(t, p, s)
	save(t, s, checkpoint.Entry{Key: "b", Value: []byte("2")})
	save(t, s)
	expect(t, load(t, reopen(t, p, s)), map[string][]byte{"a": []byte("1"), "b": []byte("2")})
}

func testCopy(t *testing.T, p Place) {
	s := open(t, p)
	value := []byte("1")
	save(t, s, checkpoint.Entry{Key: "a", Value: value})
	value[0] = 'x'
	got := load(t, s)
	got["z"] = []byte("z")
	delete(got, "a")
	save(t, s, checkpoint.Entry{Key: "b", Value: []byte("2")})
	expect(t, load(t, s), map[string][]byte{"a": []byte("1"), "b": []byte("2")})
}

func testMany(t *testing.T, p Place) {
	s := open(t, p)
	load(t, s)
	want := map[string][]byte{}
	var entries []checkpoint.Entry
	for i := range 1000 {
		key := fmt.Sprintf("table/dbo/t%04d", i)
		want[key] = []byte(fmt.Sprintf(`{"position":"%035d"}`, i))
		entries = append(entries, checkpoint.Entry{Key: key, Value: want[key]})
	}
	save(t, s, entries...)
	expect(t, load(t, reopen(t, p, s)), want)
}

// A Save that a cancelled context interrupts has written all or nothing (I5), and the store works on.
func testCancelled(t *testing.T, p Place) {
	s := open(t, p)
	load(t, s)
	save(t, s, checkpoint.Entry{Key: "a", Value: []byte("old")}, checkpoint.Entry{Key: "b", Value: []byte("old")})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := s.Save(ctx, []checkpoint.Entry{{Key: "a", Value: []byte("new")}, {Key: "b", Value: []byte("new")}})
	got := load(t, s)
	if !bytes.Equal(got["a"], got["b"]) || err == nil && string(got["a"]) != "new" {
		t.Errorf("save said %v and left a=%s b=%s", err, got["a"], got["b"])
	}
	save(t, s, checkpoint.Entry{Key: "a", Value: []byte("last")})
	if got := load(t, reopen(t, p, s)); string(got["a"]) != "last" {
		t.Errorf("a=%s", got["a"])
	}
}

// Two instances of a task never both go on: the second is kept out, or it takes over and the first is stopped.
func testOneInstance(t *testing.T, p Place) {
	if !p.Shared {
		return
	}
	first := open(t, p)
	load(t, first)
	save(t, first, checkpoint.Entry{Key: "by", Value: []byte("first")})
	second := open(t, p)
	got, err := second.Load(t.Context())
	if err != nil {
		if fault.ClassOf(err) != fault.Fatal {
			t.Fatalf("the second instance got an error of class %v: %v", fault.ClassOf(err), err)
		}
		save(t, first, checkpoint.Entry{Key: "by", Value: []byte("first again")})
		return
	}
	expect(t, got, map[string][]byte{"by": []byte("first")})
	err = first.Save(t.Context(), []checkpoint.Entry{{Key: "by", Value: []byte("lost")}})
	if err == nil || fault.ClassOf(err) != fault.Fatal {
		t.Errorf("the first instance should have been stopped, got %v", err)
	}
	save(t, second, checkpoint.Entry{Key: "too", Value: []byte("second")})
	expect(t, load(t, second), map[string][]byte{"by": []byte("first"), "too": []byte("second")})
}

// A random history of saves and restarts leaves what a map would hold.
func testHistory(t *testing.T, p Place) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	model := map[string][]byte{}
	s := open(t, p)
	for range 40 {
		switch random.IntN(6) {
		case 0:
			s = reopen(t, p, s)
		case 1:
			expect(t, load(t, s), model)
		default:
			save(t, s, randomEntries(random, model)...)
		}
	}
	expect(t, load(t, reopen(t, p, s)), model)
	if t.Failed() {
		t.Logf("seed %d", seed)
	}
}

// randomEntries makes up entries with different keys and applies them to the model.
func randomEntries(random *rand.Rand, model map[string][]byte) []checkpoint.Entry {
	var entries []checkpoint.Entry
	for key := range 8 {
		e := checkpoint.Entry{Key: fmt.Sprintf("k%d", key)}
		switch random.IntN(4) {
		case 0:
			delete(model, e.Key)
		case 1:
			e.Value = make([]byte, random.IntN(50))
			for i := range e.Value {
				e.Value[i] = byte(random.UintN(256))
			}
			model[e.Key] = e.Value
		default:
			continue
		}
		entries = append(entries, e)
	}
	return entries
}

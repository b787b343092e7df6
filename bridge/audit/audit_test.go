package audit_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"ctbridge/bridge/audit"
	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
)

func leaf() *envelope.Node { return &envelope.Node{} }

// shape is one of each role, and a row.
func shape(given bool) *audit.Shape {
	row := &envelope.Node{Shape: envelope.Record, Image: (*change.Event).Row, Fields: []envelope.Field{{Name: "a", Node: leaf()}, {Name: "b", Node: leaf()}}}
	return audit.NewShape(&envelope.Node{Shape: envelope.Record, Fields: []envelope.Field{
		{Name: "row", Node: row},
		{Name: "seq", Node: leaf().As(envelope.RoleSequence)},
		{Name: "lsn", Node: leaf().As(envelope.RoleStream)},
		{Name: "n", Node: leaf().As(envelope.RoleRun)},
		{Name: "mask", Node: leaf().As(envelope.RoleSchema)},
		{Name: "at", Node: leaf().As(envelope.RoleMoment)},
	}}, false, given)
}

func place(n int) string { return fmt.Sprintf("%035d", n) }

// message of a change; run is what differs from one message to the next.
func message(n, run int, row string) *audit.Message {
	return &audit.Message{Key: []byte(fmt.Sprint(n)), Value: fmt.Appendf(nil, `{"row":%s,"seq":"%s","lsn":"0a:%d","n":%d,"mask":"01","at":7}`, row, place(n), n, run)}
}

func item(t interface{ Fatal(...any) }, s *audit.Shape, m *audit.Message) audit.Item {
	i, err := s.Item(m)
	if err != nil {
		t.Fatal(err)
	}
	i.Timed = true
	return i
}

func streamOf(items []audit.Item) audit.Stream {
	return func(_ context.Context, yield func(*audit.Item) error) error {
		for i := range items {
			own := items[i]
			if err := yield(&own); err != nil {
				return err
			}
		}
		return nil
	}
}

// Whatever is missing, doubled, changed or put in between is named, and nothing else, however little memory there is and whatever the order.
func TestEveryCorruptionIsNamed(t *testing.T) {
	t.Parallel()
	s := shape(false)
	rapid.Check(t, func(t *rapid.T) {
		var expected, found []audit.Item
		want := map[string]int64{}
		var places []string
		for n := range rapid.IntRange(0, 60).Draw(t, "changes") {
			for half := range rapid.IntRange(1, 2).Draw(t, "messages") {
				row := fmt.Sprintf(`{"a":%d,"b":null}`, half)
				expected = append(expected, item(t, s, message(n, 1, row)))
				kind := rapid.SampledFrom([]string{"", "", "", "", audit.Missing, audit.Doubled, audit.Different}).Draw(t, "corruption")
				if kind != "" {
					want[kind]++
					places = append(places, kind+" "+place(n))
				}
				right, wrong := item(t, s, message(n, 2, row)), item(t, s, message(n, 2, fmt.Sprintf(`{"a":%d,"b":"x"}`, half)))
				switch kind {
				case audit.Missing:
				case audit.Different:
					found = append(found, wrong)
				case audit.Doubled:
					found = append(found, right, right)
				default:
					found = append(found, right)
				}
				if kind == audit.Missing && half == 1 || kind == audit.Different && half == 1 {
					break
				}
			}
		}
		for n := range rapid.IntRange(0, 3).Draw(t, "strangers") {
			found = append(found, item(t, s, message(1000+n, 1, `{"a":1,"b":2}`)))
			want[audit.Unknown]++
			places = append(places, audit.Unknown+" "+place(1000+n))
		}
		found = rapid.Permutation(found).Draw(t, "order")
		got, err := audit.Compare(context.Background(), streamOf(expected), streamOf(found), audit.Options{
			Shape: s, Memory: rapid.SampledFrom([]int{1, 3000, 1 << 20}).Draw(t, "memory"), Max: 1000,
		})
		if err != nil {
			t.Fatal(err)
		}
		total := func(m map[string]int64) (n int64) {
			for _, v := range m {
				n += v
			}
			return n
		}
		// A wrong half beside a missing one of the same change may be told either way round; the places are the same.
		if total(got.Counts) != total(want) && !paired(got.Counts, want) || got.Equal() != (len(want) == 0) {
			t.Fatalf("found %v, want %v", got.Counts, want)
		}
		wantPlaces, gotPlaces := map[string]bool{}, map[string]bool{}
		for _, p := range places {
			wantPlaces[p[len(p)-35:]] = true
		}
		for _, d := range got.Differences {
			gotPlaces[d.Place] = true
		}
		if !maps.Equal(gotPlaces, wantPlaces) {
			t.Fatalf("named %v, want %v", slices.Sorted(maps.Keys(gotPlaces)), slices.Sorted(maps.Keys(wantPlaces)))
		}
		if (got.Expected == got.Found) != (len(want) == 0) {
			t.Fatalf("sums %v and %v, differences %v", got.Expected, got.Found, want)
		}
	})
}

// paired tells that both counts are the same but for a wrong message that stands for a missing one.
func paired(got, want map[string]int64) bool {
	return got[audit.Doubled] == want[audit.Doubled] && got[audit.Unknown] == want[audit.Unknown] &&
		got[audit.Missing]+got[audit.Different] <= want[audit.Missing]+want[audit.Different]
}

func TestWhatMayDiffer(t *testing.T) {
	t.Parallel()
	row := `{"a":1,"b":2}`
	text := func(row, mask, at string) *audit.Message {
		return &audit.Message{Value: fmt.Appendf(nil, `{"row":%s,"seq":"%s","lsn":"0a:1","n":1,"mask":"%s","at":%s}`, row, place(1), mask, at)}
	}
	for name, c := range map[string]struct {
		found    *audit.Message
		lenient  audit.Lenience
		untimed  bool
		replayed bool
		alike    bool
		member   string
	}{
		"another mask":                {found: text(row, "02", "7"), member: "mask"},
		"under another structure":     {found: text(row, "02", "7"), lenient: audit.Lenience{Schema: true}, alike: true},
		"replayed":                    {found: text(row, "02", "7"), replayed: true, alike: true},
		"another time":                {found: text(row, "01", "8"), member: "at"},
		"a time that nobody tells":    {found: text(row, "01", "8"), untimed: true, alike: true},
		"a column less":               {found: text(`{"a":1}`, "01", "7"), member: "row.b"},
		"a column less, before a DDL": {found: text(`{"a":1}`, "01", "7"), lenient: audit.Lenience{Columns: true}, alike: true},
		"a wrong column, before":      {found: text(`{"a":2}`, "01", "7"), lenient: audit.Lenience{Columns: true}, member: "row.a"},
		"a member less":               {found: &audit.Message{Value: []byte(`{"row":{"a":1,"b":2},"seq":"` + place(1) + `","lsn":"0a:1"}`)}, lenient: audit.Lenience{Columns: true}, member: "at"},
	} {
		s := shape(false)
		expected, found := item(t, s, text(row, "01", "7")), item(t, s, c.found)
		expected.Timed, found.Replayed = !c.untimed, c.replayed
		got, err := audit.Compare(t.Context(), streamOf([]audit.Item{expected}), streamOf([]audit.Item{found}), audit.Options{Shape: s, Memory: 1, Max: 5, Lenient: c.lenient})
		switch {
		case err != nil:
			t.Error(name, err)
		case got.Equal() != c.alike || got.Alike != map[bool]int64{true: 1}[c.alike]:
			t.Errorf("%s: %+v", name, got)
		case !c.alike && (got.Counts[audit.Different] != 1 || got.Differences[0].Member != c.member):
			t.Errorf("%s: %+v, want member %s", name, got.Differences, c.member)
		}
	}
}

// Where the runner gives the sequences, they are no part of the change, and the log says where it stands.
func TestGivenSequences(t *testing.T) {
	t.Parallel()
	s := shape(true)
	a, b := item(t, s, message(1, 1, `{}`)), item(t, s, &audit.Message{Key: []byte("1"), Value: []byte(`{"row":{},"seq":"` + place(9) + `","lsn":"0a:1","n":5,"mask":"01","at":7}`)})
	if a.Sum != b.Sum || a.Place != "0a1" || b.Place != "0a1" {
		t.Errorf("%+v and %+v", a, b)
	}
}

// Doubles that may be, excuses, edges, and the end of naming.
func TestAccounting(t *testing.T) {
	t.Parallel()
	s := shape(false)
	var expected, found []audit.Item
	for n := range 100 {
		expected = append(expected, item(t, s, message(n, 1, `{}`)))
	}
	found = append(found, expected[0], expected[0], expected[1])
	stranger := item(t, s, message(500, 1, `{}`))
	stranger.Edge = true
	found = append(found, stranger)
	excuse := func(_ context.Context, places []string) (map[string]string, error) {
		out := map[string]string{}
		for _, p := range places {
			if p != place(7) {
				out[p] = "dead letter"
			}
		}
		return out, nil
	}
	o := audit.Options{Shape: s, Memory: 1 << 20, Max: 3, Twice: func(p string) bool { return p == place(0) }, Excuse: excuse}
	got, err := audit.Compare(t.Context(), streamOf(expected), streamOf(found), o)
	if err != nil || got.Repeated != 1 || got.Excused["dead letter"] != 97 || len(got.Counts) != 1 || got.Differences[0] != (audit.Difference{Kind: audit.Missing, Place: place(7)}) {
		t.Errorf("%+v, %v", got, err)
	}
	o.Excuse, o.Memory = nil, 1
	got, err = audit.Compare(t.Context(), streamOf(expected), streamOf(found), o)
	if err != nil || len(got.Differences) != 3 || got.Unsettled == 0 || got.Equal() {
		t.Errorf("%+v, %v", got, err)
	}
	broken := errors.New("broken")
	if _, err := audit.Compare(t.Context(), streamOf(expected), func(context.Context, func(*audit.Item) error) error { return broken }, o); !errors.Is(err, broken) {
		t.Error(err)
	}
}

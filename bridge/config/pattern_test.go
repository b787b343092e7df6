package config

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ctbridge/bridge/change"
)

func patterns(t *testing.T, entries ...string) TablePatterns {
	t.Helper()
	ps := make(TablePatterns, len(entries))
	for i, entry := range entries {
		if err := ps[i].UnmarshalText([]byte(entry)); err != nil {
			t.Fatalf("%s: %v", entry, err)
		}
	}
	return ps
}

func TestTablePatterns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		entries        string // separated by spaces
		chosen, passed []change.TableID
	}{
		{"*", ids("dbo.orders", "sales.x", ".orders"), nil},
		{"*.*", ids("dbo.orders"), ids(".orders")},
		{"dbo.*", ids("dbo.orders", "dbo.a b"), ids("sales.orders", "Dbo.orders", ".dbo")},
		{"*.orders", ids("dbo.orders", "sales.orders"), ids("dbo.orders2", ".orders")},
		{"orders", ids(".orders"), ids("dbo.orders", ".Orders")},
		{"or*s", ids(".orders", ".ors"), ids(".order", ".os", "dbo.orders")},
		{"dbo.*a*b*", ids("dbo.ab", "dbo.xaxbx", "dbo.aabb"), ids("dbo.ba", "dbo.a")},
		{"dbo.a*a", ids("dbo.aa", "dbo.aba"), ids("dbo.a")},
		{"dbo.* !dbo.audit", ids("dbo.orders"), ids("dbo.audit")},
		{"!dbo.audit dbo.*", ids("dbo.orders"), ids("dbo.audit")},
		{"dbo.audit dbo.o* !dbo.old*", ids("dbo.audit", "dbo.orders"), ids("dbo.old1", "dbo.x")},
		{"!dbo.audit", nil, ids("dbo.orders", "dbo.audit")},
	} {
		ps := patterns(t, strings.Fields(c.entries)...)
		for _, id := range c.chosen {
			if !ps.Match(id) {
				t.Errorf("%s does not choose %q", c.entries, id)
			}
		}
		for _, id := range c.passed {
			if ps.Match(id) {
				t.Errorf("%s chooses %q", c.entries, id)
			}
		}
	}
}

func ids(names ...string) []change.TableID {
	out := make([]change.TableID, len(names))
	for i, name := range names {
		schema, table, _ := strings.Cut(name, ".")
		out[i] = change.TableID{Schema: schema, Name: table}
	}
	return out
}

func TestCase61_NamesWithAnyCharacter(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]change.TableID{
		"dbo.Acme Ltd$Item Ledger$4f2a": {Schema: "dbo", Name: "Acme Ltd$Item Ledger$4f2a"},
		"dbo.odd]name":                  {Schema: "dbo", Name: "odd]name"},
		`dbo."a.b"`:                     {Schema: "dbo", Name: "a.b"},
		"dbo.[a.b]":                     {Schema: "dbo", Name: "a.b"},
		"dbo.`a.b`":                     {Schema: "dbo", Name: "a.b"},
		"[dbo].[odd]]name]":             {Schema: "dbo", Name: "odd]name"},
		`"ops.main"."x*y"`:              {Schema: "ops.main", Name: "x*y"},
		`dbo."say ""hi"""`:              {Schema: "dbo", Name: `say "hi"`},
		`"!important"`:                  {Name: "!important"},
		`dbo.in"ch`:                     {Schema: "dbo", Name: `in"ch`},
		"dbo.a[1]":                      {Schema: "dbo", Name: "a[1]"},
		"dbo.!x":                        {Schema: "dbo", Name: "!x"},
		"名前.größe":                      {Schema: "名前", Name: "größe"},
		" a . b ":                       {Schema: " a ", Name: " b "},
	} {
		ps := patterns(t, entry)
		if got := ps.Exact(); len(got) != 1 || got[0] != want {
			t.Errorf("%s means %q, want %q", entry, got, want)
		}
		if !ps.Match(want) {
			t.Errorf("%s does not match its own table %q", entry, want)
		}
		var name TableName
		if err := name.UnmarshalText([]byte(entry)); err != nil || name.id != want {
			t.Errorf("name %s means %q, %v", entry, name.id, err)
		}
	}
	prefix := patterns(t, `dbo."Acme Ltd."*`)
	if !prefix.Match(change.TableID{Schema: "dbo", Name: "Acme Ltd.Items"}) || prefix.Match(change.TableID{Schema: "dbo", Name: "Acme Ltd"}) {
		t.Error("a star behind a quote")
	}
}

func TestTablePatternErrors(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]string{
		"":             "empty name",
		"!":            "empty name",
		"dbo.":         "empty name",
		".orders":      "empty name",
		`dbo.""`:       "empty name",
		"a.b.c":        "3 parts",
		`dbo."a`:       "not closed",
		`dbo."a"b`:     "text behind a closing",
		"dbo.[a]]":     "not closed",
		"dbo..orders":  "empty name",
		"`a`x.orders":  "text behind a closing",
		"a.b.c.d*.\"e": "not closed",
	} {
		var p TablePattern
		if err := p.UnmarshalText([]byte(entry)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", entry, err, want)
		}
	}
	var name TableName
	if err := name.UnmarshalText([]byte("dbo.*")); err == nil {
		t.Error("a pattern passed for a name")
	}
}

func TestTablePatternsUnused(t *testing.T) {
	t.Parallel()
	ps := patterns(t, "dbo.*", "sales.orders", "!dbo.audit", "!dbo.old*")
	got := ps.Unused(ids("dbo.orders", "dbo.audit"))
	if want := []string{"sales.orders", "!dbo.old*"}; !slices.Equal(got, want) {
		t.Errorf("unused %q, want %q", got, want)
	}
	if got := ps.Exact(); len(got) != 1 || got[0].Name != "orders" {
		t.Errorf("exact %q", got)
	}
}

// A quoted name always means exactly itself.
func TestQuotedNameMeansItself(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.StringN(1, 8, -1), rapid.StringMatching("[]\\[\"`.*!a]{1,6}")).Draw(t, "name")
		quote := rapid.SampledFrom([]string{`"`, "]", "`"}).Draw(t, "quote")
		open := strings.ReplaceAll(quote, "]", "[")
		entry := "dbo." + open + strings.ReplaceAll(name, quote, quote+quote) + quote
		var p TablePattern
		if err := p.UnmarshalText([]byte(entry)); err != nil {
			t.Fatalf("%s: %v", entry, err)
		}
		if id, exact := p.exact(); !exact || id != (change.TableID{Schema: "dbo", Name: name}) {
			t.Fatalf("%s means %q", entry, id)
		}
	})
}

// The matcher against the regular expression that says the same.
func TestGlobAgainstRegexp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		entry := rapid.StringMatching(`[ab*]{1,8}`).Draw(t, "entry")
		name := rapid.StringMatching(`[ab]{0,10}`).Draw(t, "name")
		var p TablePattern
		if err := p.UnmarshalText([]byte(entry)); err != nil {
			t.Fatal(err)
		}
		want := regexp.MustCompile("^" + strings.ReplaceAll(entry, "*", ".*") + "$").MatchString(name)
		if got := p.parts[0].match(name); got != want {
			t.Fatalf("%s against %s: %v, want %v", entry, name, got, want)
		}
	})
}

func FuzzTablePattern(f *testing.F) {
	for _, seed := range []string{"dbo.*", `!dbo."a.b"`, "[a]]b].`c`", "a**b", "\xff.x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, entry string) {
		var p TablePattern
		if p.UnmarshalText([]byte(entry)) != nil {
			return
		}
		if id, exact := p.exact(); exact && !p.match(id) {
			t.Fatalf("%q does not match the table %q that it names", entry, id)
		}
	})
}

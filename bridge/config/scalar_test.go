package config

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestSize(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Size{"0B": 0, "100B": 100, "512KiB": 512 * KiB, "1MiB": MiB, "64GiB": 64 * GiB} {
		var got Size
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want || got.String() != text {
			t.Errorf("%s = %d (%s), %v", text, got, got, err)
		}
	}
	for _, text := range []string{"", "1", "1MB", "1 MiB", "-1MiB", "1.5MiB", "MiB", "+1B", "9999999999GiB", "1Mi", "0x1B"} {
		var got Size
		if err := got.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q passed as %d", text, got)
		}
	}
}

func TestSizeRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := Size(rapid.Int64Min(0).Draw(t, "size"))
		var got Size
		if err := got.UnmarshalText([]byte(want.String())); err != nil || got != want {
			t.Fatalf("%d → %s → %d, %v", want, want, got, err)
		}
	})
}

func TestDurations(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{"200ms": 200 * time.Millisecond, "1m": time.Minute, "1h30m": 90 * time.Minute, "0s": 0, "1m0s": time.Minute} {
		if got, err := parseDuration(text); err != nil || got != want {
			t.Errorf("%s = %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "0", "5", "5 s", "s", "1d", "-"} {
		if got, err := parseDuration(text); err == nil {
			t.Errorf("%q passed as %s", text, got)
		}
	}
	for d, want := range map[time.Duration]string{time.Minute: "1m", time.Hour: "1h", 90 * time.Second: "1m30s", 90 * time.Minute: "1h30m", 0: "0s", 10 * time.Second: "10s"} {
		if got := Duration(d); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func env(pairs ...string) Lookup {
	return func(name string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

func TestExpand(t *testing.T) {
	t.Parallel()
	lookup := env("A", "alpha", "EMPTY", "", "TRICK", "${A} $$ # : - x")
	for text, want := range map[string]string{
		"":                   "",
		"plain":              "plain",
		"${A}":               "alpha",
		"<${A}${A}>":         "<alphaalpha>",
		"${EMPTY}":           "",
		"${EMPTY:-x}":        "x",
		"${NONE:-x y}":       "x y",
		"${NONE:-}":          "",
		"${A:-x}":            "alpha",
		"$$":                 "$",
		"$${A}":              "${A}",
		"$$$$":               "$$",
		"pa$word":            "pa$word",
		"$":                  "$",
		"a$":                 "a$",
		"$A":                 "$A",
		"${TRICK}":           "${A} $$ # : - x", // not expanded again
		"${NONE:-$5}":        "$5",
		"${NONE:-a:-b}":      "a:-b",
		"postgres://u:${A}@": "postgres://u:alpha@",
	} {
		if got, _, err := expand(text, lookup); err != nil || got != want {
			t.Errorf("%s → %q, %v; want %q", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"${NONE}": "NONE, which is not set", "${A": "without its }", "${}": "not a variable's name", "${1A}": "not a variable's name",
		"${A B}": "not a variable's name", "${NONE:-${A}}": "variable inside", "${A-x}": "not a variable's name",
	} {
		if got, _, err := expand(text, lookup); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s → %q, %v; want %q", text, got, err, want)
		}
	}
}

// Escaping every dollar sign gives the text itself, whatever it is.
func TestExpandEscaped(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[${}A:\-é]{0,12}`).Draw(t, "text")
		if got, used, err := expand(strings.ReplaceAll(text, "$", "$$"), env()); err != nil || used || got != text {
			t.Fatalf("%q → %q, %v, %v", text, got, used, err)
		}
	})
}

func TestNearest(t *testing.T) {
	t.Parallel()
	known := []string{"poll_interval", "page_rows", "tables", "dsn"}
	for word, want := range map[string]string{"pollInterval": "poll_interval", "pol_interval": "poll_interval", "table": "tables", "zzz": "", "": "", "page-rows": "page_rows"} {
		if got := nearest(word, known); got != want {
			t.Errorf("%q → %q, want %q", word, got, want)
		}
	}
}

package envelope

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var (
	legalName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	escape    = regexp.MustCompile(`_u[0-9A-F]{4}`)
)

func TestCase62_NamesIllegalInAvro(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Total ":       "Total_u0020",
		"3alpha":       "_u0033alpha",
		"@type":        "_u0040type",
		"größe":        "gr_u00F6_u00DFe",
		"名前":           "_u540D_u524D",
		"a-b":          "a_u002Db",
		"a_b":          "a_b",
		"&Qty":         "_u0026Qty", // case 63
		"a.b":          "a_u002Eb",  // case 61
		"😀":            "_uD83D_uDE00",
		"_u0041":       "_u005Fu0041",
		"__u0041":      "__u005Fu0041",
		"_u00":         "_u00",
		"_u00e9":       "_u00e9",
		"\xff":         "_uDCFF",
		"":             "_uDC00",
		"_uDC00":       "_u005FuDC00",
		"plain_Name_1": "plain_Name_1",
	} {
		if got := AvroName(name); got != want {
			t.Errorf("AvroName(%q) = %q, want %q", name, got, want)
		}
		if got := OriginalName(want); got != name {
			t.Errorf("OriginalName(%q) = %q, want %q", want, got, name)
		}
	}
}

func TestCase62_CollisionNamesBoth(t *testing.T) {
	t.Parallel()
	if got, err := AvroNames([]string{"a-b", "a_b", "a b"}); err != nil || len(got) != 3 {
		t.Fatalf("different names: %q, %v", got, err)
	}
	_, err := AvroNames([]string{"a b", "id", "a b"})
	if err == nil || strings.Count(err.Error(), `"a b"`) != 2 {
		t.Fatalf("the same name twice: %v", err)
	}
}

func TestAvroNamespace(t *testing.T) {
	t.Parallel()
	if got := AvroNamespace("com", "my-task", "dbo", "a.b"); got != "com.my_u002Dtask.dbo.a_u002Eb" {
		t.Error(got)
	}
}

// Names near the edges of the scheme: underscores, u, hex digits, illegal characters, broken UTF-8.
var trickyName = rapid.StringOf(rapid.SampledFrom([]rune("_uUDC0049AFf-é名😀 ")))

func TestAvroNameIsReversible(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(trickyName, rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "name")
		avro := AvroName(name)
		if !legalName.MatchString(avro) {
			t.Fatalf("AvroName(%q) = %q is not an Avro name", name, avro)
		}
		if back := OriginalName(avro); back != name {
			t.Fatalf("%q → %q → %q", name, avro, back)
		}
	})
}

func TestLegalNamesStay(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[A-Za-z_][A-Za-z0-9_]{0,12}`).Draw(t, "name")
		if escape.MatchString(name) {
			t.Skip("holds an escape")
		}
		if got := AvroName(name); got != name {
			t.Fatalf("AvroName(%q) = %q", name, got)
		}
	})
}

func FuzzAvroName(f *testing.F) {
	for _, seed := range []string{"", "a-b", "_u0041", "_uD83D_uDE00", "\xff_uDCFF", "名前", "_uDC00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		avro := AvroName(name)
		if !legalName.MatchString(avro) || OriginalName(avro) != name {
			t.Fatalf("%q → %q → %q", name, avro, OriginalName(avro))
		}
	})
}

// The same scheme written as one substitution, to compare with.
func TestAvroNameAgainstSubstitution(t *testing.T) {
	t.Parallel()
	illegal := regexp.MustCompile(`[^A-Za-z0-9_]`)
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-z_é -]{1,8}`).Draw(t, "name")
		want := illegal.ReplaceAllStringFunc(name, func(s string) string { return fmt.Sprintf("_u%04X", []rune(s)[0]) })
		if got := AvroName(name); got != want {
			t.Fatalf("AvroName(%q) = %q, want %q", name, got, want)
		}
	})
}

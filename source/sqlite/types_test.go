package sqlite

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ctbridge/bridge/change"
)

func TestTypeOf(t *testing.T) {
	t.Parallel()
	cases := map[string]change.Type{
		"INTEGER":                     {Kind: change.Int8},
		"integer":                     {Kind: change.Int8},
		"  int  unsigned ":            {Kind: change.Uint8},
		"UNSIGNED BIG INT":            {Kind: change.Uint8},
		"TINYINT(1)":                  {Kind: change.Int2},
		"int(10) unsigned":            {Kind: change.Uint8},
		"smallint":                    {Kind: change.Int2},
		"bigserial int":               {Kind: change.Int8},
		"decimal(10,2)":               {Kind: change.Numeric, Precision: 10, Scale: 2},
		"DECIMAL ( 10 , 2 )":          {Kind: change.Numeric, Precision: 10, Scale: 2},
		"numeric(5)":                  {Kind: change.Numeric, Precision: 5},
		"numeric":                     {Kind: change.Numeric},
		"float":                       {Kind: change.Real8},
		"VARYING CHARACTER(255)":      {Kind: change.String, Length: 255},
		"NATIVE CHARACTER(70)":        {Kind: change.WString, Length: 70},
		"nvarchar(max)":               {Kind: change.WString},
		"longtext":                    {Kind: change.String},
		"CLOB":                        {Kind: change.Clob},
		"blob":                        {Kind: change.Blob},
		"mediumblob":                  {Kind: change.Blob},
		"varbinary(128)":              {Kind: change.Bytes, Length: 128},
		"datetime":                    {Kind: change.DateTime, Scale: 6},
		"datetime(0)":                 {Kind: change.DateTime},
		"datetime2(7)":                {Kind: change.DateTime, Scale: 7},
		"timestamp(3) with time zone": {Kind: change.DateTimeTZ, Scale: 3},
		"time(12)":                    {Kind: change.Time, Scale: 6},
		"":                            {},
		"geometry":                    {},
		"string":                      {},
		"varchar(":                    {Kind: change.String},
		")(":                          {},
	}
	for declared, want := range cases {
		if got := typeOf(declared); got != want {
			t.Errorf("%q is %+v, want %+v", declared, got, want)
		}
	}
}

// FuzzTypeOf: any declaration gives a type within bounds.
func FuzzTypeOf(f *testing.F) {
	for _, seed := range []string{"decimal(10,2)", "varchar(", ")(", "time(-1)", "datetime(99999999999999999999)", "int((3))"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, declared string) {
		got := typeOf(declared)
		if got.Length < 0 || got.Precision < 0 || got.Scale < 0 {
			t.Fatalf("%q is %+v", declared, got)
		}
		if got.Kind == change.DateTime && got.Scale > 9 {
			t.Fatalf("%q has %d digits of a second", declared, got.Scale)
		}
	})
}

// TestNumericOfDoubles: a decimal of up to 15 digits that SQLite turned into a double comes back as it was written; a double that is no
// such decimal is refused or comes back as exactly its shortest text.
func TestNumericOfDoubles(t *testing.T) {
	t.Parallel()
	typ := change.Type{Kind: change.Numeric, Precision: 15, Scale: 4}
	rapid.Check(t, func(t *rapid.T) {
		written := rapid.StringMatching(`-?[1-9][0-9]{0,10}\.[0-9]{4}`).Draw(t, "written")
		stored, _ := strconv.ParseFloat(written, 64)
		var got change.Value
		if err := numeric(typ)(&got, stored, &change.Arena{}); err != nil || string(got.Raw) != written {
			t.Fatalf("%s, stored as %v, came back as %s, %v", written, stored, got.Raw, err)
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		stored := rapid.Float64().Draw(t, "stored")
		var got change.Value
		err := numeric(typ)(&got, stored, &change.Arena{})
		want, ok := new(big.Rat).SetString(strconv.FormatFloat(stored, 'g', -1, 64))
		if err != nil || !ok {
			return
		}
		if back, _ := new(big.Rat).SetString(string(got.Raw)); back.Cmp(want) != 0 {
			t.Fatalf("%v became %s", stored, got.Raw)
		}
	})
}

func TestNumericOfExtremes(t *testing.T) {
	t.Parallel()
	free := numeric(change.Type{Kind: change.Numeric})
	cases := map[float64]string{
		math.MaxFloat64:             "17976931348623157" + strings.Repeat("0", 292),
		math.SmallestNonzeroFloat64: "0." + strings.Repeat("0", 323) + "5",
		math.Copysign(0, -1):        "0",
	}
	for stored, want := range cases {
		var got change.Value
		if err := free(&got, stored, &change.Arena{}); err != nil || string(got.Raw) != want {
			t.Errorf("%v gave %s, %v", stored, got.Raw, err)
		}
	}
	for _, stored := range []float64{math.Inf(1), math.Inf(-1), math.NaN()} {
		var got change.Value
		if err := free(&got, stored, &change.Arena{}); err == nil {
			t.Errorf("%v gave %s", stored, got.Raw)
		}
	}
}

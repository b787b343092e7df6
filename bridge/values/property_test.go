package values

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ctbridge/bridge/change"
)

// field is a column with what a rule does to it, and what the oracle needs to know of it.
type field struct {
	column change.Column
	do     action
	length int
}

var kinds = []change.Type{{Kind: change.Int8}, {Kind: change.WString, Length: 400}, {Kind: change.Blob}, {Kind: change.Numeric, Precision: 12, Scale: 2}, {Kind: change.Bool}}

func drawFields(t *rapid.T) []field {
	fields := make([]field, rapid.IntRange(1, 12).Draw(t, "columns"))
	for i := range fields {
		f := &fields[i]
		f.column = change.Column{Name: fmt.Sprint("c", i), Type: rapid.SampledFrom(kinds).Draw(t, "type"), Native: "any", Nullable: true}
		f.do = action(rapid.IntRange(int(keep), int(asText)).Draw(t, "action"))
		if f.do == truncate {
			f.column.Type, f.length = rapid.SampledFrom([]change.Type{kinds[1], kinds[2]}).Draw(t, "cut"), rapid.IntRange(0, 6).Draw(t, "length")
		}
		if i < 2 && rapid.Bool().Draw(t, "key") {
			f.column.KeyPosition = 1
			for _, other := range fields[:i] {
				f.column.KeyPosition += other.column.KeyPosition
			}
		}
	}
	fields[0].do = keep // one column at least is left
	return fields
}

// ruleOf writes the fields' actions as a rule.
func ruleOf(fields []field) Rule {
	r := Rule{AllowKey: true}
	for _, f := range fields {
		p := star(f.column.Name)
		switch f.do {
		case exclude:
			r.Exclude = append(r.Exclude, p)
		case hashed:
			r.Hash = append(r.Hash, p)
		case nullify:
			r.Nullify = append(r.Nullify, p)
		case asText:
			r.AsText = append(r.AsText, p)
		case constant:
			r.Constant = append(r.Constant, Constant{p, "*" + f.column.Name})
		case truncate:
			r.Truncate = append(r.Truncate, Truncation{p, f.length})
		case keep:
		}
	}
	return r
}

func drawValue(t *rapid.T, typ change.Type) change.Value {
	switch rapid.IntRange(0, 5).Draw(t, "content") {
	case 0:
		return change.Null
	case 1:
		return change.Absent
	}
	switch typ.Kind {
	case change.Int8:
		return change.IntValue(rapid.Int64().Draw(t, "int"))
	case change.WString:
		return text(rapid.String().Draw(t, "text"))
	case change.Blob:
		return change.BytesValue(rapid.SliceOfN(rapid.Byte(), 0, 9).Draw(t, "bytes"))
	case change.Bool:
		return change.BoolValue(rapid.Bool().Draw(t, "bool"))
	}
	return change.DecimalValue([]byte(strconv.Itoa(rapid.IntRange(-9999, 9999).Draw(t, "decimal")) + ".5"))
}

// naive tells one value as the rule wants it, without any of the code under test.
func naive(f field, v change.Value) (shown, length string) {
	plain := func() string {
		switch v.Kind {
		case change.KindInt:
			return strconv.FormatInt(v.Num, 10)
		case change.KindBool:
			return strconv.FormatBool(v.Num != 0)
		case change.KindBytes:
			return fmt.Sprintf("%X", v.Raw)
		case change.KindDecimal:
			return string(v.Raw) + "0"
		}
		return string(v.Raw)
	}
	switch {
	case v.Kind == change.KindAbsent:
		return "absent", ""
	case f.do == constant:
		return "*" + f.column.Name, ""
	case f.do == nullify || v.Kind == change.KindNull:
		return "null", ""
	case f.do == hashed && v.Kind == change.KindBytes:
		return hashOf(string(v.Raw)), ""
	case f.do == hashed:
		return hashOf(plain()), ""
	case f.do == truncate && v.Kind == change.KindBytes && len(v.Raw) > f.length:
		return fmt.Sprintf("%X", v.Raw[:f.length]), strconv.Itoa(len(v.Raw))
	case f.do == truncate && v.Kind == change.KindText && len([]rune(string(v.Raw))) > f.length:
		runes := []rune(string(v.Raw))
		return string(runes[:f.length]), strconv.Itoa(len(runes))
	}
	return plain(), ""
}

// A stream that a plan changes, event by event in memory of its own, is the stream that a naive oracle makes of it as a whole.
func TestStreamIsAsTheOracleTellsIt(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		fields := drawFields(t)
		columns := make([]change.Column, len(fields))
		for i, f := range fields {
			columns[i] = f.column
		}
		table := change.NewTable(change.TableID{Name: "t"}, 1, columns)
		p, err := build(table, ruleOf(fields))
		if err != nil {
			t.Fatal(err)
		}
		var want, got []string
		for range rapid.IntRange(1, 6).Draw(t, "events") {
			ev := &change.Event{Table: table, Op: change.OpUpdate, HasChanged: rapid.Bool().Draw(t, "mask"), Changed: change.Mask(rapid.SliceOfN(rapid.Byte(), 2, 2).Draw(t, "changed"))}
			for _, image := range []*[]change.Value{&ev.Before, &ev.After} {
				if rapid.IntRange(0, 4).Draw(t, "image") > 0 {
					for _, f := range fields {
						*image = append(*image, drawValue(t, f.column.Type))
					}
				}
			}
			want = append(want, oracle(fields, ev))
			told := ev
			if p != nil {
				if told, err = p.Apply(ev); err != nil {
					t.Fatal(err)
				}
			}
			got = append(got, line(p, told))
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Fatalf("rule %+v\ngot\n%s\nwant\n%s", ruleOf(fields), strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

func line(p *Plan, ev *change.Event) string {
	out := show(ev) + " changed"
	for i, c := range ev.Table.Columns {
		if ev.HasChanged && ev.Changed.Has(i) {
			out += " " + c.Name
		}
	}
	out += " key"
	for _, i := range ev.Table.Key {
		out += " " + ev.Table.Columns[i].Name
	}
	lengths := make(map[string]string)
	if p != nil {
		for _, h := range p.Headers(ev) {
			lengths[h.Name] = string(h.Value)
		}
	}
	return out + fmt.Sprint(" ", lengths)
}

func oracle(fields []field, ev *change.Event) string {
	out, lengths := "", make(map[string]string)
	for which, image := range [][]change.Value{ev.Before, ev.After} {
		if image == nil {
			out += "-;"
			continue
		}
		for i, f := range fields {
			if f.do == exclude {
				continue
			}
			shown, length := naive(f, image[i])
			out += f.column.Name + "=" + shown + " "
			if length != "" {
				lengths[[]string{"ctbridge.truncated_before.", "ctbridge.truncated."}[which]+f.column.Name] = length
			}
		}
		out += ";"
	}
	out += " changed"
	for i, f := range fields {
		if ev.HasChanged && f.do != exclude && ev.Changed[i/8]&(1<<(i%8)) != 0 {
			out += " " + f.column.Name
		}
	}
	out += " key"
	for position := 1; position <= len(fields); position++ {
		for _, f := range fields {
			if f.column.KeyPosition == position && f.do != exclude {
				out += " " + f.column.Name
			}
		}
	}
	return out + fmt.Sprint(" ", lengths)
}

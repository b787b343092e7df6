package values

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
)

// star is a pattern for tests: a name, a prefix with a star, or a star.
type star string

func (s star) String() string { return string(s) }

func (s star) Match(name string) bool {
	if prefix, open := strings.CutSuffix(string(s), "*"); open {
		return strings.HasPrefix(name, prefix)
	}
	return string(s) == name
}

func (s star) Exact() (string, bool) { return string(s), !strings.HasSuffix(string(s), "*") }

func stars(names ...string) (out []Pattern) {
	for _, n := range names {
		out = append(out, star(n))
	}
	return out
}

var salt = []byte("pepper and salt")

func hashOf(text string) string {
	mac := hmac.New(sha256.New, salt)
	mac.Write([]byte(text))
	return hex.EncodeToString(mac.Sum(nil))
}

func customer() *change.Table {
	return change.NewTable(change.TableID{Schema: "dbo", Name: "customer"}, 3, []change.Column{
		{Name: "region", Type: change.Type{Kind: change.Int4}, Native: "int", KeyPosition: 2},
		{Name: "id", Type: change.Type{Kind: change.Int8}, Native: "bigint", KeyPosition: 1},
		{Name: "email", Type: change.Type{Kind: change.WString, Length: 200}, Native: "nvarchar(100)", Nullable: true},
		{Name: "due", Type: change.Type{Kind: change.Numeric, Precision: 12, Scale: 4}, Native: "money"},
		{Name: "note", Type: change.Type{Kind: change.NClob}, Native: "nvarchar(max)", Nullable: true},
		{Name: "photo", Type: change.Type{Kind: change.Blob}, Native: "varbinary(max)", Nullable: true},
		{Name: "born", Type: change.Type{Kind: change.Date}, Native: "date"},
	})
}

func text(s string) change.Value { return change.TextValue([]byte(s)) }

func row() []change.Value {
	return []change.Value{change.IntValue(7), change.IntValue(42), text("ann@example.org"), change.DecimalValue([]byte("12.5")), text("größer"), change.BytesValue([]byte{1, 2, 3, 0xff}), change.DateValue(0)}
}

func plan(t *testing.T, table *change.Table, rules ...Rule) *Plan {
	t.Helper()
	p, err := build(table, rules...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func build(table *change.Table, rules ...Rule) (*Plan, error) {
	for i := range rules {
		rules[i].Name = fmt.Sprintf("columns.rules[%d]", i)
	}
	r, err := New(rules, salt)
	if err != nil {
		return nil, err
	}
	if err := r.Check(table); err != nil {
		return nil, err
	}
	return r.Plan(table)
}

// show writes a table's columns and images as one text.
func show(ev *change.Event) string {
	var b strings.Builder
	for _, image := range [][]change.Value{ev.Before, ev.After} {
		if image == nil {
			b.WriteString("-;")
			continue
		}
		for i, v := range image {
			c := ev.Table.Columns[i]
			text, err := change.AppendText(nil, v, c.Type)
			switch {
			case v.Kind == change.KindAbsent:
				text = []byte("absent")
			case v.Kind == change.KindNull:
				text = []byte("null")
			case err != nil:
				text = []byte(err.Error())
			}
			fmt.Fprintf(&b, "%s=%s ", c.Name, text)
		}
		b.WriteString(";")
	}
	return b.String()
}

func TestActions(t *testing.T) {
	t.Parallel()
	p := plan(t, customer(), Rule{
		Exclude: stars("region"), Hash: stars("email", "photo"), AsText: stars("due"), Nullify: stars("born"),
		Truncate: []Truncation{{star("note"), 3}}, AllowKey: true,
	}, Rule{Constant: []Constant{{star("*"), "later rules decide only what no earlier one does"}}, Types: []string{"text"}})
	ev := &change.Event{Table: customer(), Op: change.OpUpdate, Before: row(), After: row(), Changed: change.Mask{0b1000101}, HasChanged: true}
	ev.Before[2], ev.Before[4], ev.After[5] = change.Null, change.Absent, change.Null
	got, err := p.Apply(ev)
	if err != nil {
		t.Fatal(err)
	}
	want := "id=42 email=null due=12.5000 note=absent photo=" + hashOf("\x01\x02\x03\xff") + " born=null ;" +
		"id=42 email=" + hashOf("ann@example.org") + " due=12.5000 note=grö photo=null born=null ;"
	if show(got) != want {
		t.Errorf("got  %s\nwant %s", show(got), want)
	}
	if got.Table.Version != 3 || len(got.Table.Key) != 1 || got.Table.Key[0] != 0 || got.Table.Columns[0].KeyPosition != 1 {
		t.Errorf("key of %+v", got.Table)
	}
	if !got.HasChanged || len(got.Changed) != 1 || got.Changed[0] != 0b100010 { // email and born; region has gone
		t.Errorf("changed %b", got.Changed)
	}
	for i, kind := range []change.Kind{change.Int8, change.String, change.String, change.NClob, change.String, change.String} {
		if c := got.Table.Columns[i]; c.Type.Kind != kind || c.Name == "born" && !c.Nullable || c.Name == "email" && c.Type.Length != 64 {
			t.Errorf("column %+v", c)
		}
	}
	headers := p.Headers(got)
	if len(headers) != 1 || headers[0].Name != "ctbridge.truncated.note" || string(headers[0].Value) != "6" {
		t.Errorf("headers %s", headers)
	}
	if ev.After[2].Kind != change.KindText || string(ev.After[4].Raw) != "größer" {
		t.Error("the source's event was changed")
	}
}

func TestTruncate(t *testing.T) {
	t.Parallel()
	p := plan(t, customer(), Rule{Truncate: []Truncation{{star("note"), 4}, {star("photo"), 2}, {star("email"), 0}}})
	for _, c := range []struct{ in, out, length string }{
		{"", "", ""}, {"abcd", "abcd", ""}, {"größ", "größ", ""}, {"größe", "größ", "5"}, {"日本語の", "日本語の", ""}, {"日本語の本", "日本語の", "5"}, {"a\xffbcd", "a\xffbc", "5"},
	} {
		ev := &change.Event{Table: customer(), Op: change.OpDelete, Before: row()}
		ev.Before[4], ev.Before[2], ev.Before[5] = text(c.in), text(""), change.Null
		got, err := p.Apply(ev)
		if err != nil || string(got.Before[4].Raw) != c.out {
			t.Errorf("%q became %q, %v", c.in, got.Before[4].Raw, err)
		}
		want := ""
		if c.length != "" {
			want = "ctbridge.truncated_before.note=" + c.length
		}
		if headers := headersText(p.Headers(got)); headers != want {
			t.Errorf("%q: headers %q, want %q", c.in, headers, want)
		}
	}
	ev := &change.Event{Table: customer(), Op: change.OpUpdate, Before: row(), After: row()}
	ev.Before[2], ev.After[5] = change.Null, change.BytesValue([]byte{1, 2})
	got, err := p.Apply(ev)
	if err != nil {
		t.Fatal(err)
	}
	const want = "ctbridge.truncated.note=6 ctbridge.truncated.email=15 ctbridge.truncated_before.note=6 ctbridge.truncated_before.photo=4"
	if h := headersText(p.Headers(got)); !sameWords(h, want) {
		t.Errorf("headers %s, want %s", h, want)
	}
	part := *got
	part.Before = nil
	if h := headersText(p.Headers(&part)); strings.Contains(h, "before") {
		t.Errorf("a part without old row has headers %s", h)
	}
}

func headersText(headers []change.Header) string {
	var out []string
	for _, h := range headers {
		out = append(out, h.Name+"="+string(h.Value))
	}
	return strings.Join(out, " ")
}

func sameWords(a, b string) bool {
	count := make(map[string]int)
	for _, w := range strings.Fields(a) {
		count[w]++
	}
	for _, w := range strings.Fields(b) {
		count[w]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}

func TestWithoutRules(t *testing.T) {
	t.Parallel()
	var none *Rules
	if p, err := none.Plan(customer()); p != nil || err != nil || p.Shape() != "" || none.Check(customer()) != nil {
		t.Error("no rules have a plan", err)
	}
	elsewhere := func(change.TableID) bool { return false }
	for _, r := range []Rule{{Tables: elsewhere, Exclude: stars("*")}, {Exclude: stars("nosuch*")}, {Types: []string{"json"}, Nullify: stars("*")}, {Include: stars("*")}} {
		if p := plan(t, customer(), r); p != nil {
			t.Errorf("%+v has a plan", r)
		}
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	all := func(change.TableID) bool { return true }
	for _, c := range []struct {
		rules []Rule
		want  string
		class fault.Class
	}{
		{[]Rule{{Exclude: stars("id")}}, `columns.rules[0]: column "id" is in the key of dbo.customer and falls under exclude`, fault.Table},
		{[]Rule{{Include: stars("email")}}, `column "region" is in the key`, fault.Table},
		{[]Rule{{Hash: stars("*")}}, `column "region" is in the key of dbo.customer and falls under hash`, fault.Table},
		{[]Rule{{Nullify: stars("id")}}, "allow_key: true", fault.Table},
		{[]Rule{{Truncate: []Truncation{{star("due"), 3}}}}, `column "due" (money) is neither text nor binary`, fault.Table},
		{[]Rule{{Hash: stars("email")}, {Nullify: stars("note"), AsText: stars("no*")}}, `columns.rules[1]: column "note" falls under nullify and under as_text`, fault.Table},
		{[]Rule{{Constant: []Constant{{star("note"), "a"}, {star("n*"), "b"}}}}, "falls under constant and under constant", fault.Table},
		{[]Rule{{Include: stars("id", "region"), Hash: stars("email")}}, "not among those of include", fault.Table},
		{[]Rule{{Exact: all, Hash: stars("emial")}}, `table dbo.customer has no column "emial"`, fault.Table},
		{[]Rule{{Exact: all, Constant: []Constant{{star("emial"), ""}}}}, "emial", fault.Table},
		{[]Rule{{Exclude: stars("*"), AllowKey: true}}, "leave no column", fault.Table},
		{[]Rule{{Types: []string{"decimals"}, AsText: stars("*")}}, `no type has the name "decimals"`, fault.Config},
		{[]Rule{{Truncate: []Truncation{{star("note"), -1}}}}, "-1", fault.Config},
	} {
		_, err := build(customer(), c.rules...)
		if err == nil || !strings.Contains(err.Error(), c.want) || fault.ClassOf(err) != c.class {
			t.Errorf("%+v: %v, want %s", c.rules, err, c.want)
		}
	}
	if _, err := New([]Rule{{Name: "r", Hash: stars("a")}}, nil); fault.ClassOf(err) != fault.Config || !strings.Contains(err.Error(), "columns.salt") {
		t.Errorf("no salt: %v", err)
	}
}

func TestTypes(t *testing.T) {
	t.Parallel()
	for types, want := range map[string]string{
		"decimal": "due", "native:MONEY": "due", "native:nvarchar": "email note", "native:nvarchar(max)": "note", "lob": "note photo", "binary": "photo", "integer": "region id", "date": "born",
	} {
		p := plan(t, customer(), Rule{Types: []string{types}, Exclude: stars("*"), AllowKey: true})
		var gone []string
		for _, c := range customer().Columns {
			if p.Table().ColumnIndex(c.Name) < 0 {
				gone = append(gone, c.Name)
			}
		}
		if got := strings.Join(gone, " "); got != want {
			t.Errorf("%s chooses %s, want %s", types, got, want)
		}
	}
}

// A shape is that of the columns: it does not tell salts or constants, and another version of the table has the same.
func TestShape(t *testing.T) {
	t.Parallel()
	shape := func(salt string, rules ...Rule) string {
		r, err := New(rules, []byte(salt))
		if err != nil {
			t.Fatal(err)
		}
		p, err := r.Plan(customer())
		if err != nil {
			t.Fatal(err)
		}
		return p.Shape()
	}
	hashed := shape("a", Rule{Hash: stars("email")})
	if hashed == "" || shape("b", Rule{Hash: stars("email")}) != hashed || shape("a", Rule{Hash: stars("note")}) == hashed || shape("a", Rule{Exclude: stars("email")}) == hashed {
		t.Error("shapes do not follow the columns")
	}
}

func TestUnchanged(t *testing.T) {
	t.Parallel()
	p := plan(t, customer(), Rule{Exclude: stars("note"), Nullify: stars("born"), Hash: stars("email")})
	event := func(columns ...int) *change.Event {
		ev := &change.Event{Table: customer(), Op: change.OpUpdate, Before: row(), After: row(), Changed: make(change.Mask, 1), HasChanged: true}
		for _, i := range columns {
			ev.Before[i] = change.Null
			ev.Changed.Set(i)
		}
		return ev
	}
	bare := func(ev *change.Event, before, mask bool) *change.Event {
		if !before {
			ev.Before = nil
		}
		ev.HasChanged = mask
		return ev
	}
	for name, c := range map[string]struct {
		ev   *change.Event
		want bool
	}{
		"excluded":                      {event(4), true},
		"excluded and nullified":        {event(4, 6), true},
		"masked by a hash":              {event(2), false},
		"excluded and another":          {event(4, 3), false},
		"nothing, says the mask":        {event(), false},
		"excluded, no before-image":     {bare(event(4), false, true), true},
		"another, no before-image":      {bare(event(3), false, true), false},
		"excluded, no mask":             {bare(event(4), true, false), true},
		"another, no mask":              {bare(event(3), true, false), false},
		"neither mask nor before-image": {bare(event(4), false, false), false},
	} {
		if got := p.Unchanged(c.ev); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	ev := event(4)
	ev.Before[3] = change.DecimalValue([]byte("1")) // the mask and the images disagree
	if p.Unchanged(ev) {
		t.Error("images that differ count as unchanged")
	}
	ev = bare(event(4), true, false)
	ev.Before[5], ev.After[5] = change.Absent, change.Absent
	if p.Unchanged(ev) {
		t.Error("what was not captured counts as unchanged though nothing tells")
	}
	ev = event(4)
	ev.Op = change.OpInsert
	if p.Unchanged(ev) {
		t.Error("an insert counts as unchanged")
	}
}

// An error names the column, never the value that a rule hides.
func TestErrorsHideValues(t *testing.T) {
	t.Parallel()
	p := plan(t, customer(), Rule{Hash: stars("due")})
	ev := &change.Event{Table: customer(), Op: change.OpInsert, After: row()}
	ev.After[3] = change.DecimalValue([]byte("123456.789123456"))
	if _, err := p.Apply(ev); err == nil || !strings.Contains(err.Error(), `"due"`) || strings.Contains(err.Error(), "123456") || fault.ClassOf(err) != fault.Poison {
		t.Errorf("error %v", err)
	}
}

func TestNoAllocation(t *testing.T) {
	p := plan(t, customer(), Rule{
		Exclude: stars("region"), Hash: stars("email", "born"), AsText: stars("due"), Constant: []Constant{{star("photo"), "****"}}, Truncate: []Truncation{{star("note"), 3}}, AllowKey: true,
	})
	ev := &change.Event{Table: customer(), Op: change.OpUpdate, Before: row(), After: row(), Changed: change.Mask{0xff}, HasChanged: true}
	n := testing.AllocsPerRun(1000, func() {
		told, err := p.Apply(ev)
		if err != nil || len(p.Headers(told)) != 2 || p.Unchanged(ev) {
			t.Fatal(err)
		}
	})
	if n > 0 {
		t.Errorf("%v allocations per event, want none", n)
	}
}

func BenchmarkApply(b *testing.B) {
	r, err := New([]Rule{{Hash: stars("email"), Exclude: stars("note")}}, salt)
	if err != nil {
		b.Fatal(err)
	}
	p, err := r.Plan(customer())
	if err != nil {
		b.Fatal(err)
	}
	ev := &change.Event{Table: customer(), Op: change.OpUpdate, Before: row(), After: row(), Changed: change.Mask{0xff}, HasChanged: true}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Apply(ev); err != nil {
			b.Fatal(err)
		}
	}
}

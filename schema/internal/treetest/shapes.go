package treetest

import (
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"pgregory.net/rapid"

	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
)

// array draws up to three items of one simple type.
func (d *drawer) array() (*envelope.Node, Want) {
	draw := leaves[rapid.IntRange(0, 2).Draw(d.t, "item")] // their forms do not depend on the value
	item := func() (*envelope.Node, Want) {
		n := &envelope.Node{}
		value, want := draw(d.t, n)
		n.Constant = &value
		return n, want
	}
	n := &envelope.Node{Shape: envelope.Array, Nullable: rapid.Bool().Draw(d.t, "nullable")}
	n.Item, _ = item()
	native, texts := []any{}, []string{}
	for range rapid.IntRange(0, 3).Draw(d.t, "items") {
		node, want := item()
		n.Items = append(n.Items, node)
		native, texts = append(native, want.Avro), append(texts, want.JSON)
	}
	return n, Want{Avro: native, JSON: "[" + strings.Join(texts, ",") + "]"}
}

// union draws one of three branches, which no library can take for another.
func (d *drawer) union() (*envelope.Node, Want) {
	null := &envelope.Node{Avro: envelope.Form{Kind: envelope.FormNull}, JSON: envelope.Form{Kind: envelope.FormNull}}
	text, number := &envelope.Node{}, &envelope.Node{}
	s, wantText := drawText(d.t, text)
	i, wantNumber := drawLong(d.t, number)
	text.Constant = &s
	number.Get = func(*change.Event, *envelope.Scratch) change.Value { return i }
	branch := rapid.IntRange(0, 2).Draw(d.t, "branch")
	return &envelope.Node{Shape: envelope.Union, Branches: []*envelope.Node{text, null, number}, Branch: branch},
		[]Want{wantText, {JSON: "null"}, wantNumber}[branch]
}

// split draws a decimal in parts, or a wall clock: a record of day and time of day in Avro, one text in JSON.
func (d *drawer) split() (*envelope.Node, Want) {
	d.names++
	if rapid.Bool().Draw(d.t, "decimal") {
		return d.scaled()
	}
	part := func(kind envelope.FormKind) *envelope.Node { return &envelope.Node{Avro: envelope.Form{Kind: kind}} }
	n := &envelope.Node{
		Shape: envelope.Split, Name: fmt.Sprintf("S%d", d.names), Nullable: rapid.Bool().Draw(d.t, "nullable"),
		Column: len(d.images[d.image]), JSON: envelope.Form{Kind: envelope.FormDateTimeText, Scale: 6},
		Fields: []envelope.Field{{Name: "date", Node: part(envelope.FormDatePart)}, {Name: "time", Node: part(envelope.FormTimePart)}},
	}
	at := drawMoment(d.t, time.Microsecond)
	value := change.DateTimeValue(at.Unix(), int32(at.Nanosecond()))
	day := at.Truncate(24 * time.Hour)
	want := Want{Avro: map[string]any{"date": day, "time": at.Sub(day)}, JSON: jsonText(at.Format("2006-01-02 15:04:05.000000"))}
	if n.Nullable && rapid.Bool().Draw(d.t, "null") {
		value, want = rapid.SampledFrom([]change.Value{change.Null, change.Absent}).Draw(d.t, "missing"), Want{JSON: "null"}
	}
	d.images[d.image] = append(d.images[d.image], value)
	return n, want
}

// scaled draws a decimal of unknown scale: a record of scale and unscaled number in both formats.
func (d *drawer) scaled() (*envelope.Node, Want) {
	n := &envelope.Node{
		Shape: envelope.Split, Name: fmt.Sprintf("S%d", d.names), Column: len(d.images[d.image]), JSON: envelope.Form{Kind: envelope.FormScaledObject},
		Fields: []envelope.Field{
			{Name: "scale", Node: &envelope.Node{Avro: envelope.Form{Kind: envelope.FormScalePart}}},
			{Name: "value", Node: &envelope.Node{Avro: envelope.Form{Kind: envelope.FormUnscaledPart}}},
		},
	}
	_, value, _, scale := DrawDecimal(d.t)
	number := unscaled(value, scale)
	d.images[d.image] = append(d.images[d.image], change.DecimalValue([]byte(value.FloatString(scale))))
	return n, Want{
		Avro: map[string]any{"scale": int32(scale), "value": number},
		JSON: fmt.Sprintf(`{"scale":%d,"value":"%s"}`, scale, base64.StdEncoding.EncodeToString(number)),
	}
}

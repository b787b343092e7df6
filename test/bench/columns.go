package main

import (
	"fmt"
	"strconv"
	"strings"
)

// kind is a type that all engines have.
type kind int

const (
	bigint kind = iota
	integer
	smallint
	double
	decimal // 12 digits, 2 of them behind the point
	datetime
	date
	text
)

// column is one data column of a change table.
type column struct {
	name  string
	kind  kind
	size  int                // of text: characters, at most
	value func(n uint64) any // of row n: int64, float64, string or nil
}

// standard are 18 columns like those of an order, with about that many bytes of values in a row as text.
func standard(width int) []column {
	note := max(width-165, 20)
	return []column{
		{"id", bigint, 0, nil}, // the key: set by the rows
		{"customer", integer, 0, func(n uint64) any { return int64(mix(n, 1) % 100_000) }},
		{"status", text, 16, func(n uint64) any { return pick(n, 2, "new", "paid", "packed", "shipped", "delivered", "returned") }},
		{"channel", text, 16, func(n uint64) any { return pick(n, 3, "web", "shop", "phone", "partner") }},
		{"amount", decimal, 0, func(n uint64) any { return cents(mix(n, 4) % 1_000_000) }},
		{"tax", decimal, 0, func(n uint64) any { return cents(mix(n, 5) % 100_000) }},
		{"weight", double, 0, func(n uint64) any { return float64(mix(n, 6)%10_000) / 8 }},
		{"quantity", integer, 0, func(n uint64) any { return int64(mix(n, 7) % 50) }},
		{"priority", smallint, 0, func(n uint64) any { return int64(mix(n, 8) % 5) }},
		{"ordered", datetime, 0, func(n uint64) any { return moment(mix(n, 9)) }},
		{"shipped", date, 0, func(n uint64) any { return moment(mix(n, 10))[:10] }},
		{"city", text, 40, func(n uint64) any { return words(mix(n, 11), 16) }},
		{"street", text, 60, func(n uint64) any { return words(mix(n, 12), 24) }},
		{"note", text, note + 20, func(n uint64) any { return words(mix(n, 13), note) }},
		{"reference", text, 36, func(n uint64) any { return uuid(n) }},
		{"coupon", text, 24, func(n uint64) any { return someNull(n, 14, func() any { return words(mix(n, 15), 8) }) }},
		{"gift", smallint, 0, func(n uint64) any { return int64(mix(n, 16) % 2) }},
		{"version", integer, 0, func(n uint64) any { return int64(mix(n, 17) % 10) }},
	}
}

// changedByUpdate are the columns whose values an update of the standard table changes.
var changedByUpdate = []string{"status", "amount", "version"}

// many are that many columns, of all kinds in turn.
func many(count int) []column {
	out := []column{{"id", bigint, 0, nil}}
	for i := uint64(1); len(out) < count; i++ {
		c := column{name: fmt.Sprintf("c%03d", i), kind: kind(i % uint64(text+1))}
		switch c.kind {
		case double:
			c.value = func(n uint64) any { return float64(mix(n, i)%10_000) / 8 }
		case decimal:
			c.value = func(n uint64) any { return cents(mix(n, i) % 1_000_000) }
		case datetime:
			c.value = func(n uint64) any { return moment(mix(n, i)) }
		case date:
			c.value = func(n uint64) any { return moment(mix(n, i))[:10] }
		case text:
			c.size = 40
			c.value = func(n uint64) any { return words(mix(n, i), 24) }
		default:
			c.value = func(n uint64) any { return int64(mix(n, i) % 30_000) }
		}
		out = append(out, c)
	}
	return out
}

// mix spreads a row number and a column number over all 64 bits (the finalizer of SplitMix64): values vary, and are the same in every run.
func mix(n, salt uint64) uint64 {
	z := n*0x9e3779b97f4a7c15 + salt*0xd1342543de82ef95
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func pick(n, salt uint64, from ...string) string { return from[mix(n, salt)%uint64(len(from))] }

func someNull(n, salt uint64, value func() any) any {
	if mix(n, salt)%4 != 0 {
		return nil
	}
	return value()
}

func cents(n uint64) string { return fmt.Sprintf("%d.%02d", n/100, n%100) }

// moment is a time in 2023 with microseconds, as all engines read it.
func moment(n uint64) string {
	return fmt.Sprintf("2023-%02d-%02d %02d:%02d:%02d.%06d", 1+n%12, 1+n/12%28, n/336%24, n/8064%60, n/483840%60, n/29030400%1_000_000)
}

func uuid(n uint64) string {
	a, b := mix(n, 100), mix(n, 101)
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", a>>32, a>>16&0xffff, a&0xffff, b>>48, b&0xffffffffffff)
}

// vocabulary makes text that compresses about as text of people does, not as one phrase repeated.
var vocabulary = strings.Fields(`the parcel was left with a neighbour in number please ring twice at door back of house green gate behind
	school river market old new bridge street avenue garden north south upper lower long stone mill church station corner order for
	birthday gift wrap fragile glass handle care keep dry cold call before delivery customer asked to change address after payment
	Nova Friburgo Osório São João Petrópolis Niterói General Barão Santos Rua Praça Travessa Largo confirmed by mail second attempt
	no answer returned depot morning evening Monday Tuesday Friday week next day driver van route stop signed code invoice paid refund`)

// words are about that many bytes of text.
func words(seed uint64, bytes int) string {
	out := make([]byte, 0, bytes+12)
	for i := uint64(0); len(out) < bytes; i++ {
		h := mix(seed, i)
		if len(out) > 0 {
			out = append(out, ' ')
		}
		if h%8 == 0 {
			out = strconv.AppendUint(out, h>>50, 10)
			continue
		}
		out = append(out, vocabulary[h>>8%uint64(len(vocabulary))]...)
	}
	return string(out)
}

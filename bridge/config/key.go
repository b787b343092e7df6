package config

import (
	"cmp"
	"slices"

	"ctbridge/bridge/change"
)

// Key modes.
const (
	KeyPrimary     = "primary_key"
	KeyTable       = "schema_and_table"
	KeyTransaction = "transaction_id"
	KeyNone        = "none"
	KeyColumns     = "columns"
)

// Key formats.
const (
	KeyAuto = "auto"
	KeyText = "text"
)

// TombstonesAuto lets the envelope decide.
const TombstonesAuto = "auto"

// Key says what record keys are.
type Key struct {
	Mode    string         `yaml:"mode" default:"primary_key" oneof:"none|primary_key|schema_and_table|transaction_id|columns" doc:"What the key is. Records with equal keys keep their order; primary_key keeps the order of every row. columns are those of key.columns."`
	Format  string         `yaml:"format" default:"auto" oneof:"auto|text|json|avro" doc:"How the key columns are written: as text, or as a record in JSON or Avro. auto is text; with envelope debezium it is the output's format."`
	Columns ColumnsByTable `yaml:"columns" example:"{dbo.orders: [customer_id], \"sales.*\": [region]}" doc:"Key columns by table, for mode columns; tables are named as in source.tables, an exact name goes before a pattern and a longer pattern before a shorter one. Tables that nothing matches have their primary key."`
}

// ofRow reports whether the key tells rows apart, or groups of rows.
func (k *Key) ofRow() bool { return k.Mode == KeyPrimary || k.Mode == KeyColumns }

// ColumnsOf gives the columns of a table by mode; nil where its primary key is meant.
func (k *Key) ColumnsOf(id change.TableID) []string {
	if k.Mode != KeyColumns {
		return nil
	}
	return k.Columns.Of(id)
}

// ColumnsByTable lists columns by table or pattern.
type ColumnsByTable map[TableChoice][]string

// TableChoice is one entry of a map by table: a TablePattern without a leading !, as it is written.
type TableChoice string

// UnmarshalText checks the pattern.
func (c *TableChoice) UnmarshalText(text []byte) error {
	*c = TableChoice(text)
	_, err := parseName(string(text))
	return err
}

func (c TableChoice) pattern() (p TablePattern) {
	p.text = string(c)
	p.parts, _ = parseName(p.text) // checked when it was read
	return p
}

// Of gives the columns of a table: those of its exact name, else of the longest pattern.
func (m ColumnsByTable) Of(id change.TableID) []string {
	best, _ := closest(m, id)
	return m[best]
}

// closest finds the entry that names a table most exactly.
func closest[M ~map[TableChoice]V, V any](m M, id change.TableID) (choice TableChoice, found bool) {
	var best TablePattern
	for choice := range m {
		if p := choice.pattern(); p.match(id) && (best.text == "" || closer(p, best) > 0) {
			best = p
		}
	}
	return TableChoice(best.text), best.text != ""
}

// closer compares how exactly two patterns name a table; different ones are never equal.
func closer(a, b TablePattern) int {
	exact := func(p TablePattern) int {
		if _, yes := p.exact(); yes {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(exact(a), exact(b)), cmp.Compare(len(a.text), len(b.text)), cmp.Compare(a.text, b.text))
}

// Lists gives the distinct lists of columns, in order.
func (m ColumnsByTable) Lists() [][]string {
	var out [][]string
	for _, columns := range m {
		out = append(out, columns)
	}
	slices.SortFunc(out, slices.Compare)
	return slices.CompactFunc(out, slices.Equal)
}

package change

// TableID names a base table as the catalog spells it.
type TableID struct {
	Schema string // empty where the database has no schemas (SQLite)
	Name   string
}

// String is "schema.name", or the bare name without a schema. It is for people and for message keys, never for SQL.
func (t TableID) String() string {
	if t.Schema == "" {
		return t.Name
	}
	return t.Schema + "." + t.Name
}

// Kind is what a column holds, whatever the database calls it.
type Kind uint8

// The kinds. The comment says which ValueKind a decoded value of that kind has (Null and Absent are always possible).
const (
	Unsupported Kind = iota // no decoder: the table cannot be read until the column is left out
	Bool                    // KindBool
	Int1                    // KindInt
	Int2                    // KindInt
	Int4                    // KindInt
	Int8                    // KindInt
	Uint1                   // KindInt
	Uint2                   // KindInt
	Uint4                   // KindInt
	Uint8                   // KindUint
	Real4                   // KindFloat32
	Real8                   // KindFloat64
	Numeric                 // KindDecimal
	String                  // KindText; a single-byte or database-default character type
	WString                 // KindText; a national (UTF-16) character type
	Bytes                   // KindBytes
	Date                    // KindDate
	Time                    // KindTime; time of day, or a signed duration where the database allows it (MySQL)
	DateTime                // KindDateTime; wall clock without zone
	DateTimeTZ              // KindInstant; an instant, with its offset where the database keeps one
	UUID                    // KindText; canonical lower-case text with hyphens
	JSON                    // KindText; the document's text, unchanged
	Clob                    // KindText; large object
	NClob                   // KindText; large object, national characters
	Blob                    // KindBytes; large object
)

// Known reports whether it is one of the kinds above: those that were stored by a later program may not be.
func (k Kind) Known() bool { return k <= Blob }

// Type is a column's type with its limits, as the catalog gives them.
type Type struct {
	Kind      Kind
	Length    int // bytes for character and binary types, 0 = unlimited or not applicable
	Precision int // digits, for Numeric
	Scale     int // digits after the point for Numeric; fractional-second digits for Time, DateTime, DateTimeTZ
}

// LOB reports whether the type is a large object: its bit never shows in a message's change mask.
func (t Type) LOB() bool { return t.Kind == Clob || t.Kind == NClob || t.Kind == Blob }

// Column is one data column of a table, in source order.
type Column struct {
	Name        string
	Type        Type
	Native      string // the database's own name of the type, e.g. "datetime2(7)"
	Nullable    bool   // as the base table declares it; true where no base table is known
	KeyPosition int    // 1-based position in the primary key (or unique index), 0 = not in the key
}

// Table is one version of a table's structure. It is never changed once events point to it.
type Table struct {
	ID      TableID
	Columns []Column
	Key     []int // indexes into Columns, in key order; empty for a table without key
	Version int   // tableVersion, from 1
}

// NewTable builds a table and derives Key from the columns' key positions.
func NewTable(id TableID, version int, columns []Column) *Table {
	t := &Table{ID: id, Columns: columns, Version: version}
	for position := 1; ; position++ {
		i := indexOfKey(columns, position)
		if i < 0 {
			return t
		}
		t.Key = append(t.Key, i)
	}
}

func indexOfKey(columns []Column, position int) int {
	for i, c := range columns {
		if c.KeyPosition == position {
			return i
		}
	}
	return -1
}

// ColumnIndex gives the index of the named column, -1 if there is none. Names compare exactly.
func (t *Table) ColumnIndex(name string) int {
	for i := range t.Columns {
		if t.Columns[i].Name == name {
			return i
		}
	}
	return -1
}

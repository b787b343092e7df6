// Package cdcwriter makes SQL Server's change tables by hand, as plain tables, for tests: on a server without the feature, or on the peer of test/tdspeer.
package cdcwriter

import (
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"ctbridge/bridge/change"
)

// Writer writes change tables into one schema and their base tables into another.
type Writer struct {
	DB     *sql.DB // takes T-SQL
	Ask    *sql.DB // answers questions about the catalog; the same pool on a server
	Schema string  // of the change tables
	Base   string  // schema of the base tables
}

// Column is a column of a base table.
type Column struct {
	Name, Type string
	NotNull    bool
	Computed   bool // captured, as always NULL
	Left       bool // not captured
}

// Table is a base table.
type Table struct {
	Name    string
	Columns []Column
	Key     []string
	Old     bool // change tables without __$command_id
}

// Parcel is the table of most tests.
func Parcel(name string) Table {
	return Table{Name: name, Key: []string{"id"}, Columns: []Column{
		{Name: "id", Type: "int", NotNull: true}, {Name: "status", Type: "nvarchar(20)"}, {Name: "fee", Type: "decimal(10,2)"},
	}}
}

// Row is a change row; Values are those of the captured columns. A nil Mask is filled: all columns.
type Row struct {
	Cmd, Seq, Op int
	Mask         []byte
	Values       []any
}

// LSN is a commit LSN or sequence value of ten bytes.
func LSN(n int) []byte {
	return append(binary.BigEndian.AppendUint64(nil, uint64(n)), 0, 0)
}

// Day is when the first transaction of a test commits, on the server's clock.
var Day = time.Date(2031, 5, 10, 16, 0, 0, 0, time.UTC)

// quote writes an identifier as the engine does: Babelfish cannot read a doubled bracket.
func quote(name string) string {
	if strings.Contains(name, "]") {
		return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
	}
	return "[" + name + "]"
}

// Literal writes a value in T-SQL.
func Literal(v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case []byte:
		return "0x" + hex.EncodeToString(v)
	case string:
		return "N'" + strings.ReplaceAll(v, "'", "''") + "'"
	case bool:
		if v {
			return "1"
		}
		return "0"
	case time.Time:
		return "'" + v.Format("2006-01-02 15:04:05.000") + "'"
	}
	return fmt.Sprint(v)
}

func (w *Writer) table(schema, name string) string { return quote(schema) + "." + quote(name) }

// Exec runs a statement.
func (w *Writer) Exec(tb testing.TB, text string) {
	tb.Helper()
	if _, err := w.DB.Exec(text); err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
}

// Enable makes the tables that describe capture instances.
func (w *Writer) Enable(tb testing.TB) {
	tb.Helper()
	for _, t := range []string{
		"change_tables] ([object_id] int, [source_object_id] int, [capture_instance] nvarchar(128), [start_lsn] varbinary(10), [role_name] nvarchar(128)",
		"captured_columns] ([object_id] int, [column_name] nvarchar(128), [column_type] nvarchar(128), [column_ordinal] int, [is_computed] bit",
		"index_columns] ([object_id] int, [column_name] nvarchar(128), [index_ordinal] int",
		"ddl_history] ([source_object_id] int, [object_id] int, [ddl_command] nvarchar(4000), [ddl_lsn] varbinary(10)",
		"lsn_time_mapping] ([start_lsn] varbinary(10) NOT NULL, [tran_end_time] datetime, [tran_id] varbinary(10), PRIMARY KEY ([start_lsn])",
	} {
		w.Exec(tb, "CREATE TABLE "+quote(w.Schema)+".["+t+")")
	}
}

// Create makes a base table.
func (w *Writer) Create(tb testing.TB, t Table) {
	tb.Helper()
	var list []string
	for _, c := range t.Columns {
		text := quote(c.Name) + " " + c.Type
		if c.Computed {
			text = quote(c.Name) + " AS (" + c.Type + ")"
		} else if c.NotNull {
			text += " NOT NULL"
		}
		list = append(list, text)
	}
	if len(t.Key) > 0 {
		keys := make([]string, len(t.Key))
		for i, name := range t.Key {
			keys[i] = quote(name)
		}
		list = append(list, "PRIMARY KEY ("+strings.Join(keys, ", ")+")")
	}
	w.Exec(tb, "CREATE TABLE "+w.table(w.Base, t.Name)+" ("+strings.Join(list, ", ")+")")
}

// Capture makes a capture instance of a table, with its rows from an LSN on. Its name is that of the change table without _CT.
func (w *Writer) Capture(tb testing.TB, t Table, instance string, start []byte) {
	tb.Helper()
	list := []string{"[__$start_lsn] varbinary(10) NOT NULL", "[__$end_lsn] varbinary(10)", "[__$seqval] varbinary(10) NOT NULL", "[__$operation] int NOT NULL",
		"[__$update_mask] varbinary(128)"}
	for _, c := range t.captured() {
		typ := c.Type
		if c.Computed {
			typ = "int"
		}
		list = append(list, quote(c.Name)+" "+typ)
	}
	order := "[__$start_lsn], [__$command_id], [__$seqval], [__$operation]"
	if t.Old {
		order = "[__$start_lsn], [__$seqval], [__$operation]"
	} else {
		list = append(list, "[__$command_id] int")
	}
	name := instance + "_CT"
	w.Exec(tb, "CREATE TABLE "+w.table(w.Schema, name)+" ("+strings.Join(list, ", ")+")")
	w.Exec(tb, "CREATE INDEX "+quote(name+"_idx")+" ON "+w.table(w.Schema, name)+" ("+order+")")
	object, base := w.ObjectID(tb, w.Schema, name), w.ObjectID(tb, w.Base, t.Name)
	w.insert(tb, "change_tables", object, base, instance, start, nil)
	for i, c := range t.captured() {
		w.insert(tb, "captured_columns", object, c.Name, c.Type, i+1, c.Computed)
	}
	for i, k := range t.Key {
		w.insert(tb, "index_columns", object, k, i+1)
	}
}

func (t Table) captured() []Column {
	var out []Column
	for _, c := range t.Columns {
		if !c.Left {
			out = append(out, c)
		}
	}
	return out
}

// ObjectID asks for the id of a table.
func (w *Writer) ObjectID(tb testing.TB, schema, name string) int64 {
	tb.Helper()
	var id int64
	err := w.Ask.QueryRow("SELECT o.object_id FROM INFORMATION_SCHEMA.TABLES t JOIN sys.schemas s ON s.name = t.TABLE_SCHEMA JOIN sys.objects o ON "+
		"o.schema_id = s.schema_id AND o.name = t.TABLE_NAME WHERE t.TABLE_SCHEMA = @p1 AND t.TABLE_NAME = @p2", schema, name).Scan(&id)
	if err != nil {
		tb.Fatalf("object id of %s.%s: %v", schema, name, err)
	}
	return id
}

func values(list []any) string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = Literal(v)
	}
	return strings.Join(out, ", ")
}

func (w *Writer) insert(tb testing.TB, table string, list ...any) {
	tb.Helper()
	w.Exec(tb, "INSERT INTO "+w.table(w.Schema, table)+" VALUES ("+values(list)+")")
}

// Changes are rows of one capture instance.
type Changes struct {
	Instance string
	Table    Table
	Rows     []Row
}

// Commit writes a transaction as the capture job does: its change rows and its entry in lsn_time_mapping in one transaction. Without changes
// it is an empty entry.
func (w *Writer) Commit(tb testing.TB, lsn []byte, at time.Time, changes ...Changes) {
	tb.Helper()
	tx, err := w.DB.Begin()
	if err != nil {
		tb.Fatal(err)
	}
	exec := func(text string) {
		if _, err := tx.Exec(text); err != nil {
			tx.Rollback()
			tb.Fatalf("%s: %v", text, err)
		}
	}
	tran := []byte{0}
	for _, c := range changes {
		for _, r := range c.Rows {
			exec(w.InsertText(c, lsn, r))
		}
		tran = lsn[2:8]
	}
	exec("INSERT INTO " + w.table(w.Schema, "lsn_time_mapping") + " VALUES (" + values([]any{lsn, at, tran}) + ")")
	if err := tx.Commit(); err != nil {
		tb.Fatal(err)
	}
}

// InsertText is the statement that writes one change row.
func (w *Writer) InsertText(c Changes, lsn []byte, r Row) string {
	columns := []string{"__$start_lsn", "__$end_lsn", "__$seqval", "__$operation", "__$update_mask"}
	captured := c.Table.captured()
	mask := r.Mask
	if mask == nil {
		mask = make([]byte, (len(captured)+7)/8)
		for i := range captured {
			mask[len(mask)-1-i/8] |= 1 << (i % 8)
		}
	}
	list := []string{Literal(lsn), Literal(nil), Literal(LSN(r.Seq)), Literal(r.Op), Literal(mask)}
	for i, column := range captured {
		columns, list = append(columns, column.Name), append(list, column.literal(r.Values[i]))
	}
	if !c.Table.Old {
		columns, list = append(columns, "__$command_id"), append(list, Literal(r.Cmd))
	}
	for i := range columns {
		columns[i] = quote(columns[i])
	}
	return "INSERT INTO " + w.table(w.Schema, c.Instance+"_CT") + " (" + strings.Join(columns, ", ") + ") VALUES (" + strings.Join(list, ", ") + ")"
}

// literal writes a value of the column. Babelfish makes no datetimeoffset of text by itself.
func (c Column) literal(v any) string {
	if v == nil || !strings.HasPrefix(c.Type, "datetimeoffset") {
		return Literal(v)
	}
	return "CAST(" + Literal(v) + " AS " + c.Type + ")"
}

// CleanUp removes everything below an LSN, as the clean-up job does.
func (w *Writer) CleanUp(tb testing.TB, low []byte, instances ...string) {
	tb.Helper()
	for _, i := range instances {
		w.Exec(tb, "DELETE FROM "+w.table(w.Schema, i+"_CT")+" WHERE [__$start_lsn] < "+Literal(low))
		w.Exec(tb, "UPDATE "+w.table(w.Schema, "change_tables")+" SET [start_lsn] = "+Literal(low)+" WHERE [capture_instance] = "+Literal(i)+
			" AND [start_lsn] < "+Literal(low))
	}
	w.Exec(tb, "DELETE FROM "+w.table(w.Schema, "lsn_time_mapping")+" WHERE [start_lsn] < "+Literal(low))
}

// ID is the name of a base table.
func (w *Writer) ID(name string) change.TableID { return change.TableID{Schema: w.Base, Name: name} }

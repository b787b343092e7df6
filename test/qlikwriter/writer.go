// Package qlikwriter writes change tables as the Qlik task does: base table, <table>__ct with header columns, before-images, masks,
// batches applied table by table. Tests of every room use it, over every database.
package qlikwriter

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"ctbridge/bridge/change"
)

// Dialect is how a database writes what the writer needs.
type Dialect struct {
	Name   string
	Quote  func(string) string
	Param  func(n int) string
	Binary string // type of the change mask
	Time   string // type of the timestamp
}

// The dialects.
var (
	SQLite    = Dialect{Name: "sqlite", Quote: quoted(`"`, `"`), Param: question, Binary: "VARBINARY(128)", Time: "TIMESTAMP(6)"}
	Postgres  = Dialect{Name: "postgres", Quote: quoted(`"`, `"`), Param: func(n int) string { return fmt.Sprintf("$%d", n) }, Binary: "bytea", Time: "timestamp"}
	MariaDB   = Dialect{Name: "mysql", Quote: quoted("`", "`"), Param: question, Binary: "varbinary(128)", Time: "datetime(6)"}
	SQLServer = Dialect{Name: "sqlserver", Quote: bracketed, Param: func(n int) string { return fmt.Sprintf("@p%d", n) }, Binary: "varbinary(128)", Time: "datetime2"}
)

func quoted(left, right string) func(string) string {
	return func(s string) string { return left + strings.ReplaceAll(s, right, right+right) + right }
}

// bracketed falls back on double quotes: Babelfish, which speaks T-SQL, takes no doubled bracket.
func bracketed(s string) string {
	if strings.Contains(s, "]") {
		return quoted(`"`, `"`)(s)
	}
	return quoted("[", "]")(s)
}

func question(int) string { return "?" }

// Writer writes to one database.
type Writer struct {
	DB      *sql.DB
	Dialect Dialect
	Schema  string // "" = the default one, unqualified
}

// Header names a header column in the default order.
var headerNames = []string{"change_seq", "change_oper", "change_mask", "stream_position", "operation", "transaction_id", "timestamp"}

// Shape is how a change table looks.
type Shape struct {
	Table   string
	Columns []string // DDL of the data columns: `id int NOT NULL`
	Key     []string // primary key of the base table; none = no base table key
	Headers []string // without prefix; nil = all seven in the default order
	Prefix  string   // default header__
	Suffix  string   // default __ct
	NoBase  bool     // only the change table
	NoIndex bool     // no index on the change sequence
}

func (s Shape) withDefaults() Shape {
	if s.Headers == nil {
		s.Headers = headerNames
	}
	if s.Prefix == "" {
		s.Prefix = "header__"
	}
	if s.Suffix == "" {
		s.Suffix = "__ct"
	}
	return s
}

// Parcel is the fixture of the field cases: (id int, status varchar(20), fee decimal(10,2)).
func Parcel(table string) Shape {
	return Shape{Table: table, Columns: []string{"id int NOT NULL", "status varchar(20)", "fee decimal(10,2)"}, Key: []string{"id"}}
}

// Name is the quoted, qualified name of a table.
func (w *Writer) Name(table string) string {
	if w.Schema == "" {
		return w.Dialect.Quote(table)
	}
	return w.Dialect.Quote(w.Schema) + "." + w.Dialect.Quote(table)
}

// ID is the table as the catalog knows it.
func (w *Writer) ID(table string) change.TableID {
	return change.TableID{Schema: w.Schema, Name: table}
}

// Exec runs SQL, committed.
func (w *Writer) Exec(t testing.TB, format string, args ...any) {
	t.Helper()
	text := fmt.Sprintf(format, args...)
	if _, err := w.DB.ExecContext(context.Background(), text); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// Create makes base and change table.
func (w *Writer) Create(t testing.TB, s Shape) {
	t.Helper()
	s = s.withDefaults()
	if !s.NoBase {
		columns := append([]string(nil), s.Columns...)
		if len(s.Key) > 0 {
			quoted := make([]string, len(s.Key))
			for i, k := range s.Key {
				quoted[i] = w.Dialect.Quote(k)
			}
			columns = append(columns, "PRIMARY KEY ("+strings.Join(quoted, ", ")+")")
		}
		w.Exec(t, "CREATE TABLE %s (%s)", w.Name(s.Table), strings.Join(columns, ", "))
	}
	columns := w.headerDDL(s)
	for _, c := range s.Columns {
		columns = append(columns, strings.ReplaceAll(c, " NOT NULL", ""))
	}
	w.Exec(t, "CREATE TABLE %s (%s)", w.Name(s.Table+s.Suffix), strings.Join(columns, ", "))
	if !s.NoIndex {
		w.Exec(t, "CREATE INDEX %s ON %s (%s)", w.Dialect.Quote(s.Table+s.Suffix+"_seq"), w.Name(s.Table+s.Suffix), w.Dialect.Quote(s.Prefix+"change_seq"))
	}
}

func (w *Writer) headerDDL(s Shape) []string {
	types := map[string]string{
		"change_seq": "varchar(35)", "change_oper": "varchar(1)", "change_mask": w.Dialect.Binary, "stream_position": "varchar(128)",
		"operation": "varchar(12)", "transaction_id": "varchar(32)", "timestamp": w.Dialect.Time,
	}
	var out []string
	for _, h := range s.Headers {
		out = append(out, w.Dialect.Quote(s.Prefix+h)+" "+types[h])
	}
	return out
}

// Row is one row of a change table.
type Row struct {
	Seq    string // 35 digits; see Seq
	Oper   string // I U D B, or a long operation name
	Mask   []byte
	Tx     string
	At     time.Time // default: the time of the sequence
	Values []any
}

// Seq builds a change sequence on a fixed day: the number decides.
func Seq(n int) string { return SeqAt(Day, n) }

// Day is when the fixed sequences happen.
var Day = time.Date(2023, 9, 11, 3, 23, 25, 0, time.UTC)

// SeqAt builds a change sequence.
func SeqAt(at time.Time, n int) string {
	return fmt.Sprintf("%s%02d%019d", at.UTC().Format("20060102150405"), at.Nanosecond()/10_000_000, n)
}

// Queryer is a *sql.DB or *sql.Tx.
type Queryer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

var longNames = map[string]string{"I": "INSERT", "U": "UPDATE", "D": "DELETE", "B": "BEFOREIMAGE"}

// Add writes rows to a change table in one statement per row, through the given connection or transaction.
func (w *Writer) Add(t testing.TB, q Queryer, s Shape, rows ...Row) {
	t.Helper()
	s = s.withDefaults()
	for _, r := range rows {
		params, args := w.params(append(w.headerValues(s, r), r.Values...))
		text := "INSERT INTO " + w.Name(s.Table+s.Suffix) + " VALUES (" + strings.Join(params, ", ") + ")"
		if _, err := q.ExecContext(context.Background(), text, args...); err != nil {
			t.Fatalf("%s %v: %v", text, args, err)
		}
	}
}

// params writes the values: NULL as it is, because an argument without type is refused by some, the others as arguments.
func (w *Writer) params(values []any) (params []string, args []any) {
	for _, v := range values {
		if v == nil {
			params = append(params, "NULL")
			continue
		}
		args = append(args, v)
		params = append(params, w.Dialect.Param(len(args)))
	}
	return params, args
}

func (w *Writer) headerValues(s Shape, r Row) []any {
	at := r.At
	if at.IsZero() {
		at = Day
	}
	oper, long := r.Oper, longNames[r.Oper]
	if long == "" {
		oper, long = "", r.Oper
	}
	tx := any(r.Tx)
	if r.Tx == "" {
		tx = nil
	}
	var seq any = r.Seq
	if r.Seq == "" {
		seq = nil
	}
	var mask any
	if r.Mask != nil {
		mask = r.Mask
	}
	values := map[string]any{
		"change_seq": seq, "change_oper": oper, "change_mask": mask, "stream_position": "pos:" + r.Seq, "operation": long,
		"transaction_id": tx, "timestamp": at.UTC().Format("2006-01-02 15:04:05.000000"),
	}
	var out []any
	for _, h := range s.Headers {
		out = append(out, values[h])
	}
	return out
}

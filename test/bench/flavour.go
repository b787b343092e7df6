package main

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// flavour is how an engine writes tables.
type flavour struct {
	before   string // in front of the name of a table, and
	behind   string // behind it
	types    [text]string
	text     string // type of text, over its size
	binary   string // type of the change mask
	time     string // type of the commit time
	hex      string // a binary literal, over its digits
	nullable string // behind columns that may be NULL
	param    string // the first placeholder
}

var flavours = map[string]flavour{
	"sqlite": {
		types: [text]string{"bigint", "int", "smallint", "double", "text", "datetime(6)", "date"}, text: "varchar(%d)",
		binary: "varbinary(128)", time: "timestamp(6)", hex: "x'%s'", param: "?",
	},
	"postgres": {
		types: [text]string{"bigint", "integer", "smallint", "double precision", "numeric(12,2)", "timestamp", "date"}, text: "varchar(%d)",
		binary: "bytea", time: "timestamp", hex: `'\x%s'`, param: "$1",
	},
	"mariadb": {
		types: [text]string{"bigint", "int", "smallint", "double", "decimal(12,2)", "datetime(6)", "date"}, text: "varchar(%d)",
		binary: "varbinary(128)", time: "datetime(6)", hex: "x'%s'", param: "?",
	},
	"sqlserver": {
		before: "[dbo].[", behind: "]", types: [text]string{"bigint", "int", "smallint", "float", "decimal(12,2)", "datetime2", "date"}, text: "nvarchar(%d)",
		binary: "varbinary(128)", time: "datetime2", hex: "0x%s", nullable: " NULL", param: "@p1",
	},
}

func (f flavour) typeOf(c column) string {
	if c.kind == text {
		return fmt.Sprintf(f.text, c.size)
	}
	return f.types[c.kind]
}

// tables are the statements that make a base table and its change table, both empty.
func (f flavour) tables(s shape) []string {
	base := []string{"id " + f.types[bigint] + " NOT NULL"}
	changes := []string{
		"header__change_seq varchar(35) NOT NULL", "header__change_oper varchar(1)" + f.nullable, "header__change_mask " + f.binary + f.nullable,
		"header__stream_position varchar(128)" + f.nullable, "header__operation varchar(12)" + f.nullable,
		"header__transaction_id varchar(32)" + f.nullable, "header__timestamp " + f.time + f.nullable,
	}
	for _, c := range s.columns {
		if c.name != "id" {
			base = append(base, c.name+" "+f.typeOf(c)+f.nullable)
		}
		changes = append(changes, c.name+" "+f.typeOf(c)+f.nullable)
	}
	return []string{
		"CREATE TABLE " + f.base(s) + " (" + strings.Join(base, ", ") + ", PRIMARY KEY (id))",
		"CREATE TABLE " + f.changes(s) + " (" + strings.Join(changes, ", ") + ")",
	}
}

func (f flavour) base(s shape) string    { return f.before + s.table + f.behind }
func (f flavour) changes(s shape) string { return f.before + s.table + "__ct" + f.behind }

// index is the statement that a reader of the change table needs.
func (f flavour) index(s shape) string {
	return "CREATE INDEX " + s.table + "__ct_seq ON " + f.changes(s) + " (header__change_seq)"
}

// names are the columns of the change table.
func (s shape) names() []string {
	out := append([]string(nil), headers...)
	for _, c := range s.columns {
		out = append(out, c.name)
	}
	return out
}

// appendLiterals writes a row as (…) for INSERT. The values hold no backslash.
func (f flavour) appendLiterals(dst []byte, row []any) []byte {
	dst = append(dst, '(')
	for i, v := range row {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		switch v := v.(type) {
		case nil:
			dst = append(dst, "NULL"...)
		case string:
			dst = append(append(append(dst, '\''), strings.ReplaceAll(v, "'", "''")...), '\'')
		case []byte:
			dst = fmt.Appendf(dst, f.hex, hex.EncodeToString(v))
		default:
			dst = appendNumber(dst, v)
		}
	}
	return append(dst, ')')
}

// appendTabbed writes a row as the text format of PostgreSQL's COPY and MySQL's LOAD DATA; mask stands in front of the digits of the change mask. The
// values hold no tab, line feed or backslash.
func appendTabbed(dst []byte, row []any, mask string) []byte {
	for i, v := range row {
		if i > 0 {
			dst = append(dst, '\t')
		}
		switch v := v.(type) {
		case nil:
			dst = append(dst, `\N`...)
		case string:
			dst = append(dst, v...)
		case []byte:
			dst = hex.AppendEncode(append(dst, mask...), v)
		default:
			dst = appendNumber(dst, v)
		}
	}
	return append(dst, '\n')
}

func appendNumber(dst []byte, v any) []byte {
	switch v := v.(type) {
	case int64:
		return strconv.AppendInt(dst, v, 10)
	case float64:
		return strconv.AppendFloat(dst, v, 'f', -1, 64)
	}
	return fmt.Append(dst, v)
}

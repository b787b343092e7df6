package tdspeer

import (
	"context"
	"database/sql"
	"fmt"
	"hash/crc32"
	"strings"
)

// viewsSQL makes the tables that stand for catalog views, one set for each connection.
const viewsSQL = `
DROP TABLE IF EXISTS temp."catalog.version";
DROP TABLE IF EXISTS temp."information_schema.tables";
DROP TABLE IF EXISTS temp."information_schema.columns";
DROP TABLE IF EXISTS temp."sys.schemas";
DROP TABLE IF EXISTS temp."sys.objects";
DROP TABLE IF EXISTS temp."sys.columns";
DROP TABLE IF EXISTS temp."sys.indexes";
DROP TABLE IF EXISTS temp."sys.index_columns";
CREATE TEMP TABLE "catalog.version" (ddl);
CREATE TEMP TABLE "information_schema.tables" (TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE);
CREATE TEMP TABLE "information_schema.columns" (TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, ORDINAL_POSITION, DATA_TYPE, CHARACTER_MAXIMUM_LENGTH,
  NUMERIC_PRECISION, NUMERIC_SCALE, DATETIME_PRECISION, IS_NULLABLE, COLLATION_NAME);
CREATE TEMP TABLE "sys.schemas" (schema_id, name);
CREATE TEMP TABLE "sys.objects" (object_id, schema_id, name);
CREATE TEMP TABLE "sys.columns" (object_id, column_id, name, is_computed);
CREATE TEMP TABLE "sys.indexes" (object_id, index_id, name, is_unique, is_primary_key, has_filter, is_disabled);
CREATE TEMP TABLE "sys.index_columns" (object_id, index_id, column_id, key_ordinal);
`

// filler writes the catalog of one connection.
type filler struct {
	ctx  context.Context
	conn *sql.Conn
	err  error
}

func (f *filler) put(view string, values ...any) {
	if f.err == nil {
		marks := strings.TrimSuffix(strings.Repeat("?, ", len(values)), ", ")
		_, f.err = f.conn.ExecContext(f.ctx, `INSERT INTO temp."`+view+`" VALUES (`+marks+`)`, values...)
	}
}

// list runs a pragma or query and gives its rows.
func (f *filler) list(format string, args ...any) (list [][]any) {
	if f.err != nil {
		return nil
	}
	rows, err := f.conn.QueryContext(f.ctx, fmt.Sprintf(format, args...))
	if err != nil {
		f.err = err
		return nil
	}
	defer rows.Close()
	columns, _ := rows.Columns()
	for rows.Next() {
		row, dest := make([]any, len(columns)), make([]any, len(columns))
		for i := range row {
			dest[i] = &row[i]
		}
		if f.err = rows.Scan(dest...); f.err != nil {
			return nil
		}
		list = append(list, row)
	}
	f.err = rows.Err()
	return list
}

// fillCatalog describes all tables as they are now, unless the connection has them so already.
func (d *Database) fillCatalog(ctx context.Context, conn *sql.Conn) error {
	d.mu.Lock()
	now := d.ddl
	d.mu.Unlock()
	known := int64(-1)
	if err := conn.QueryRowContext(ctx, `SELECT ddl FROM temp."catalog.version"`).Scan(&known); err == nil && known == now {
		return nil
	}
	f := &filler{ctx: ctx, conn: conn}
	_, f.err = conn.ExecContext(ctx, viewsSQL)
	for i, schema := range f.list("PRAGMA database_list") {
		name := schema[1].(string)
		if name == "main" || name == "temp" {
			continue
		}
		f.put("sys.schemas", i, name)
		for _, t := range f.list(`SELECT name, type FROM %s.sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%%'`, doubleQuoted(name)) {
			d.fillTable(f, i, name, t[0].(string), t[1] == "view")
		}
	}
	f.put("catalog.version", now)
	return f.err
}

func (d *Database) fillTable(f *filler, schemaID int, schema, table string, view bool) {
	kind := "BASE TABLE"
	if view {
		kind = "VIEW"
	}
	d.mu.Lock()
	object := d.objects[doubleQuoted(schema)+"."+doubleQuoted(table)]
	d.mu.Unlock()
	f.put("information_schema.tables", schema, table, kind)
	f.put("sys.objects", object, schemaID, table)
	for i, c := range f.list(`PRAGMA %s.table_xinfo(%s)`, doubleQuoted(schema), doubleQuoted(table)) {
		f.column(object, schema, table, i+1, c)
	}
	for i, index := range f.list(`PRAGMA %s.index_list(%s)`, doubleQuoted(schema), doubleQuoted(table)) {
		f.put("sys.indexes", object, i+1, index[1], index[2], index[3] == "pk", index[4], 0)
		for ordinal, c := range f.list(`PRAGMA %s.index_info(%s)`, doubleQuoted(schema), doubleQuoted(index[1].(string))) {
			f.put("sys.index_columns", object, i+1, columnID(c[2]), ordinal+1)
		}
	}
}

// column describes a row of table_xinfo: cid, name, type, notnull, default, pk, hidden (2 and 3 = generated).
func (f *filler) column(object int64, schema, table string, ordinal int, c []any) {
	typ := typeOfPrefixed(c[2].(string))
	computed := c[6].(int64) >= 2
	if typ == "" {
		typ = "int" // of a computed column, which declares none
	}
	t := Catalog(typ)
	nullable := "YES"
	if c[3].(int64) != 0 || c[5].(int64) != 0 {
		nullable = "NO"
	}
	f.put("information_schema.columns", schema, table, c[1], ordinal, t.Name, t.Length, t.Precision, t.Scale, t.Fraction, nullable, nil)
	f.put("sys.columns", object, columnID(c[1]), c[1], computed)
}

// columnID is the number of a column. SQL Server never gives one to another column; the store behind this peer only knows places, which move when a
// column goes. A number made of the name is never wrong about that, but a rename is not seen in it.
func columnID(name any) int64 {
	text, _ := name.(string)
	return int64(crc32.ChecksumIEEE([]byte(text)))
}

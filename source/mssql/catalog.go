package mssql

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"

	"ctbridge/bridge/change"
	"ctbridge/source"
	"ctbridge/source/sqldb"
)

// Names come from INFORMATION_SCHEMA: Babelfish shows names of the sys views in lower case, and compares them without case as SQL Server does in
// such a database. The casts change nothing on SQL Server; Babelfish would send table names in a code page.

const tablesSQL = `SELECT CAST(t.TABLE_SCHEMA AS nvarchar(128)), CAST(t.TABLE_NAME AS nvarchar(128)) FROM INFORMATION_SCHEMA.TABLES t
WHERE t.TABLE_TYPE IN ('BASE TABLE', 'VIEW') AND t.TABLE_SCHEMA NOT IN ('sys', 'INFORMATION_SCHEMA', 'information_schema')
ORDER BY t.TABLE_SCHEMA, t.TABLE_NAME`

// Tables lists tables and views. The server itself leaves out those that the login may not see.
func (e *Engine) Tables(ctx context.Context) ([]change.TableID, error) {
	var ids []change.TableID
	err := e.Each(ctx, "list tables", tablesSQL, nil, func(scan func(dst ...any) error) error {
		var id change.TableID
		err := scan(&id.Schema, &id.Name)
		ids = append(ids, id)
		return err
	})
	return ids, err
}

// describeWidth is how many tables one pair of queries describes; each takes two of the 2,100 arguments that a query may have.
const describeWidth = 200

// Describe reads columns, keys and identities with two queries for every 200 tables. The key is the primary key, else the first unique index
// by name that is not filtered and whose columns are NOT NULL. Identity is the object id.
func (e *Engine) Describe(ctx context.Context, ids []change.TableID) ([]source.Relation, error) {
	var all []source.Relation
	for start := 0; start < len(ids); start += describeWidth {
		some, err := e.describe(ctx, ids[start:min(start+describeWidth, len(ids))])
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

func (e *Engine) describe(ctx context.Context, ids []change.TableID) ([]source.Relation, error) {
	wanted, args := wantedSQL(ids)
	relations, err := e.columns(ctx, wanted, args)
	if err != nil {
		return nil, err
	}
	indexes, err := e.indexes(ctx, wanted, args)
	if err != nil {
		return nil, err
	}
	for i := range relations {
		sqldb.SetKey(relations[i].Columns, indexes[relations[i].ID])
	}
	return relations, nil
}

// wantedSQL names the tables as a common table expression over arguments.
func wantedSQL(ids []change.TableID) (string, []any) {
	var b strings.Builder
	args := make([]any, 0, 2*len(ids))
	b.WriteString("WITH wanted(s, n) AS (")
	for i, id := range ids {
		if i > 0 {
			b.WriteString(" UNION ALL ")
		}
		fmt.Fprintf(&b, "SELECT @p%d, @p%d", 2*i+1, 2*i+2)
		args = append(args, id.Schema, id.Name)
	}
	b.WriteString(")\n")
	return b.String(), args
}

// columnsSQL joins the sys views loosely: what is not found there costs only the identity, the ids of columns and the mark of computed ones.
const columnsSQL = `SELECT CAST(c.TABLE_SCHEMA AS nvarchar(128)), CAST(c.TABLE_NAME AS nvarchar(128)), o.object_id, c.COLUMN_NAME, c.DATA_TYPE, c.CHARACTER_MAXIMUM_LENGTH,
  c.NUMERIC_PRECISION, c.NUMERIC_SCALE, c.DATETIME_PRECISION, c.IS_NULLABLE, k.is_computed, k.column_id
FROM wanted w
JOIN INFORMATION_SCHEMA.COLUMNS c ON c.TABLE_SCHEMA = w.s AND c.TABLE_NAME = w.n
LEFT JOIN sys.schemas m ON m.name = c.TABLE_SCHEMA
LEFT JOIN sys.objects o ON o.schema_id = m.schema_id AND o.name = c.TABLE_NAME
LEFT JOIN sys.columns k ON k.object_id = o.object_id AND k.name = c.COLUMN_NAME
ORDER BY c.TABLE_SCHEMA, c.TABLE_NAME, c.ORDINAL_POSITION`

func (e *Engine) columns(ctx context.Context, wanted string, args []any) ([]source.Relation, error) {
	var found []source.Relation
	err := e.Each(ctx, "describe columns", wanted+columnsSQL, args, func(scan func(dst ...any) error) error {
		row, err := scanColumn(scan)
		if err != nil {
			return err
		}
		last := len(found) - 1
		if last < 0 || found[last].ID != row.table {
			found = append(found, source.Relation{ID: row.table, Identity: row.identity})
			last++
		}
		found[last].Columns = append(found[last].Columns, row.column)
		if row.columnID != "" {
			found[last].ColumnIDs = append(found[last].ColumnIDs, row.columnID)
		}
		if row.computed {
			found[last].Computed = append(found[last].Computed, row.column.Name)
		}
		return nil
	})
	for i := range found {
		if len(found[i].ColumnIDs) < len(found[i].Columns) {
			found[i].ColumnIDs = nil // a server whose sys.columns does not tell all of them
		}
	}
	return found, err
}

// catalogRow is one row of columnsSQL.
type catalogRow struct {
	table    change.TableID
	identity string
	column   change.Column
	columnID string // "" where the server does not tell
	computed bool
}

func scanColumn(scan func(dst ...any) error) (row catalogRow, err error) {
	var object, length, precision, scale, fraction, number sql.NullInt64
	var name, nullable string
	var computed sql.NullBool
	err = scan(&row.table.Schema, &row.table.Name, &object, &row.column.Name, &name, &length, &precision, &scale, &fraction, &nullable, &computed, &number)
	if object.Valid {
		row.identity = strconv.FormatInt(object.Int64, 10)
	}
	if object.Valid && number.Valid {
		row.columnID = row.identity + "." + strconv.FormatInt(number.Int64, 10)
	}
	row.column.Type, row.column.Native = typeOf(catalogType{strings.ToLower(name), int(length.Int64), int(precision.Int64), int(scale.Int64), int(fraction.Int64)})
	row.column.Nullable = !strings.EqualFold(nullable, "NO")
	row.computed = computed.Bool
	return row, err
}

const indexesSQL = `SELECT CAST(c.TABLE_SCHEMA AS nvarchar(128)), CAST(c.TABLE_NAME AS nvarchar(128)), i.name, i.is_primary_key, c.COLUMN_NAME
FROM wanted w
JOIN sys.schemas m ON m.name = w.s
JOIN sys.objects o ON o.schema_id = m.schema_id AND o.name = w.n
JOIN sys.indexes i ON i.object_id = o.object_id AND i.is_unique = 1 AND i.has_filter = 0 AND i.is_disabled = 0
JOIN sys.index_columns x ON x.object_id = i.object_id AND x.index_id = i.index_id AND x.key_ordinal > 0
JOIN sys.columns k ON k.object_id = x.object_id AND k.column_id = x.column_id
JOIN INFORMATION_SCHEMA.COLUMNS c ON c.TABLE_SCHEMA = w.s AND c.TABLE_NAME = w.n AND c.COLUMN_NAME = k.name
ORDER BY c.TABLE_SCHEMA, c.TABLE_NAME, i.is_primary_key DESC, i.name, x.key_ordinal`

// indexes gives the unique indexes of every table, the primary key first.
func (e *Engine) indexes(ctx context.Context, wanted string, args []any) (map[change.TableID][]sqldb.Index, error) {
	found := map[change.TableID][]sqldb.Index{}
	err := e.Each(ctx, "describe keys", wanted+indexesSQL, args, func(scan func(dst ...any) error) error {
		var id change.TableID
		var index, column string
		var primary bool
		if err := scan(&id.Schema, &id.Name, &index, &primary, &column); err != nil {
			return err
		}
		list := found[id]
		if len(list) == 0 || list[len(list)-1].Name != index {
			list = append(list, sqldb.Index{Name: index, Primary: primary})
		}
		list[len(list)-1].Columns = append(list[len(list)-1].Columns, column)
		found[id] = list
		return nil
	})
	return found, err
}

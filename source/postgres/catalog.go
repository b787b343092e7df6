package postgres

import (
	"context"
	"strconv"

	"github.com/jackc/pgx/v5"

	"ctbridge/bridge/change"
	"ctbridge/source"
)

// A partitioned table is listed once, its partitions are not: its rows are read through it. Rights are not asked for here: a table that
// may not be read must show up and fail by name, not be missing.
const tablesSQL = `SELECT n.nspname::text, c.relname::text
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
  AND n.nspname <> 'information_schema' AND left(n.nspname, 3) <> 'pg_'
ORDER BY 1, 2`

// Tables lists tables, partitioned tables, views, materialised views and foreign tables.
func (e *Engine) Tables(ctx context.Context) ([]change.TableID, error) {
	var ids []change.TableID
	err := e.each(ctx, "list tables", tablesSQL, nil, func(rows pgx.Rows) error {
		var id change.TableID
		err := rows.Scan(&id.Schema, &id.Name)
		ids = append(ids, id)
		return err
	})
	return ids, err
}

// wanted names the relations of a Describe: the arguments are two arrays of equal length, schemas and names.
const wantedSQL = `WITH RECURSIVE wanted AS (
  SELECT c.oid, n.nspname::text AS schema, c.relname::text AS name
  FROM unnest($1::text[], $2::text[]) AS w(schema, name)
  JOIN pg_catalog.pg_namespace n ON n.nspname = w.schema
  JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = w.name
  WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
)`

// A domain stands for its base type; the modifier of a domain over a domain is that of the innermost one (getBaseTypeAndTypmod in PostgreSQL).
const columnsSQL = wantedSQL + `, base AS (
  SELECT t.oid AS domain, t.typbasetype AS type, t.typtypmod AS mod, t.typnotnull AS required
  FROM pg_catalog.pg_type t WHERE t.typtype = 'd'
  UNION ALL
  SELECT b.domain, t.typbasetype, t.typtypmod, b.required OR t.typnotnull
  FROM base b JOIN pg_catalog.pg_type t ON t.oid = b.type AND t.typtype = 'd'
), plain AS (
  SELECT b.* FROM base b JOIN pg_catalog.pg_type t ON t.oid = b.type AND t.typtype <> 'd'
)
SELECT w.schema, w.name, w.oid::bigint, a.attname::text,
  coalesce(p.type, a.atttypid)::bigint, coalesce(p.mod, a.atttypmod),
  pg_catalog.format_type(coalesce(p.type, a.atttypid), coalesce(p.mod, a.atttypmod)),
  a.attnotnull OR coalesce(p.required, false), a.attgenerated <> '', coalesce(k.position, 0), a.attnum::int
FROM wanted w
JOIN pg_catalog.pg_attribute a ON a.attrelid = w.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN plain p ON p.domain = a.atttypid
LEFT JOIN LATERAL (
  SELECT u.position::int FROM (
    SELECT i.indkey::int2[] AS columns, i.indnkeyatts AS width
    FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid
    WHERE i.indrelid = w.oid AND i.indisunique AND i.indisvalid AND i.indimmediate
      AND i.indpred IS NULL AND i.indexprs IS NULL
      AND (i.indisprimary OR NOT EXISTS (
        SELECT FROM unnest(i.indkey::int2[]) WITH ORDINALITY AS f(attnum, position)
        JOIN pg_catalog.pg_attribute fa ON fa.attrelid = w.oid AND fa.attnum = f.attnum
        WHERE f.position <= i.indnkeyatts AND NOT fa.attnotnull))
    ORDER BY i.indisprimary DESC, x.relname LIMIT 1
  ) best, unnest(best.columns) WITH ORDINALITY AS u(attnum, position)
  WHERE u.attnum = a.attnum AND u.position <= best.width
) k ON true
ORDER BY w.schema, w.name, a.attnum`

// Describe reads the structure of the named tables with one query. The key is the primary key, else the first unique index by name that is
// neither partial nor over expressions nor deferrable and whose columns are NOT NULL. Identity is the table's oid, a
// column's id is the oid with the column's number: a rename keeps it, and no later column or table has it again.
func (e *Engine) Describe(ctx context.Context, ids []change.TableID) ([]source.Relation, error) {
	schemas, names := make([]string, len(ids)), make([]string, len(ids))
	for i, id := range ids {
		schemas[i], names[i] = id.Schema, id.Name
	}
	var found []source.Relation
	err := e.each(ctx, "describe tables", columnsSQL, []any{schemas, names}, func(rows pgx.Rows) error {
		row, err := scanColumn(rows)
		if err != nil {
			return err
		}
		last := len(found) - 1
		if last < 0 || found[last].ID != row.table {
			found = append(found, source.Relation{ID: row.table, Identity: row.identity})
			last++
		}
		found[last].Columns = append(found[last].Columns, row.column)
		found[last].ColumnIDs = append(found[last].ColumnIDs, row.columnID)
		if row.computed {
			found[last].Computed = append(found[last].Computed, row.column.Name)
		}
		return nil
	})
	return found, err
}

// catalogRow is one row of columnsSQL.
type catalogRow struct {
	table    change.TableID
	identity string
	column   change.Column
	columnID string
	computed bool
}

func scanColumn(rows pgx.Rows) (row catalogRow, err error) {
	var relation, typeOID int64
	var mod, number int
	var required bool
	c := &row.column
	err = rows.Scan(&row.table.Schema, &row.table.Name, &relation, &c.Name, &typeOID, &mod, &c.Native, &required, &row.computed, &c.KeyPosition, &number)
	row.identity = strconv.FormatInt(relation, 10)
	row.columnID = row.identity + "." + strconv.Itoa(number)
	c.Type = typeOf(uint32(typeOID), mod)
	c.Nullable = !required
	return row, err
}

// each runs a catalog query and calls row for every row.
func (e *Engine) each(ctx context.Context, where, sql string, args []any, row func(pgx.Rows) error) error {
	pool, err := e.conns(ctx)
	if err != nil {
		return err
	}
	rows, err := pool.Query(ctx, sql, args...)
	if err != nil {
		return fail(ctx, where, err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows); err != nil {
			return fail(ctx, where, err)
		}
	}
	return fail(ctx, where, rows.Err())
}

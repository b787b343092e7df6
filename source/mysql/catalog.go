package mysql

import (
	"context"
	"database/sql"
	"slices"
	"strings"

	"ctbridge/bridge/change"
	"ctbridge/source"
	"ctbridge/source/sqldb"
)

const tablesQuery = `
SELECT table_schema, table_name, COALESCE(DATABASE(), '') FROM information_schema.tables
WHERE table_schema = DATABASE()
	OR DATABASE() IS NULL AND table_schema NOT IN ('information_schema', 'performance_schema', 'mysql', 'sys')
ORDER BY table_schema, table_name`

// Tables lists the tables and views of the DSN's database, or of all databases but the server's own. The catalog compares without regard
// to case, this does not.
func (e *Engine) Tables(ctx context.Context) ([]change.TableID, error) {
	var ids []change.TableID
	err := e.Each(ctx, "list tables", tablesQuery, nil, func(scan func(...any) error) error {
		var id change.TableID
		var database string
		if err := scan(&id.Schema, &id.Name, &database); err != nil {
			return err
		}
		if database == "" || id.Schema == database {
			ids = append(ids, id)
		}
		return nil
	})
	return ids, err
}

// The catalog compares names without regard to case: the cast makes it compare exactly, and keeps MariaDB from taking two such names for
// one and looking up the first only. The schema may still match in another case, which the callers sort out.
const columnsQuery = `
SELECT table_schema, table_name, column_name, is_nullable = 'YES', data_type, column_type,
	character_octet_length, numeric_precision, numeric_scale, datetime_precision, COALESCE(generation_expression, '') <> ''
FROM information_schema.columns
WHERE table_schema = ? AND CAST(table_name AS BINARY) IN (?names)
ORDER BY table_name, ordinal_position`

const indexesQuery = `
SELECT table_schema, table_name, index_name, column_name
FROM information_schema.statistics
WHERE table_schema = ? AND CAST(table_name AS BINARY) IN (?names) AND non_unique = 0
ORDER BY CAST(table_name AS BINARY), index_name, seq_in_index`

// table is a table on its way to a Relation.
type table struct {
	relation source.Relation
	indexes  []sqldb.Index
}

// described is how many tables one pair of catalog queries describes.
const described = 500

// Describe reads the named tables with two queries for every 500 of them in one database.
func (e *Engine) Describe(ctx context.Context, ids []change.TableID) ([]source.Relation, error) {
	tables := map[change.TableID]*table{}
	bySchema := map[string][]any{}
	for _, id := range ids {
		tables[id] = &table{}
		bySchema[id.Schema] = append(bySchema[id.Schema], id.Name)
	}
	for schema, names := range bySchema {
		for chunk := range slices.Chunk(names, described) {
			if err := e.readColumns(ctx, schema, chunk, tables); err != nil {
				return nil, err
			}
			if err := e.readIndexes(ctx, schema, chunk, tables); err != nil {
				return nil, err
			}
		}
	}
	var relations []source.Relation
	for _, id := range ids {
		if t := tables[id]; len(t.relation.Columns) > 0 {
			sqldb.SetKey(t.relation.Columns, t.indexes)
			relations = append(relations, t.relation)
		}
	}
	return relations, nil
}

// fill puts schema and names into a catalog query.
func fill(query, schema string, names []any) (string, []any) {
	return strings.Replace(query, "?names", placeholders(len(names)), 1), append([]any{schema}, names...)
}

func placeholders(n int) string { return strings.Repeat("?, ", n-1) + "?" }

func (e *Engine) readColumns(ctx context.Context, schema string, names []any, tables map[change.TableID]*table) error {
	text, args := fill(columnsQuery, schema, names)
	return e.Each(ctx, "describe tables", text, args, func(scan func(...any) error) error {
		var id change.TableID
		var column change.Column
		var generated bool
		var c catalogColumn
		var octets, precision, scale, seconds sql.NullInt64
		err := scan(&id.Schema, &id.Name, &column.Name, &column.Nullable, &c.dataType, &c.columnType,
			&octets, &precision, &scale, &seconds, &generated)
		t := tables[id]
		if err != nil || t == nil {
			return err
		}
		c.octets, c.precision, c.scale, c.seconds = int(octets.Int64), int(precision.Int64), int(scale.Int64), int(seconds.Int64)
		column.Type, column.Native = typeOf(c), c.columnType
		t.relation.ID = id
		t.relation.Columns = append(t.relation.Columns, column)
		if generated {
			t.relation.Computed = append(t.relation.Computed, column.Name)
		}
		return nil
	})
}

func (e *Engine) readIndexes(ctx context.Context, schema string, names []any, tables map[change.TableID]*table) error {
	text, args := fill(indexesQuery, schema, names)
	return e.Each(ctx, "describe tables", text, args, func(scan func(...any) error) error {
		var id change.TableID
		var index string
		var column sql.NullString // NULL for an expression
		err := scan(&id.Schema, &id.Name, &index, &column)
		t := tables[id]
		if err != nil || t == nil {
			return err
		}
		if n := len(t.indexes); n == 0 || t.indexes[n-1].Name != index {
			t.indexes = append(t.indexes, sqldb.Index{Name: index, Primary: index == "PRIMARY"})
		}
		last := &t.indexes[len(t.indexes)-1]
		last.Columns = append(last.Columns, column.String)
		return nil
	})
}

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

const columnsQuery = `
SELECT table_schema, table_name, column_name, is_nullable = 'YES', data_type, column_type,
	character_octet_length, numeric_precision, numeric_scale, datetime_precision, COALESCE(generation_expression, '') <> ''
FROM information_schema.columns
WHERE table_schema IN (?schemas) AND table_name IN (?names)
ORDER BY table_schema, table_name, ordinal_position`

const indexesQuery = `
SELECT table_schema, table_name, index_name, column_name
FROM information_schema.statistics
WHERE table_schema IN (?schemas) AND table_name IN (?names) AND non_unique = 0
ORDER BY table_schema, table_name, index_name, seq_in_index`

// table is a table on its way to a Relation.
type table struct {
	relation source.Relation
	indexes  []sqldb.Index
}

// described is how many tables one pair of catalog queries describes.
const described = 500

// Describe reads the named tables with two queries for every 500 of them.
func (e *Engine) Describe(ctx context.Context, ids []change.TableID) ([]source.Relation, error) {
	var relations []source.Relation
	for chunk := range slices.Chunk(ids, described) {
		tables := map[change.TableID]*table{}
		for _, id := range chunk {
			tables[id] = &table{}
		}
		if err := e.readColumns(ctx, chunk, tables); err != nil {
			return nil, err
		}
		if err := e.readIndexes(ctx, chunk, tables); err != nil {
			return nil, err
		}
		for _, id := range chunk {
			if t := tables[id]; len(t.relation.Columns) > 0 {
				sqldb.SetKey(t.relation.Columns, t.indexes)
				relations = append(relations, t.relation)
			}
		}
	}
	return relations, nil
}

// fill puts the placeholders of schemas and names into a catalog query. The catalog compares without regard to case and its answer
// may cover more tables than asked for; the callers compare exactly.
func fill(query string, ids []change.TableID) (string, []any) {
	var schemas, args []any
	for _, id := range ids {
		if !slices.Contains(schemas, any(id.Schema)) {
			schemas = append(schemas, id.Schema)
		}
		args = append(args, id.Name)
	}
	text := strings.NewReplacer("?schemas", placeholders(len(schemas)), "?names", placeholders(len(ids))).Replace(query)
	return text, append(schemas, args...)
}

func placeholders(n int) string { return strings.Repeat("?, ", n-1) + "?" }

func (e *Engine) readColumns(ctx context.Context, ids []change.TableID, tables map[change.TableID]*table) error {
	text, args := fill(columnsQuery, ids)
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

func (e *Engine) readIndexes(ctx context.Context, ids []change.TableID, tables map[change.TableID]*table) error {
	text, args := fill(indexesQuery, ids)
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

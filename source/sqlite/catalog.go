package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/source"
	"ctbridge/source/sqldb"
)

const tablesQuery = `
SELECT name FROM sqlite_schema
WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\_%' ESCAPE '\'
ORDER BY name`

// Tables lists the tables and views of the file; the schema is always empty.
func (e *Engine) Tables(ctx context.Context) ([]change.TableID, error) {
	var ids []change.TableID
	err := e.Each(ctx, "list tables", tablesQuery, nil, func(scan func(...any) error) error {
		var name string
		if err := scan(&name); err != nil {
			return err
		}
		ids = append(ids, change.TableID{Name: name})
		return nil
	})
	return ids, err
}

// The names to describe come as one JSON array, so that the texts stay the same whatever their number.
const columnsQuery = `
SELECT s.name, c.name, c.type, c."notnull", c.pk, c.hidden
FROM sqlite_schema s JOIN pragma_table_xinfo(s.name) c
WHERE s.type IN ('table', 'view') AND s.name IN (SELECT value FROM json_each(?1)) AND c.hidden <> 1
ORDER BY s.name, c.cid`

// Unique constraints come before unique indexes; partial indexes say nothing about all rows.
const indexesQuery = `
SELECT s.name, i.name, c.name
FROM sqlite_schema s JOIN pragma_index_list(s.name) i JOIN pragma_index_info(i.name) c
WHERE s.type = 'table' AND s.name IN (SELECT value FROM json_each(?1)) AND i."unique" AND NOT i.partial AND i.origin <> 'pk'
ORDER BY s.name, i.origin = 'c', i.name, c.seqno`

// table is a table on its way to a Relation.
type table struct {
	relation source.Relation
	indexes  []sqldb.Index // the primary key first
}

// Describe reads the named tables with two queries.
func (e *Engine) Describe(ctx context.Context, ids []change.TableID) ([]source.Relation, error) {
	names, err := json.Marshal(namesOf(ids))
	if err != nil {
		return nil, fault.New(fault.Table, "describe tables", err, "")
	}
	tables := map[string]*table{}
	if err := e.readColumns(ctx, names, tables); err != nil {
		return nil, err
	}
	if err := e.readIndexes(ctx, names, tables); err != nil {
		return nil, err
	}
	var relations []source.Relation
	for _, id := range ids {
		if t := tables[id.Name]; t != nil {
			sqldb.SetKey(t.relation.Columns, t.indexes)
			relations = append(relations, t.relation)
		}
	}
	return relations, nil
}

func namesOf(ids []change.TableID) []string {
	names := []string{}
	for _, id := range ids {
		if id.Schema == "" {
			names = append(names, id.Name)
		}
	}
	return names
}

func (e *Engine) readColumns(ctx context.Context, names []byte, tables map[string]*table) error {
	return e.Each(ctx, "describe tables", columnsQuery, []any{string(names)}, func(scan func(...any) error) error {
		var name, column, declared string
		var notNull bool
		var key, hidden int
		if err := scan(&name, &column, &declared, &notNull, &key, &hidden); err != nil {
			return err
		}
		t := tables[name]
		if t == nil {
			t = &table{relation: source.Relation{ID: change.TableID{Name: name}}, indexes: []sqldb.Index{{Primary: true}}}
			tables[name] = t
		}
		t.add(column, declared, notNull, key, hidden)
		return nil
	})
}

// add appends a column. A column of the primary key counts as NOT NULL, though SQLite lets NULL into some of them: a NULL there stops the
// table instead of making a key that means nothing.
func (t *table) add(name, declared string, notNull bool, key, hidden int) {
	t.relation.Columns = append(t.relation.Columns, change.Column{
		Name: name, Type: typeOf(declared), Native: native(declared), Nullable: !notNull && key == 0,
	})
	if hidden == generatedVirtual || hidden == generatedStored {
		t.relation.Computed = append(t.relation.Computed, name)
	}
	if key > 0 {
		primary := &t.indexes[0]
		for len(primary.Columns) < key {
			primary.Columns = append(primary.Columns, "")
		}
		primary.Columns[key-1] = name
	}
}

// Values of "hidden" in PRAGMA table_xinfo.
const (
	generatedVirtual = 2
	generatedStored  = 3
)

// native is the declared type; SQLite lets a column have none.
func native(declared string) string {
	if declared == "" {
		return "no declared type"
	}
	return declared
}

func (e *Engine) readIndexes(ctx context.Context, names []byte, tables map[string]*table) error {
	return e.Each(ctx, "describe tables", indexesQuery, []any{string(names)}, func(scan func(...any) error) error {
		var name, index string
		var column sql.NullString // NULL for an expression
		if err := scan(&name, &index, &column); err != nil {
			return err
		}
		t := tables[name]
		if t == nil {
			return nil // made after the columns were read
		}
		if last := len(t.indexes) - 1; last == 0 || t.indexes[last].Name != index {
			t.indexes = append(t.indexes, sqldb.Index{Name: index})
		}
		last := &t.indexes[len(t.indexes)-1]
		last.Columns = append(last.Columns, column.String)
		return nil
	})
}

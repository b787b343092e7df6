package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/bridge/preflight/facts"
)

// Server tells the library's version; a file has neither logins nor a clock of its own.
func (e *Engine) Server(ctx context.Context) (s facts.Server, err error) {
	err = e.Each(ctx, "read the file", "SELECT 'SQLite ' || sqlite_version() FROM sqlite_schema UNION ALL SELECT 'SQLite ' || sqlite_version() LIMIT 1", nil,
		func(scan func(...any) error) error { return scan(&s.Version) })
	return s, err
}

const everyIndexQuery = `
SELECT s.name, i.name, c.name
FROM sqlite_schema s JOIN pragma_index_list(s.name) i JOIN pragma_index_info(i.name) c
WHERE s.type = 'table' AND s.name IN (SELECT value FROM json_each(?1)) AND NOT i.partial
ORDER BY s.name, i.name, c.seqno`

// Indexes lists the indexes of tables.
func (e *Engine) Indexes(ctx context.Context, ids []change.TableID) (map[change.TableID][]facts.Index, error) {
	names, err := json.Marshal(namesOf(ids))
	if err != nil {
		return nil, fault.New(fault.Table, "list indexes", err, "")
	}
	found := make(facts.Indexes)
	err = e.Each(ctx, "list indexes", everyIndexQuery, []any{string(names)}, func(scan func(...any) error) error {
		var table, index string
		var column sql.NullString
		err := scan(&table, &index, &column)
		found.Add(change.TableID{Name: table}, index, column.String)
		return err
	})
	return found, err
}

// MakeIndex writes what makes an index.
func (e *Engine) MakeIndex(table change.TableID, columns []string) string {
	return facts.MakeIndex("CREATE INDEX ", e.Quote, e.Table(table), table.Name, columns)
}

// Rows counts: a file keeps no statistics unless somebody asks for them. Tables that are not there are left out.
func (e *Engine) Rows(ctx context.Context, ids []change.TableID) (map[change.TableID]int64, error) {
	found := make(map[change.TableID]int64)
	for _, id := range ids {
		err := e.Each(ctx, "count rows", "SELECT count(*) FROM "+e.Table(id), nil, func(scan func(...any) error) error {
			var n int64
			err := scan(&n)
			found[id] = n
			return err
		})
		if err != nil && fault.ClassOf(err) != fault.Table {
			return nil, err
		}
	}
	return found, nil
}

package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/bridge/preflight/facts"
)

const serverQuery = "SELECT VERSION(), CURRENT_USER(), COALESCE(DATABASE(), ''), TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))"

// Server tells what the task is logged in to.
func (e *Engine) Server(ctx context.Context) (s facts.Server, err error) {
	err = e.Each(ctx, "ask for the server's version", serverQuery, nil, func(scan func(...any) error) error {
		var version string
		var micros int64
		err := scan(&version, &s.Login, &s.Database, &micros)
		s.Version, s.Clock = "MySQL "+version, time.UnixMicro(micros)
		if number, _, maria := strings.Cut(version, "-MariaDB"); maria {
			s.Version = "MariaDB " + number
		}
		return err
	})
	return s, err
}

// Hides tells that the catalog leaves out what the user has no right on.
func (e *Engine) Hides() bool { return true }

// Grant writes what gives a user, named as CURRENT_USER() does, the right to read tables.
func (e *Engine) Grant(tables []change.TableID, login string) []string {
	out := make([]string, len(tables))
	for i, id := range tables {
		out[i] = "GRANT SELECT ON " + e.Table(id) + " TO " + account(login) + ";"
	}
	return out
}

// account quotes user@host.
func account(login string) string {
	literal := func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
	at := strings.LastIndexByte(login, '@')
	if at < 0 {
		return literal(login)
	}
	return literal(login[:at]) + "@" + literal(login[at+1:])
}

// An index on fewer characters than a change sequence has does not sort it.
const everyIndexQuery = `
SELECT table_schema, table_name, index_name, CASE WHEN sub_part IS NULL OR sub_part >= 35 THEN column_name END
FROM information_schema.statistics
WHERE table_schema = ? AND CAST(table_name AS BINARY) IN (?names) AND index_type = 'BTREE'
ORDER BY CAST(table_name AS BINARY), index_name, seq_in_index`

// Indexes lists the sorted indexes of tables.
func (e *Engine) Indexes(ctx context.Context, ids []change.TableID) (map[change.TableID][]facts.Index, error) {
	found := make(facts.Indexes)
	err := e.eachOf(ctx, "list indexes", everyIndexQuery, ids, func(scan func(...any) error) error {
		var id change.TableID
		var index string
		var column sql.NullString
		err := scan(&id.Schema, &id.Name, &index, &column)
		found.Add(id, index, column.String)
		return err
	})
	return found, err
}

// eachOf asks a catalog query about tables.
func (e *Engine) eachOf(ctx context.Context, where, query string, ids []change.TableID, row func(scan func(...any) error) error) error {
	bySchema := map[string][]any{}
	for _, id := range ids {
		bySchema[id.Schema] = append(bySchema[id.Schema], id.Name)
	}
	for schema, names := range bySchema {
		text, args := fill(query, schema, names)
		if err := e.Each(ctx, where, text, args, row); err != nil {
			return err
		}
	}
	return nil
}

const collationsQuery = `
SELECT table_schema, table_name, column_name, collation_name FROM information_schema.columns
WHERE table_schema = ? AND CAST(table_name AS BINARY) IN (?names) AND collation_name IS NOT NULL`

// Collations gives the collations of text columns: texts of different ones cannot stand in one query together.
func (e *Engine) Collations(ctx context.Context, ids []change.TableID) (map[change.TableID]map[string]string, error) {
	found := make(map[change.TableID]map[string]string)
	err := e.eachOf(ctx, "list collations", collationsQuery, ids, func(scan func(...any) error) error {
		var id change.TableID
		var column, collation string
		err := scan(&id.Schema, &id.Name, &column, &collation)
		if found[id] == nil {
			found[id] = make(map[string]string)
		}
		found[id][column] = collation
		return err
	})
	return found, err
}

// MakeIndex writes what makes an index.
func (e *Engine) MakeIndex(table change.TableID, columns []string) string {
	return facts.MakeIndex("CREATE INDEX ", e.Quote, e.Table(table), table.Name, columns)
}

// Watch writes what gives a user the right to the list of Transactions.
func (e *Engine) Watch(login string) []string {
	return []string{"GRANT PROCESS ON *.* TO " + account(login) + ";"}
}

const transactionsQuery = `
SELECT t.trx_mysql_thread_id, TIMESTAMPDIFF(SECOND, t.trx_started, NOW()), COALESCE(LEFT(t.trx_query, 60), ''), t.trx_rows_modified
FROM information_schema.innodb_trx t
WHERE TIMESTAMPDIFF(SECOND, t.trx_started, NOW()) >= ? AND t.trx_mysql_thread_id <> CONNECTION_ID() AND t.trx_rows_modified > 0`

// Transactions lists writers that have been open for a while. The list needs the right PROCESS.
func (e *Engine) Transactions(ctx context.Context, older time.Duration) (found []facts.Transaction, err error) {
	err = e.Each(ctx, "list open transactions", transactionsQuery, []any{int64(older / time.Second)}, func(scan func(...any) error) error {
		var thread, age, rows int64
		var text string
		err := scan(&thread, &age, &text, &rows)
		found = append(found, facts.Transaction{
			Who: fmt.Sprintf("connection %d", thread), Age: time.Duration(age) * time.Second, What: strings.TrimSpace(fmt.Sprintf("%d rows changed %s", rows, text)),
			Stop: fmt.Sprintf("KILL %d;", thread),
		})
		return err
	})
	return found, err
}

const rowsQuery = `
SELECT table_schema, table_name, table_rows FROM information_schema.tables
WHERE table_schema = ? AND CAST(table_name AS BINARY) IN (?names) AND table_rows IS NOT NULL`

// Rows estimates how many rows tables have.
func (e *Engine) Rows(ctx context.Context, ids []change.TableID) (map[change.TableID]int64, error) {
	found := make(map[change.TableID]int64)
	err := e.eachOf(ctx, "estimate rows", rowsQuery, ids, func(scan func(...any) error) error {
		var id change.TableID
		var n int64
		err := scan(&id.Schema, &id.Name, &n)
		found[id] = n
		return err
	})
	return found, err
}

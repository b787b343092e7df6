package mssql

import (
	"context"
	"fmt"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/bridge/preflight/facts"
)

const serverSQL = `SELECT CAST(SERVERPROPERTY('ProductVersion') AS nvarchar(128)), CAST(SERVERPROPERTY('Edition') AS nvarchar(128)),
  CAST(USER_NAME() AS nvarchar(128)), CAST(DB_NAME() AS nvarchar(128)), SYSUTCDATETIME()`

// Server tells what the task is logged in to; Login is the database user, to which grants go.
func (e *Engine) Server(ctx context.Context) (s facts.Server, err error) {
	err = e.Each(ctx, "ask for the server's version", serverSQL, nil, func(scan func(dst ...any) error) error {
		var version, edition string
		err := scan(&version, &edition, &s.Login, &s.Database, &s.Clock)
		s.Version = "SQL Server " + version + ", " + edition
		return err
	})
	return s, err
}

// Hides tells that the catalog leaves out what the login has no right on.
func (e *Engine) Hides() bool { return true }

// Grant writes what gives a user the right to read tables.
func (e *Engine) Grant(tables []change.TableID, login string) []string {
	out := make([]string, len(tables))
	for i, id := range tables {
		out[i] = "GRANT SELECT ON " + e.Table(id) + " TO " + e.Quote(login) + ";"
	}
	return out
}

const everyIndexSQL = `SELECT CAST(c.TABLE_SCHEMA AS nvarchar(128)), CAST(c.TABLE_NAME AS nvarchar(128)), i.name, c.COLUMN_NAME
FROM wanted w
JOIN sys.schemas m ON m.name = w.s
JOIN sys.objects o ON o.schema_id = m.schema_id AND o.name = w.n
JOIN sys.indexes i ON i.object_id = o.object_id AND i.has_filter = 0 AND i.is_disabled = 0
JOIN sys.index_columns x ON x.object_id = i.object_id AND x.index_id = i.index_id AND x.key_ordinal > 0
JOIN sys.columns k ON k.object_id = x.object_id AND k.column_id = x.column_id
JOIN INFORMATION_SCHEMA.COLUMNS c ON c.TABLE_SCHEMA = w.s AND c.TABLE_NAME = w.n AND c.COLUMN_NAME = k.name
ORDER BY c.TABLE_SCHEMA, c.TABLE_NAME, i.name, x.key_ordinal`

// Indexes lists the indexes of tables.
func (e *Engine) Indexes(ctx context.Context, ids []change.TableID) (map[change.TableID][]facts.Index, error) {
	found := make(facts.Indexes)
	err := e.eachOf(ctx, "list indexes", everyIndexSQL, ids, func(scan func(dst ...any) error) error {
		var id change.TableID
		var index, column string
		err := scan(&id.Schema, &id.Name, &index, &column)
		found.Add(id, index, column)
		return err
	})
	return found, err
}

// eachOf asks a catalog query about tables.
func (e *Engine) eachOf(ctx context.Context, where, query string, ids []change.TableID, row func(scan func(dst ...any) error) error) error {
	for start := 0; start < len(ids); start += describeWidth {
		wanted, args := wantedSQL(ids[start:min(start+describeWidth, len(ids))])
		if err := e.Each(ctx, where, wanted+query, args, row); err != nil {
			return err
		}
	}
	return nil
}

const collationsSQL = `SELECT CAST(c.TABLE_SCHEMA AS nvarchar(128)), CAST(c.TABLE_NAME AS nvarchar(128)), c.COLUMN_NAME, c.COLLATION_NAME
FROM wanted w JOIN INFORMATION_SCHEMA.COLUMNS c ON c.TABLE_SCHEMA = w.s AND c.TABLE_NAME = w.n
WHERE c.COLLATION_NAME IS NOT NULL`

// Collations gives the collations of text columns: texts of different ones cannot stand in one query together.
func (e *Engine) Collations(ctx context.Context, ids []change.TableID) (map[change.TableID]map[string]string, error) {
	found := make(map[change.TableID]map[string]string)
	err := e.eachOf(ctx, "list collations", collationsSQL, ids, func(scan func(dst ...any) error) error {
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

// Watch writes what gives the login of a user the right to the list of Transactions.
func (e *Engine) Watch(login string) []string {
	return []string{"USE master;", "GRANT VIEW SERVER STATE TO " + e.Quote(login) + ";"}
}

const transactionsSQL = `SELECT s.session_id, s.login_name, DATEDIFF(second, t.transaction_begin_time, GETDATE()), COALESCE(s.host_name, ''), s.status
FROM sys.dm_tran_active_transactions t
JOIN sys.dm_tran_session_transactions x ON x.transaction_id = t.transaction_id
JOIN sys.dm_exec_sessions s ON s.session_id = x.session_id
WHERE t.transaction_type = 1 AND s.session_id <> @@SPID AND DATEDIFF(second, t.transaction_begin_time, GETDATE()) >= @p1`

// Transactions lists writers that have been open for a while. The list needs the right VIEW SERVER STATE.
func (e *Engine) Transactions(ctx context.Context, older time.Duration) (found []facts.Transaction, err error) {
	err = e.Each(ctx, "list open transactions", transactionsSQL, []any{int64(older / time.Second)}, func(scan func(dst ...any) error) error {
		var session, age int64
		var login, host, status string
		err := scan(&session, &login, &age, &host, &status)
		found = append(found, facts.Transaction{
			Who: fmt.Sprintf("%s from %s, session %d", login, host, session), Age: time.Duration(age) * time.Second, What: status, Stop: fmt.Sprintf("KILL %d;", session),
		})
		return err
	})
	return found, err
}

const rowsSQL = `SELECT w.s, w.n, SUM(p.rows)
FROM wanted w
JOIN sys.schemas m ON m.name = w.s
JOIN sys.objects o ON o.schema_id = m.schema_id AND o.name = w.n
JOIN sys.partitions p ON p.object_id = o.object_id AND p.index_id IN (0, 1)
GROUP BY w.s, w.n`

// Rows tells how many rows tables have, as the catalog counts them.
func (e *Engine) Rows(ctx context.Context, ids []change.TableID) (map[change.TableID]int64, error) {
	found := make(map[change.TableID]int64)
	err := e.eachOf(ctx, "estimate rows", rowsSQL, ids, func(scan func(dst ...any) error) error {
		var id change.TableID
		var n int64
		err := scan(&id.Schema, &id.Name, &n)
		found[id] = n
		return err
	})
	return found, err
}

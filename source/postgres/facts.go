package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"ctbridge/bridge/change"
	"ctbridge/bridge/preflight/facts"
)

const serverSQL = `SELECT pg_catalog.current_setting('server_version'), pg_catalog.pg_is_in_recovery(), current_user::text, pg_catalog.current_database()::text,
pg_catalog.clock_timestamp()`

// Server tells what the task is logged in to.
func (e *Engine) Server(ctx context.Context) (s facts.Server, err error) {
	err = e.each(ctx, "ask for the server's version", serverSQL, nil, func(rows pgx.Rows) error {
		var standby bool
		err := rows.Scan(&s.Version, &standby, &s.Login, &s.Database, &s.Clock)
		s.Version, _, _ = strings.Cut("PostgreSQL "+s.Version, " (")
		if standby {
			s.Version += ", a standby"
		}
		return err
	})
	return s, err
}

// Grant writes what gives a login the right to read tables.
func (e *Engine) Grant(tables []change.TableID, login string) []string {
	var out []string
	schemas := map[string]bool{}
	for _, id := range tables {
		if !schemas[id.Schema] {
			schemas[id.Schema] = true
			out = append(out, "GRANT USAGE ON SCHEMA "+e.Quote(id.Schema)+" TO "+e.Quote(login)+";")
		}
		out = append(out, "GRANT SELECT ON "+e.Table(id)+" TO "+e.Quote(login)+";")
	}
	return out
}

const everyIndexSQL = wantedSQL + `
SELECT w.schema, w.name, x.relname::text, coalesce(a.attname::text, '')
FROM wanted w
JOIN pg_catalog.pg_index i ON i.indrelid = w.oid AND i.indisvalid AND i.indpred IS NULL
JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid
JOIN pg_catalog.pg_am m ON m.oid = x.relam AND m.amname = 'btree'
CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY AS k(attnum, position)
LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = w.oid AND a.attnum = k.attnum
WHERE k.position <= i.indnkeyatts
ORDER BY 1, 2, 3, k.position`

// Indexes lists the sorted indexes of tables.
func (e *Engine) Indexes(ctx context.Context, ids []change.TableID) (map[change.TableID][]facts.Index, error) {
	found := make(facts.Indexes)
	err := e.each(ctx, "list indexes", everyIndexSQL, pairs(ids), func(rows pgx.Rows) error {
		var id change.TableID
		var index, column string
		err := rows.Scan(&id.Schema, &id.Name, &index, &column)
		found.Add(id, index, column)
		return err
	})
	return found, err
}

func pairs(ids []change.TableID) []any {
	schemas, names := make([]string, len(ids)), make([]string, len(ids))
	for i, id := range ids {
		schemas[i], names[i] = id.Schema, id.Name
	}
	return []any{schemas, names}
}

// MakeIndex writes what makes an index. It locks out no writer, and cannot run inside a transaction.
func (e *Engine) MakeIndex(table change.TableID, columns []string) string {
	return facts.MakeIndex("CREATE INDEX CONCURRENTLY ", e.Quote, e.Table(table), table.Name, columns)
}

// Locks of transaction ids are visible to everybody; the rest of a session's line is not. Prepared transactions have no session.
const transactionsSQL = `SELECT coalesce(a.usename::text, 'another user'), l.pid, coalesce(extract(epoch FROM pg_catalog.clock_timestamp() - a.xact_start), -1)::float8,
  coalesce(a.state || ': ' || left(a.query, 60), ''), NULL::text
FROM pg_catalog.pg_locks l LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid
WHERE l.locktype = 'transactionid' AND l.mode = 'ExclusiveLock' AND l.granted AND l.pid <> pg_catalog.pg_backend_pid()
UNION ALL
SELECT p.owner::text, 0, extract(epoch FROM pg_catalog.clock_timestamp() - p.prepared)::float8, 'prepared', p.gid FROM pg_catalog.pg_prepared_xacts p`

// Transactions lists writers that have been open for a while: they hold the fence. The age of another user's is hidden, and then -1, unless the login
// has pg_read_all_stats.
func (e *Engine) Transactions(ctx context.Context, older time.Duration) (found []facts.Transaction, err error) {
	err = e.each(ctx, "list open transactions", transactionsSQL, nil, func(rows pgx.Rows) error {
		var user, what string
		var pid int64
		var age float64
		var prepared sql.NullString
		if err := rows.Scan(&user, &pid, &age, &what, &prepared); err != nil {
			return err
		}
		t := facts.Transaction{Who: fmt.Sprintf("%s, pid %d", user, pid), Age: time.Duration(age * float64(time.Second)), What: strings.Join(strings.Fields(what), " ")}
		t.Stop = fmt.Sprintf("SELECT pg_terminate_backend(%d);", pid)
		if prepared.Valid {
			t.Who, t.Stop = user, "ROLLBACK PREPARED '"+strings.ReplaceAll(prepared.String, "'", "''")+"';"
		}
		if age < 0 {
			t.Age = -1
		}
		if age < 0 || t.Age >= older {
			found = append(found, t)
		}
		return nil
	})
	return found, err
}

const rowsSQL = wantedSQL + `
SELECT w.schema, w.name, c.reltuples::bigint FROM wanted w JOIN pg_catalog.pg_class c ON c.oid = w.oid WHERE c.reltuples >= 0`

// Rows estimates how many rows tables have, as of their last ANALYZE; tables that were never analysed are left out.
func (e *Engine) Rows(ctx context.Context, ids []change.TableID) (map[change.TableID]int64, error) {
	found := make(map[change.TableID]int64)
	err := e.each(ctx, "estimate rows", rowsSQL, pairs(ids), func(rows pgx.Rows) error {
		var id change.TableID
		var n int64
		err := rows.Scan(&id.Schema, &id.Name, &n)
		found[id] = n
		return err
	})
	return found, err
}

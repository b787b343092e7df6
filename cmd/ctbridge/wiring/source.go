package wiring

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"time"
	_ "time/tzdata" // zones of servers, where the machine has none

	"ctbridge/bridge"
	"ctbridge/bridge/change"
	"ctbridge/bridge/config"
	"ctbridge/metrics"
	"ctbridge/source"
	"ctbridge/source/mssql"
	"ctbridge/source/mysql"
	"ctbridge/source/postgres"
	"ctbridge/source/qlikct"
	"ctbridge/source/sqlite"
	"ctbridge/source/sqlservercdc"
)

// engines opens each database product. Opening does not talk to the server.
var engines = map[string]func(s *config.Source, secure *tls.Config) (source.Engine, error){
	config.EngineSQLServer: func(s *config.Source, secure *tls.Config) (source.Engine, error) {
		return opened(mssql.Open(mssql.Config{DSN: s.DSN.Reveal(), TLS: secure, MaxConns: s.MaxConnections}))
	},
	config.EnginePostgres: func(s *config.Source, secure *tls.Config) (source.Engine, error) {
		return opened(postgres.Open(postgres.Config{DSN: s.DSN.Reveal(), TLS: secure, MaxConns: s.MaxConnections}))
	},
	config.EngineMySQL: func(s *config.Source, secure *tls.Config) (source.Engine, error) {
		return opened(mysql.Open(mysql.Config{DSN: s.DSN.Reveal(), TLS: secure, MaxConns: s.MaxConnections}))
	},
	config.EngineSQLite: func(s *config.Source, _ *tls.Config) (source.Engine, error) {
		return opened(sqlite.Open(sqlite.Config{DSN: s.DSN.Reveal(), MaxConns: s.MaxConnections}))
	},
}

// openEngine opens the database of a task.
func openEngine(s *config.Source) (source.Engine, error) {
	secure, err := tlsConfig("source.tls", &s.TLS)
	if err != nil {
		return nil, err
	}
	engine, err := engines[s.Engine](s, secure)
	if err != nil {
		return nil, fmt.Errorf("source.dsn: %w", err)
	}
	return engine, nil
}

// opened keeps the nil pointer of a failed Open from becoming an interface that is not nil.
func opened[E source.Engine](e E, err error) (source.Engine, error) {
	if err != nil {
		return nil, err
	}
	return e, nil
}

// layouts builds each kind of change table.
var layouts = map[string]func(e source.Engine, t *config.Task, m *metrics.Metrics, log *slog.Logger) source.Layout{
	config.LayoutQlik: func(e source.Engine, t *config.Task, _ *metrics.Metrics, log *slog.Logger) source.Layout {
		q := &t.Source.Qlik
		return qlikct.New(e, qlikct.Options{
			Tables: t.Source.Tables, Keys: t.Source.KeyColumns(), Prefix: q.Prefix, Suffix: q.Suffix, Schema: q.Schema,
			ControlSchema: q.ControlSchema, ControlTask: q.ControlTask, MaskOrder: qlikct.ByteOrder(q.MaskByteOrder),
			Orphans: qlikct.OrphanPolicy(q.OrphanBeforeImage), Ignore: q.IgnoreColumns, Filter: t.Source.Filter,
		}, log)
	},
	config.LayoutSQLServerCDC: func(e source.Engine, t *config.Task, m *metrics.Metrics, log *slog.Logger) source.Layout {
		c := &t.Source.SQLServerCDC
		byType, byColumn := unsupported(c)
		return sqlservercdc.New(e, sqlservercdc.Options{
			Tables: t.Source.Tables, Keys: t.Source.KeyColumns(), Zone: c.Location(),
			Unsupported: sqlservercdc.UnsupportedPolicy(c.UnsupportedTypes), ByType: byType, ByColumn: byColumn, CaptureTimeout: c.CaptureTimeout, Observer: m, Filter: t.Source.Filter,
		}, log)
	},
}

func newPoller(e source.Engine, t *config.Task, m *metrics.Metrics, log *slog.Logger) *source.Poller {
	h := &t.Source.Horizon
	return source.NewPoller(e, layouts[t.Source.Layout](e, t, m, log), source.Options{
		Horizon:    source.HorizonOptions{Policy: source.Policy(h.Policy), Settle: h.Settle, MaxWait: h.MaxWait},
		LoadFilter: t.LoadFilter, KeepBad: t.BadRecords.Policy == config.BadDeadLetter,
		// Rows have one half of the memory, records on their way the other: see newSink (I10).
		PageRows: t.Source.PageRows, MaxBytes: int(t.Memory.MaxBytes) / 2, Parallel: t.Source.MaxConnections, Lookback: lookback(t), Log: log,
	})
}

// lookback is how long published positions are remembered: for late rows, or for replayed ones where these are asked for and it is longer.
func lookback(t *config.Task) time.Duration {
	if t.Source.Layout == config.LayoutSQLServerCDC {
		return 0 // rows never turn up below its horizon
	}
	return max(t.Source.Horizon.Lookback, t.Source.Deduplicate)
}

// startAt is where new tables begin, in positions of the layout.
func startAt(s config.Start) bridge.StartAt {
	out := bridge.StartAt{Now: s.Now, After: change.Position(s.After), Time: s.Time}
	if s.LSN != "" {
		out.After = sqlservercdc.Behind(s.LSN)
	}
	return out
}

// unsupported gives the policies for types that no message can hold, in words of the layout.
func unsupported(c *config.SQLServerCDC) (byType map[string]sqlservercdc.UnsupportedPolicy, byColumn func(change.TableID, string) (sqlservercdc.UnsupportedPolicy, bool)) {
	byType = make(map[string]sqlservercdc.UnsupportedPolicy)
	for name, policy := range c.UnsupportedByType {
		byType[name] = sqlservercdc.UnsupportedPolicy(policy)
	}
	rules := c.ByColumn()
	return byType, func(table change.TableID, column string) (sqlservercdc.UnsupportedPolicy, bool) {
		policy, own := rules(table, column)
		return sqlservercdc.UnsupportedPolicy(policy), own
	}
}

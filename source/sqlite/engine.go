package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	driver "modernc.org/sqlite"

	"ctbridge/bridge/fault"
	"ctbridge/source"
	"ctbridge/source/sqldb"
)

// Config says which file to read and how.
type Config struct {
	// DSN is a path, or a file: URI with SQLite's own parameters.
	DSN string
	// BusyTimeout is how long a query waits for a writer's lock; 0 = 5 s.
	BusyTimeout time.Duration
	// MaxConns is the size of the pool; 0 = 4.
	MaxConns int
}

// Engine reads one SQLite file.
type Engine struct {
	*sqldb.DB
	files *files
}

var (
	_ source.Engine = (*Engine)(nil)
	_ source.Fencer = (*Engine)(nil)
)

// Open makes the engine. It does not touch the file; Ping does. Its errors have class Config.
func Open(cfg Config) (*Engine, error) {
	if cfg.BusyTimeout == 0 {
		cfg.BusyTimeout = 5 * time.Second
	}
	uri, err := readOnlyURI(cfg)
	if err != nil {
		return nil, fault.New(fault.Config, "sqlite dsn", err, "give a path or a file: URI")
	}
	connector, err := driver.NewConnector(uri)
	if err != nil {
		return nil, fault.New(fault.Config, "sqlite dsn", err, "give a path or a file: URI")
	}
	pool := sql.OpenDB(connector)
	size := cfg.MaxConns
	if size == 0 {
		size = 4
	}
	pool.SetMaxOpenConns(size)
	pool.SetMaxIdleConns(size)
	reading := &files{uri: uri, busy: cfg.BusyTimeout, room: make(chan struct{}, size)}
	return &Engine{sqldb.New(pool, sqldb.Product{Decoder: decoder, Classify: classify, Query: reading.query}), reading}, nil
}

// Close closes the file. Queries that have started go on to their end.
func (e *Engine) Close() error {
	if err := e.files.close(); err != nil {
		class, hint := classify(err)
		return errors.Join(fault.New(class, "close", err, hint), e.DB.Close())
	}
	return e.DB.Close()
}

// readOnlyURI is the URI that the driver opens. Driver parameters (they begin with an underscore) would change what values look like
// or run SQL of their own, so they are refused.
func readOnlyURI(cfg Config) (string, error) {
	path, query := cfg.DSN, ""
	if strings.HasPrefix(path, "file:") {
		path, query, _ = strings.Cut(path[len("file:"):], "?")
	} else {
		path = strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path)
	}
	if path == "" || path == ":memory:" {
		return "", errors.New("no file is named")
	}
	params, err := url.ParseQuery(query)
	if err != nil {
		return "", err
	}
	for name := range params {
		if strings.HasPrefix(name, "_") {
			return "", fmt.Errorf("parameter %q is not for readers", name)
		}
	}
	if params.Get("mode") != "memory" {
		params.Set("mode", "ro")
	}
	params.Add("_pragma", "busy_timeout("+strconv.FormatInt(cfg.BusyTimeout.Milliseconds(), 10)+")")
	params.Add("_pragma", "query_only(1)")
	return "file:" + path + "?" + params.Encode(), nil
}

// Name is the engine's name in the configuration.
func (e *Engine) Name() string { return "sqlite" }

// Ping reads the file's header: connecting alone would not notice that the file is no database.
func (e *Engine) Ping(ctx context.Context) error {
	return e.Each(ctx, "ping", "SELECT count(*) FROM sqlite_schema WHERE rowid = 1", nil, func(func(...any) error) error { return nil })
}

// Fence gives equal numbers: SQLite has one writer at a time, so what is visible is complete.
func (e *Engine) Fence(context.Context) (source.Fence, error) {
	return source.Fence{Done: 1, Next: 1}, nil
}

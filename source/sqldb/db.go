package sqldb

import (
	"context"
	"database/sql"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/source"
)

// Decode turns one driver value into a change.Value at dst. It never sees NULL. A []byte belongs to the driver and is good until Decode
// returns: what must last is copied into the arena. An error says why the value does not fit; column and value are added around it.
type Decode func(dst *change.Value, src any, arena *change.Arena) error

// Product is what makes one database different from another behind database/sql.
type Product struct {
	// Decoder builds the decoder of a column, once per statement; nil for a column that the product cannot decode.
	Decoder func(c change.Column) Decode
	// Classify gives the class of a vendor error, by number, and a hint for the operator ("" if there is none).
	Classify func(err error) (fault.Class, string)
	// Bind turns an argument (string, int64, []byte) into what the driver wants. Nil leaves arguments alone.
	Bind func(arg any) any
	// Lost tells whether an error means that a connection is gone without a word. Those that wait in the pool are then given up, too: a network
	// that has forgotten one has forgotten the others, and each would cost the same wait. Nil = never.
	Lost func(err error) bool
	// Prepared makes the server prepare statements without arguments too. Some drivers read such a query in a text protocol that shows
	// fewer digits than the value has (MySQL's FLOAT).
	Prepared bool
	// Raw runs the statements of Prepare, prepared by the server, on the driver's own connections of the pool, without what database/sql costs for
	// each value. For drivers whose conn and statements take contexts, and whose rows stay in memory as they are when one ends meanwhile.
	Raw bool
	// Query runs the statements of Prepare past database/sql, which is then left with control queries. Nil = through database/sql.
	Query func(ctx context.Context, text string, args []any) (Result, error)
}

// DB is a connection pool of one product. It implements Prepare, Ping and Close of source.Engine; an engine embeds it.
type DB struct {
	pool    *sql.DB
	product Product
}

// New wraps a pool; DB closes it. New talks to nobody.
func New(pool *sql.DB, product Product) *DB { return &DB{pool: pool, product: product} }

// Ping asks the server for a sign of life.
func (d *DB) Ping(ctx context.Context) error {
	return d.Fail(ctx, "ping", d.pool.PingContext(ctx))
}

// Close closes the pool and waits for queries that have started.
func (d *DB) Close() error {
	if err := d.pool.Close(); err != nil {
		return d.classified("close", err)
	}
	return nil
}

// Prepare makes a statement whose result has the given columns, in order.
func (d *DB) Prepare(text string, columns []change.Column) source.Statement {
	s := &statement{db: d, text: text, columns: columns, decoders: make([]Decode, len(columns))}
	for i, c := range columns {
		s.decoders[i] = d.product.Decoder(c)
	}
	return s
}

// Each runs a control query and calls row for every row of the result; scan fills destinations as sql.Rows.Scan does. where names
// the question in errors ("list tables").
func (d *DB) Each(ctx context.Context, where, text string, args []any, row func(scan func(dst ...any) error) error) error {
	rows, err := d.pool.QueryContext(ctx, text, args...)
	if err != nil {
		return d.Fail(ctx, where, err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return d.Fail(ctx, where, err)
		}
	}
	return d.Fail(ctx, where, rows.Err())
}

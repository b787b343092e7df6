package postgres

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"ctbridge/bridge/change"
	"ctbridge/source"
)

const benchRows = 200_000

// benchTable is a change table of 18 columns.
func benchTable(b *testing.B) (*Engine, source.Statement, string, int) {
	b.Helper()
	s := newScratch(b)
	mustExec(b, s.admin, `CREATE TABLE parcel__ct (header__change_seq varchar(35), header__change_oper varchar(1), header__change_mask bytea,
		header__stream_position varchar(128), header__operation varchar(12), header__transaction_id varchar(32), header__timestamp timestamp,
		id int, customer bigint, status varchar(20), fee numeric(10,2), weight numeric(12,3), created timestamp, shipped date, note varchar(200),
		active boolean, ratio double precision, ref uuid)`)
	mustExec(b, s.admin, `INSERT INTO parcel__ct SELECT to_char(20310510160001000000000000000000000::numeric + n, 'FM99999999999999999999999999999999999'), 'I', '\x3a00',
		'00000000.00bb2531.00000001.0000.02.0000:154.6963.16', 'INSERT', lpad(to_hex(n / 10), 32, '0'), timestamp '2031-05-10' + n * interval '1 ms',
		n, n * 7919::bigint, 'IN_TRANSIT', n / 100.0, n / 7.0, timestamp '2031-05-10' + n * interval '1 s', date '2031-05-10' + n % 100,
		'a note about parcel ' || n, n % 2 = 0, n / 3.0, gen_random_uuid() FROM generate_series(1, 200000) n`, "ANALYZE parcel__ct")
	e := s.open(b)
	found, err := e.Describe(context.Background(), []change.TableID{{Schema: "public", Name: "parcel__ct"}})
	if err != nil {
		b.Fatal(err)
	}
	columns := found[0].Columns
	text := "SELECT "
	for i, c := range columns {
		if i > 0 {
			text += ", "
		}
		text += e.Column("t", c)
	}
	text += " FROM public.parcel__ct t"
	return e, e.Prepare(text, columns), text, len(columns)
}

// BenchmarkRead compares the engine's statement with the bare driver on the same query: ns/row and allocations of 200,000 rows.
func BenchmarkRead(b *testing.B) {
	e, statement, text, width := benchTable(b)
	pool, err := e.conns(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	b.Run("bare pgx RawValues", func(b *testing.B) {
		perRow(b, func() int { return readBare(b, pool, text) })
	})
	b.Run("Statement Query Scan", func(b *testing.B) {
		perRow(b, func() int { return readStatement(b, statement, width) })
	})
}

func perRow(b *testing.B, read func() int) {
	b.Helper()
	b.ReportAllocs()
	for b.Loop() {
		if n := read(); n != benchRows {
			b.Fatalf("%d rows", n)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRows, "ns/row")
}

func readBare(b *testing.B, pool interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}, text string) (n int) {
	rows, err := pool.Query(context.Background(), text)
	if err != nil {
		b.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		if len(rows.RawValues()[0]) > 0 {
			n++
		}
	}
	return n
}

// readStatement takes a new arena for every thousand rows, as pages do.
func readStatement(b *testing.B, s source.Statement, width int) (n int) {
	rows, err := s.Query(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	defer rows.Close()
	arena := new(change.Arena)
	for rows.Next() {
		if n%1000 == 0 {
			arena = new(change.Arena)
		}
		if err := rows.Scan(arena.Values(width), arena); err != nil {
			b.Fatal(err)
		}
		n++
	}
	return n
}

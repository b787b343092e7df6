package demo

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"time"
)

// shop is the source database. Its pool has one connection: SQLite has one writer.
type shop struct {
	db *sql.DB
}

// shopVersion marks the file as ours (PRAGMA user_version).
const shopVersion = 20_260_101

// openShop opens the file, and makes its tables where it is new. The driver is registered by the engine that reads the file.
func openShop(ctx context.Context, path string) (*shop, error) {
	pragmas := url.Values{"_pragma": {"busy_timeout(1000)", "journal_mode(wal)", "synchronous(normal)"}, "_txlock": {"immediate"}}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: filepath.ToSlash(path)}).EscapedPath()+"?"+pragmas.Encode())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	s := &shop{db: db}
	if err := s.prepare(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("database %s: %w", path, err), db.Close())
	}
	return s, nil
}

func (s *shop) close() error { return s.db.Close() }

func (s *shop) prepare(ctx context.Context) error {
	var version, objects int
	err := s.db.QueryRowContext(ctx, "SELECT user_version, (SELECT count(*) FROM sqlite_schema) FROM pragma_user_version").Scan(&version, &objects)
	switch {
	case err != nil:
		return err
	case version == shopVersion:
		return nil
	case objects > 0:
		return errors.New("it was not made by this version of the demo: name another folder")
	}
	_, err = s.db.ExecContext(ctx, fmt.Sprintf("BEGIN; %s; PRAGMA user_version = %d; COMMIT", schemaSQL(), shopVersion))
	return err
}

// transaction is what transact did.
type transaction struct {
	id      string // as in the change tables
	changes int    // rows that the triggers recorded
}

// transact runs one source transaction. committing hears of it before the COMMIT, unless it changed nothing.
func (s *shop) transact(ctx context.Context, work func(tx *sql.Tx) error, committing func(t transaction, at time.Time)) (transaction, error) {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return transaction{}, err
	}
	defer func() { _ = tx.Rollback() }() // after a COMMIT it does nothing
	var before int
	if err := tx.QueryRowContext(ctx, "SELECT number FROM demo_state").Scan(&before); err != nil {
		return transaction{}, err
	}
	if _, err := tx.ExecContext(ctx, beginSQL); err != nil {
		return transaction{}, err
	}
	if err := work(tx); err != nil {
		return transaction{}, err
	}
	var done transaction
	if err := tx.QueryRowContext(ctx, "SELECT h.tx, s.number - ? FROM demo_header h, demo_state s", before).Scan(&done.id, &done.changes); err != nil {
		return transaction{}, err
	}
	if _, err := tx.ExecContext(ctx, endSQL); err != nil {
		return transaction{}, err
	}
	if done.changes > 0 {
		committing(done, time.Now())
	}
	return done, tx.Commit()
}

// isBusy reports whether another program holds the database: SQLITE_BUSY (5), with or without an extended code.
func isBusy(err error) bool {
	var coded interface{ Code() int }
	return errors.As(err, &coded) && coded.Code()&0xff == 5
}

// newest is the newest change sequence of all tables. There is one writer at a time, so everything up to it is there.
func (s *shop) newest(ctx context.Context) (seq string, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT seq FROM demo_header").Scan(&seq)
	return seq, err
}

const changesUpTo = "__ct WHERE header__change_oper <> 'B' AND header__change_seq <= ?"

// count is the number of changes of a table up to a sequence.
func (s *shop) count(ctx context.Context, table, upto string) (n int, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT count(*) FROM "+table+changesUpTo, upto).Scan(&n)
	return n, err
}

// changes sums up the changes of a table up to a sequence.
func (s *shop) changes(ctx context.Context, table, upto string) (digest, error) {
	rows, err := s.db.QueryContext(ctx, "SELECT header__change_seq FROM "+table+changesUpTo+" ORDER BY header__change_seq", upto)
	if err != nil {
		return digest{}, err
	}
	defer func() { _ = rows.Close() }()
	sum := newRunning()
	for rows.Next() {
		var seq string
		if err := rows.Scan(&seq); err != nil {
			return digest{}, err
		}
		sum.add(seq)
	}
	return sum.digest(), rows.Err()
}

package main

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
)

// loader writes the rows of a change table by the fastest way that its engine has.
type loader func(ctx context.Context, d *database, s shape) error

// loadPostgres copies the rows in.
func loadPostgres(ctx context.Context, d *database, s shape) error {
	conn, err := pgx.Connect(ctx, d.dsn)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = conn.PgConn().CopyFrom(ctx, tabbed(s, `\\x`), "COPY "+d.changes(s)+" ("+strings.Join(s.names(), ", ")+") FROM STDIN")
	return err
}

// loadMariaDB sends the rows as a file of this side.
func loadMariaDB(ctx context.Context, d *database, s shape) error {
	name := d.name + "." + s.table
	mysql.RegisterReaderHandler(name, func() io.Reader { return tabbed(s, "") })
	defer mysql.DeregisterReaderHandler(name)
	list := strings.Replace(strings.Join(s.names(), ", "), "header__change_mask", "@mask", 1)
	return d.exec(ctx, "LOAD DATA LOCAL INFILE 'Reader::"+name+"' INTO TABLE "+d.changes(s)+" CHARACTER SET utf8mb4 ("+list+") SET header__change_mask = UNHEX(@mask)")
}

// tabbed are the rows as lines.
func tabbed(s shape, mask string) io.Reader {
	read, write := io.Pipe()
	go func() {
		out := bufio.NewWriterSize(write, 1<<16)
		var line []byte
		err := s.each(func(row []any) error {
			line = appendTabbed(line[:0], row, mask)
			_, err := out.Write(line)
			return err
		})
		write.CloseWithError(errors.Join(err, out.Flush()))
	}()
	return read
}

// loadPrepared inserts row by row in one transaction.
func loadPrepared(ctx context.Context, d *database, s shape) error {
	tx, err := d.pool.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	marks := strings.TrimSuffix(strings.Repeat("?, ", len(s.names())), ", ")
	insert, err := tx.PrepareContext(ctx, "INSERT INTO "+d.changes(s)+" VALUES ("+marks+")")
	if err != nil {
		return err
	}
	err = s.each(func(row []any) error {
		_, err := insert.ExecContext(ctx, row...)
		return err
	})
	if err != nil {
		return err
	}
	return tx.Commit()
}

// literalRows is how many rows one INSERT takes.
const literalRows = 500

// loadLiterals inserts rows as text, many at once.
func loadLiterals(ctx context.Context, d *database, s shape) error {
	tx, err := d.pool.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := insertLiterals(ctx, tx, d, s); err != nil {
		return err
	}
	return tx.Commit()
}

// execer is a transaction or a pool.
type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

func insertLiterals(ctx context.Context, to execer, d *database, s shape) error {
	var statement []byte
	n := 0
	flush := func() error {
		if n == 0 {
			return nil
		}
		_, err := to.ExecContext(ctx, string(statement))
		if err != nil {
			err = fmt.Errorf("%.80s…: %w", statement, err)
		}
		statement, n = statement[:0], 0
		return err
	}
	err := s.each(func(row []any) error {
		if n == 0 {
			statement = append(statement, "INSERT INTO "+d.changes(s)+" VALUES "...)
		} else {
			statement = append(statement, ", "...)
		}
		statement = d.appendLiterals(statement, row)
		if n++; n < literalRows {
			return nil
		}
		return flush()
	})
	return errors.Join(err, flush())
}

package sql

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"

	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/fault"
)

// claimName is the name of the row that says which instance holds the task. Names of entries never begin with a blank.
const claimName = " instance"

// Store is a checkpoint.Store in a table. It is not safe for concurrent use.
type Store struct {
	db      *sql.DB
	dialect Dialect
	table   string
	task    string

	instance string
	claim    string // content of the claim row, as we left it; "" = the task is not ours
	saves    int
}

// maxTask is the longest task name in bytes.
const maxTask = 128

var tableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)?$`)

// New makes a store for a task in that table, which is created where it is missing. Close closes db.
func New(db *sql.DB, dialect Dialect, table, task string) (*Store, error) {
	switch {
	case !tableName.MatchString(table):
		return nil, fault.New(fault.Config, "checkpoint table", fmt.Errorf("%q is not a plain table name", table), "use letters, digits and '_', with one '.' after a schema")
	case task == "" || len(task) > maxTask:
		return nil, fault.New(fault.Config, "checkpoint table", fmt.Errorf("task name %q: want 1 to %d bytes", task, maxTask), "")
	}
	return &Store{db: db, dialect: dialect.on(table), table: table, task: task, instance: rand.Text()}, nil
}

// Load makes the table where it is missing, claims the task and reads its entries.
func (s *Store) Load(ctx context.Context) (map[string][]byte, error) {
	s.claim = ""
	_, missing := s.db.ExecContext(ctx, s.dialect.create) // no matter when the table is there all the same
	var entries map[string][]byte
	next := s.nextClaim()
	err := s.inTx(ctx, func(tx *sql.Tx) error {
		err := s.put(ctx, tx, claimName, []byte(next))
		if err == nil {
			entries, err = s.read(ctx, tx)
		}
		return err
	})
	if err != nil {
		return nil, s.fail("read", errors.Join(missing, err), "the bridge must be able to create the table, or find it there and change its rows")
	}
	s.claim = next
	return entries, nil
}

// Peek reads the entries beside whoever has claimed the task; it changes nothing. A missing table is an error.
func (s *Store) Peek(ctx context.Context) (entries map[string][]byte, err error) {
	err = s.inTx(ctx, func(tx *sql.Tx) error {
		entries, err = s.read(ctx, tx)
		return err
	})
	if err != nil {
		return nil, s.fail("read", err, "has the task run once? It makes the table")
	}
	return entries, nil
}

func (s *Store) read(ctx context.Context, tx *sql.Tx) (map[string][]byte, error) {
	rows, err := tx.QueryContext(ctx, s.dialect.load, s.task)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	entries := map[string][]byte{}
	for rows.Next() {
		var name string
		var value []byte
		if err := rows.Scan(&name, &value); err != nil {
			return nil, err
		}
		if name != claimName {
			entries[name] = append([]byte{}, value...)
		}
	}
	return entries, rows.Err()
}

// Save writes the entries in one transaction. It fails when another instance has claimed the task since Load.
func (s *Store) Save(ctx context.Context, entries []checkpoint.Entry) error {
	if s.claim == "" {
		if _, err := s.Load(ctx); err != nil {
			return err
		}
	}
	next := s.nextClaim()
	err := s.inTx(ctx, func(tx *sql.Tx) error {
		if err := s.renew(ctx, tx, next); err != nil {
			return err
		}
		for _, e := range entries {
			if err := s.put(ctx, tx, e.Key, e.Value); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		s.claim = "" // unknown whether the new or the old one is there
		return s.fail("write", err, "")
	}
	s.claim = next
	return nil
}

// Leave writes entries that whoever has claimed the task does not write, beside it: the claim stays as it is.
func (s *Store) Leave(ctx context.Context, entries []checkpoint.Entry) error {
	err := s.inTx(ctx, func(tx *sql.Tx) error {
		for _, e := range entries {
			if err := s.put(ctx, tx, e.Key, e.Value); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return s.fail("write", err, "has the task run once? It makes the table")
	}
	return nil
}

// renew replaces our claim; nothing to replace means that another instance took the task. The row stays locked to the end of the
// transaction.
func (s *Store) renew(ctx context.Context, tx *sql.Tx, next string) error {
	result, err := tx.ExecContext(ctx, s.dialect.renew, []byte(next), s.task, id(claimName), []byte(s.claim))
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n != 1 {
		return errors.Join(err, fault.New(fault.Fatal, "task "+s.task, errors.New("another instance with the same task runs"),
			"stop one of them, or give them different task names"))
	}
	return nil
}

// put writes one row; a nil value removes it.
func (s *Store) put(ctx context.Context, tx *sql.Tx, name string, value []byte) error {
	var err error
	if value == nil {
		_, err = tx.ExecContext(ctx, s.dialect.remove, s.task, id(name))
	} else {
		_, err = tx.ExecContext(ctx, s.dialect.upsert, s.task, id(name), name, value)
	}
	return err
}

// id makes a key of fixed length out of a name: names can be longer than an index allows.
func id(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:])
}

func (s *Store) nextClaim() string {
	s.saves++
	return fmt.Sprintf("%s/%d", s.instance, s.saves)
}

func (s *Store) inTx(ctx context.Context, f func(*sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		tx.Rollback() // the error that matters is the first
		return err
	}
	return tx.Commit()
}

// Close closes the database.
func (s *Store) Close() error { return s.db.Close() }

func (s *Store) fail(what string, err error, hint string) error {
	if fault.ClassOf(err) == fault.Fatal {
		return err
	}
	if class, mend, known := fault.Handshake(err, "the checkpoint's database"); known {
		return fault.New(class, what+" checkpoint table "+s.table, err, mend)
	}
	return fault.New(fault.Retry, what+" checkpoint table "+s.table, err, hint)
}

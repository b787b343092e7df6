package sqlite

import (
	"errors"

	code "modernc.org/sqlite/lib"

	"ctbridge/bridge/fault"
)

// classify maps SQLite's result codes (https://www.sqlite.org/rescode.html). Only the primary code counts, the low byte. A plain
// SQLITE_ERROR of a query that only reads is a table or column that is not there: SQLite has no number of its own for them.
func classify(err error) (fault.Class, string) {
	var vendor interface { // the driver's error or our own
		error
		Code() int
	}
	if !errors.As(err, &vendor) {
		return fault.Retry, ""
	}
	switch vendor.Code() & 0xff {
	case code.SQLITE_ERROR:
		return fault.Table, "was the table or column dropped or renamed?"
	case code.SQLITE_TOOBIG, code.SQLITE_MISMATCH, code.SQLITE_RANGE:
		return fault.Table, ""
	case code.SQLITE_AUTH, code.SQLITE_PERM:
		return fault.Fatal, "the process must be allowed to read the file and its -wal and -shm files"
	case code.SQLITE_NOTADB:
		return fault.Fatal, "the file is not an SQLite database, or is encrypted"
	case code.SQLITE_CORRUPT:
		return fault.Fatal, "check the file with PRAGMA integrity_check"
	case code.SQLITE_CANTOPEN:
		return fault.Retry, "does the file exist, and may the process read it and write -shm beside it?"
	case code.SQLITE_BUSY, code.SQLITE_LOCKED:
		return fault.Retry, "a writer holds its lock for longer than the busy timeout"
	}
	return fault.Retry, ""
}

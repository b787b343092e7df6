package change

// TableError is an error that concerns one table only: the others go on.
type TableError struct {
	Table  TableID
	Origin string // of the one record that is to blame, empty where it is not known: see Record
	Err    error
}

// HeaderError is an error of what a change table says about a row: its operation, change mask or time.
type HeaderError struct{ Err error }

// Error is the cause.
func (e *HeaderError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *HeaderError) Unwrap() error { return e.Err }

// Error names the table and the cause.
func (e *TableError) Error() string { return "table " + e.Table.String() + ": " + e.Err.Error() }

// Unwrap gives the cause.
func (e *TableError) Unwrap() error { return e.Err }

package change

// TableError is an error that concerns one table only: the others go on.
type TableError struct {
	Table  TableID
	Origin string // of the one record that is to blame, empty where it is not known: see Record
	Err    error
}

// Error names the table and the cause.
func (e *TableError) Error() string { return "table " + e.Table.String() + ": " + e.Err.Error() }

// Unwrap gives the cause.
func (e *TableError) Unwrap() error { return e.Err }

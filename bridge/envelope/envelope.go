package envelope

import "ctbridge/bridge/change"

// Envelope declares the messages of one output format family (Qlik, Datastream, Debezium).
type Envelope interface {
	// Declare says what the messages of one table version look like. Errors name the table and the column (names that clash after
	// adjustment, types that the envelope cannot carry).
	Declare(t *change.Table) (*Declaration, error)
	// Expand turns one event into the events that the envelope publishes for it, in order: usually itself; a key change may become
	// two. It runs before the transaction counters are set. The result may reuse dst.
	Expand(dst []*change.Event, ev *change.Event) []*change.Event
}

// Bounds is what an Envelope is, too, whose transactions can have messages of their own: where they begin and where they end.
type Bounds interface {
	// DeclareBound declares key and value of such a message: of a begin for no tables, of an end that counts the events of one table or more. All
	// have one schema. They are rendered from an event that stands for the transaction: its id, the time of its row, and at the end Last, Counter,
	// the number of its events, and in After, for each table, its name and the number of its events.
	DeclareBound(tables int) *Declaration
	// Collection is the name of a table in these messages.
	Collection(id change.TableID) string
}

// Declaration is what an envelope says about one table version.
type Declaration struct {
	Value    *Node
	Key      *Node    // record of the key columns for encoded keys; nil for a table without key
	Metadata []Notice // published before the first record of this version (I9), in order
	SchemaID string   // id of this version's schema as messages carry it; empty where the envelope has none
	Headers  []Header // record headers, in order
}

// Header is a record header. Its value is written as JSON, whatever the format of the record is.
type Header struct {
	Name  string
	Value *Node
	When  func(*change.Event) bool // nil = on every record
}

// Notice is a message about a table version rather than about a row.
type Notice struct {
	Key   []byte
	Value *Node // every leaf is a constant
}

// Encoder appends one event, encoded, to dst. It allocates nothing per value; it is not safe for concurrent use. With an error dst comes
// back as it was.
type Encoder interface {
	Append(dst []byte, ev *change.Event) ([]byte, error)
}

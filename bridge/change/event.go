package change

// Op is what happened to a row.
type Op uint8

// The operations. OpBefore is only seen inside a source: a before-image never leaves as an event of its own (I7).
const (
	OpInsert Op = iota + 1
	OpUpdate
	OpDelete
	OpRefresh // a row read by a full load
	OpTruncate
	OpBefore
)

// String is the operation's name as messages and metrics spell it.
func (o Op) String() string {
	switch o {
	case OpInsert:
		return "INSERT"
	case OpUpdate:
		return "UPDATE"
	case OpDelete:
		return "DELETE"
	case OpRefresh:
		return "REFRESH"
	case OpTruncate:
		return "TRUNCATE"
	case OpBefore:
		return "BEFOREIMAGE"
	}
	return "UNKNOWN"
}

// Position orders the events of a task: byte order is event order. For the Qlik layout it is the 35-digit change sequence. The empty
// position comes before every other.
type Position string

// JustBelow is a position that separates everything below p from p: no position ends with a byte below '0', so that nothing lies between.
func (p Position) JustBelow() Position {
	if p == "" {
		return ""
	}
	return p[:len(p)-1] + Position(p[len(p)-1]-1) + "~"
}

// Event is one change of one row: both images together (I7), with what the source knows of its transaction.
type Event struct {
	Table    *Table
	Op       Op
	Late     bool     // its position lies below one that was published before it
	Bad      error    // the row cannot become a message, and why (fault.Poison); its images are as they were read
	Position Position // full order key, I2

	ChangeSequence []byte // 35 digits; empty for OpRefresh; nil from a source that has none: the sequence stage gives one
	StreamPosition []byte // nil where the change table has no such column
	TransactionID  []byte // nil where the change table has no such column
	Timestamp      Value  // KindInstant or KindNull; UTC time of the change in the source

	// After is the new row (insert, update, refresh), Before the old one (update with a before-image, delete). A nil image
	// does not exist. Values are in the order of Table.Columns; a column that was not captured is KindAbsent.
	After  []Value
	Before []Value

	// Changed marks the columns the source reported as changed, over Table.Columns. HasChanged is false where the source does not say.
	Changed    Mask
	HasChanged bool

	// Half says whether the event is one of the two that an update of the key was split into; Counterpart is then the row of the other one.
	Half        Half
	Counterpart []Value

	Load *Load // the full load that read the row, for OpRefresh; nil otherwise

	// The sequence stage fills these. Both counters are 0 where there is no transaction id; they run from 1 over published events, Counter
	// over those of the transaction, TableCounter over those of its table.
	Counter      int64
	TableCounter int64
	Last         bool
}

// Load is where a full load stands at a row. A load that is resumed has the same Begin and goes on counting.
type Load struct {
	Begin Value    // KindInstant: when it began, by the clock of this process
	Fence Position // the changes behind it follow the load: each row that it read is at least as new
	Row   int64    // number of the row, from 1
}

// Half is the part of an update of the key that an event stands for.
type Half uint8

// The halves. An envelope that splits updates of the key publishes the old key's first.
const (
	Whole  Half = iota // not split
	OldKey             // the DELETE of the row under its old key
	NewKey             // the INSERT of the row under its new key
)

// Row is the image that stands for the event: the new row, or the deleted one.
func (e *Event) Row() []Value {
	if e.After != nil {
		return e.After
	}
	return e.Before
}

package envelope

import "ctbridge/bridge/change"

// Shape says what kind of node a Node is.
type Shape uint8

// The shapes.
const (
	Leaf     Shape = iota // one value
	Record                // named fields in order
	Embedded              // Avro: bytes that hold the Avro binary of Inner; JSON: Inner itself
	Array                 // a fixed number of items: the same for all events of the table version
	Union                 // Avro: one branch of several, fixed at its place; JSON: that branch itself
	Split                 // one column. Avro: a record of parts, each leaf a form of that column; JSON: the column as a leaf
)

// Node is one place in the tree. Nodes are built once per table version and never changed afterwards. The same *Node may stand in two
// places (data and beforeData): its Avro definition is written at the first, its name at the others.
type Node struct {
	Shape    Shape
	Nullable bool // Avro union ["null", T] with default null; JSON null. NULL and absent values are written as null.

	// Record, Split and named leaves (enum, fixed).
	Name      string
	Namespace string // empty = the enclosing one
	Doc       string
	Fields    []Field
	// Image, on a Record, chooses the row image that the column leaves below it read. A nil image writes null, which needs Nullable.
	Image func(*change.Event) []change.Value
	// Check, on a Record with an Image, refuses an event whose image must not be published; nil = none is refused.
	Check func(*change.Event) error

	// Leaf: a column of the image in force, or anything of the event, or a constant.
	Column   int           // index into the image where Get and Constant are nil; Split: of the column that is split
	Get      Getter        // value from the event
	Constant *change.Value // same for every event of the table version
	Absent   *change.Value // stands for a value that was not captured; nil = such a value is written as null
	Avro     Form
	JSON     Form

	Role Role // what it tells, with everything below it

	Props []Prop // further members of the Avro type, in order

	// Embedded.
	Inner *Node

	// Array: Item is the type of every item, Items are the items themselves. Each is written as Item declares it.
	Item  *Node
	Items []*Node

	// Union: Branches in the schema's order, none of them nullable; Branch is the one that stands here. A branch of FormNull is null.
	Branches []*Node
	Branch   int
}

// Role says what a node tells, for whoever compares two messages of one change: see package audit.
type Role uint8

// The roles.
const (
	RoleContent  Role = iota // the change itself: the same in every message of it
	RoleRun                  // the publication: counters, last flags, clocks; it differs from one message of a change to the next
	RoleSchema               // how the message is written: schemas and their ids, masks; the same in messages of one structure
	RoleMoment               // the time of the change, or of the publication where the change table does not tell it
	RoleSequence             // the change sequence; of the publication where the change table has none
	RoleStream               // the position in the source's log
)

// As gives the node its role.
func (n *Node) As(r Role) *Node {
	n.Role = r
	return n
}

// Getter takes a value from an event. Bytes that must be computed go to the scratch buffer; the value is used before the next call.
type Getter func(ev *change.Event, scratch *Scratch) change.Value

// Scratch is a buffer that a Getter may overwrite: `*s = append((*s)[:0], …)`. Each encoder has one; what a Getter leaves there stays until
// the next Getter of that encoder.
type Scratch []byte

// Field is one named member of a record.
type Field struct {
	Name     string // JSON member, as the source spells it
	AvroName string // Avro field name where it must differ from Name; Name is then kept in the schema as doc
	Doc      string
	Props    []Prop // further members of the Avro field, in order
	Node     *Node
}

// Prop is one extra member in an Avro schema; Value is JSON text.
type Prop struct {
	Name  string
	Value string
}

// InAvro gives the field's name in Avro.
func (f *Field) InAvro() string {
	if f.AvroName != "" {
		return f.AvroName
	}
	return f.Name
}

// FormKind says how a value is written.
type FormKind uint8

// The forms. Each encoder refuses, with an error, a value that its form cannot hold exactly (I6).
const (
	FormNone FormKind = iota // this format never writes the leaf; an encoder that meets it refuses to compile

	FormBoolean
	FormInt    // Avro int, range checked; JSON number
	FormLong   // Avro long; JSON number. KindUint above int64 is an error
	FormFloat  // Avro float; JSON number, shortest text of 32 bits. NaN and infinity: an error in JSON
	FormDouble // Avro double; JSON number
	FormNumber // JSON number with the decimal's own digits; not for Avro
	FormNull   // a branch of a Union that is always null

	// Text: an Avro string or a JSON string.
	FormText          // any kind: text as it is, numbers in decimal, dates and times in the forms below with the type's own digits
	FormHexUpper      // bytes as upper-case hex
	FormHexLower      // bytes as lower-case hex
	FormBase64        // bytes as standard base64 with padding
	FormDecimalText   // exactly Scale digits after the point; more significant digits than Precision or Scale allow are an error
	FormDecimalBase64 // what FormDecimalBytes holds, as base64
	FormDateText      // 1993-11-25
	FormTimeText      // 14:34:21.000000, Scale digits; negative durations with a minus sign
	FormDateTimeText  // 2023-03-21 14:34:21.000000, Scale digits
	FormISOMillis     // 2023-09-11T03:23:25.000, UTC for instants, no zone letter; finer digits are cut (documented as milliseconds)
	FormInstantText   // 2031-05-10 16:00:01.6048050 +03:00, Scale digits, wall clock at the stored offset
	FormISODate       // 1993-11-25Z
	FormISOTime       // 14:34:21.5Z, a time of day with as many digits as it needs
	FormISOInstant    // 2031-05-10T16:00:01.604805+03:00 at the stored offset, Z for none; Scale digits, as many as needed where Scale is 0
	FormISODateTime   // 2031-05-10T16:00:01.604805, a wall clock, Scale digits
	FormISOMidnight   // 2031-05-10T00:00:00Z: a date as its midnight in UTC
	FormISOZonedClock // 04:05:06.7+05:45, Z for none: text that change.ParseZonedClock reads
	FormISOInterval   // P1Y2M-3DT4H5M6.7S: text that change.ParseInterval reads
	FormMaskHex       // a change.Mask as upper-case hex of a most-significant-first number of Scale bytes

	// Avro binary forms.
	FormBytes
	FormMaskBytes       // a change.Mask as Scale bytes, most significant first
	FormDecimalBytes    // logical type decimal(Precision, Scale), minimal two's complement
	FormDate            // int, logical type date
	FormTimeMillis      // int, logical type time-millis; a value outside the day or with finer digits is an error
	FormTimeMicros      // long, logical type time-micros
	FormTimestampMillis // long, logical type timestamp-millis; finer digits are an error
	FormTimestampMicros // long, logical type timestamp-micros; wall clocks as if UTC; finer digits are an error
	FormTimestampNanos  // long, logical type timestamp-nanos; years outside 1677..2262 are an error
	FormDatePart        // int, logical type date: the day of a wall clock
	FormTimePart        // long, logical type time-micros: the time of day of a wall clock or of a time with zone; finer digits are an error
	FormOffsetPart      // int, logical type time-millis: the offset of an instant or of a time with zone
	FormEnum            // text value, one of Symbols; JSON string
	FormFixed           // Scale raw bytes, named; JSON string
	FormTimeNanos       // long, nanoseconds of the day
	FormDurationMicros  // long, microseconds of a time of day or a signed duration; finer digits are an error
	FormDecimalDouble   // double nearest to a decimal: the one form that rounds, for users who ask for it
	FormMidnightMicros  // long, logical type timestamp-micros: a date as its midnight in UTC
	FormBits            // long, bits as a number: a truth value, or bytes, the most significant first; a 64th bit is an error
	FormMonthsPart      // int, the months of an interval, 12 for a year
	FormHoursPart       // int, the days of an interval, 24 for each
	FormMicrosPart      // long, the clock of an interval in microseconds; finer digits are an error
	FormScalePart       // int, the digits after the point of a decimal
	FormUnscaledPart    // bytes, all digits of a decimal as minimal two's complement
	FormScaledObject    // JSON only: {"scale":2,"value":"BNI="}, both parts, the second as base64
	FormMap             // map of strings; only ever null here
	FormVerbatim        // JSON only: the text is JSON already
)

// Form is a FormKind with its limits.
type Form struct {
	Kind      FormKind
	Precision int
	Scale     int
	Plain     bool // Avro: without the logical type
	Symbols   []string
}

package bridge

import (
	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
)

// Output is one set of messages that a task publishes for its events: an envelope in a format, on topics of its own. Every row leaves in all
// outputs of its task or in none, within one commit.
type Output struct {
	// Name tells outputs of a task apart. The checkpoint keeps its counters under it: under a new name they begin anew.
	Name     string
	Envelope envelope.Envelope
	Format   Format

	Topic        func(change.TableID) (string, error)
	SharedTopics bool // tables share topics on purpose; otherwise a second table of a topic is stopped

	MetadataTopic string // empty = metadata messages are not published
	Notices       Format // encodes metadata messages
	// MetadataFormat names the format of Notices: after a change of it, metadata is published anew.
	MetadataFormat string

	// Bounds publishes where transactions begin and end, to BoundsTopic; nil = not published. Keys are records, whatever KeyFormat says.
	Bounds      envelope.Bounds
	BoundsTopic string

	KeyMode envelope.KeyMode
	// KeyColumns gives the columns that are a table's key in KeyMode columns; none = its primary key. nil = none for every table.
	KeyColumns func(change.TableID) []string
	KeyFormat  Format // encodes the key as a record of its columns; nil = keys are text
	// Tombstones follow each DELETE that has a key: a record with the same key and no value, in the same partition. For keys of rows only.
	Tombstones bool
}

// keyOf makes the text keys of a table version.
func (o *Output) keyOf(version *change.Table) (*envelope.TextKey, error) {
	mode := o.KeyMode
	if mode != envelope.KeyColumns {
		return envelope.NewTextKey(mode, version)
	}
	var columns []string
	if o.KeyColumns != nil {
		columns = o.KeyColumns(version.ID)
	}
	if len(columns) == 0 {
		mode = envelope.KeyPrimaryKey
	}
	return envelope.NewTextKey(mode, version, columns...)
}

// outputNames lists the names under which counters are kept.
func (o *Options) outputNames() []string {
	names := make([]string, len(o.Outputs))
	for i := range o.Outputs {
		names[i] = o.Outputs[i].Name
	}
	return names
}

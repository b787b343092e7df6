package qlikct

import (
	"fmt"
	"slices"
	"strings"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/source"
)

// headers are the header columns that a change table has; a missing one is nil. Users can remove each of them.
type headers struct {
	sequence, oper, mask, streamPosition, operation, transactionID, timestamp *change.Column

	// By ordinal in the change table, which is the numbering of change-mask bits.
	isHeader []bool
	isData   []bool // neither header, nor partition name, nor ignored
}

// partitionColumn is present in tables with change-data partitioning, without the header prefix.
const partitionColumn = "partition_name"

// findHeaders discovers the header columns by name, in whatever case the catalog has them.
func findHeaders(r *source.Relation, o Options) (*headers, error) {
	h := &headers{isHeader: make([]bool, len(r.Columns)), isData: make([]bool, len(r.Columns))}
	slots := map[string]**change.Column{
		"change_seq": &h.sequence, "change_oper": &h.oper, "change_mask": &h.mask, "stream_position": &h.streamPosition,
		"operation": &h.operation, "transaction_id": &h.transactionID, "timestamp": &h.timestamp,
	}
	for i := range r.Columns {
		c := &r.Columns[i]
		if name, ok := cutPrefixFold(c.Name, o.Prefix); ok && slots[name] != nil {
			*slots[name], h.isHeader[i] = c, true
		} else {
			h.isData[i] = !strings.EqualFold(c.Name, partitionColumn) && !slices.Contains(o.Ignore, c.Name)
		}
	}
	return h, h.check(r, o)
}

func (h *headers) check(r *source.Relation, o Options) error {
	switch {
	case h.sequence == nil:
		return fault.New(fault.Table, "discover", fmt.Errorf("change table %s has no column %schange_seq: its rows cannot be ordered", r.ID, o.Prefix),
			"add the header column in the task's Store Changes settings, or set source.qlik.prefix")
	case h.oper == nil && h.operation == nil:
		return fault.New(fault.Table, "discover", fmt.Errorf("change table %s has neither %schange_oper nor %soperation", r.ID, o.Prefix, o.Prefix),
			"add one of the header columns in the task's Store Changes settings, or set source.qlik.prefix")
	}
	return nil
}

// cutPrefixFold is the lower-case rest of a name behind a prefix that may be written in any case.
func cutPrefixFold(name, prefix string) (string, bool) {
	if len(name) < len(prefix) || !strings.EqualFold(name[:len(prefix)], prefix) {
		return "", false
	}
	return strings.ToLower(name[len(prefix):]), true
}

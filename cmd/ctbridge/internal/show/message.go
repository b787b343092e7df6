package show

import (
	"bytes"
	"encoding/hex"
	"strings"
)

// event is a Qlik message taken apart.
type event struct {
	headers      object
	data, before object
	hasData      bool
	changed      mask // nil where the message does not say
	captured     mask
}

// metadata is a Qlik metadata message taken apart.
type metadata struct {
	table   string
	version string
	columns []string
}

// parseEvent reads a data message, with or without its envelope.
func parseEvent(o object) (*event, bool) {
	e := &event{}
	var isEvent bool
	if e.headers, isEvent = o.child("headers"); !isEvent || !e.headers.has("operation") || !o.has("data") {
		return nil, false
	}
	e.data, e.hasData = o.child("data")
	e.before, _ = o.child("beforeData")
	e.changed, e.captured = parseMask(e.headers.text("changeMask")), parseMask(e.headers.text("columnMask"))
	return e, true
}

// parseMetadata reads a metadata message.
func parseMetadata(o object) (*metadata, bool) {
	lineage, isMetadata := o.child("lineage")
	structure, hasStructure := o.child("tableStructure")
	if !isMetadata || !hasStructure {
		return nil, false
	}
	m := &metadata{table: lineage.text("table"), version: lineage.text("tableVersion")}
	if schema := lineage.text("schema"); schema != "" {
		m.table = schema + "." + m.table
	}
	columns, _ := structure.child("tableColumns")
	m.columns = columns.names
	return m, true
}

// unwrap takes a message out of its envelope.
func unwrap(o object) object {
	if o.text("magic") == envelopeMagic {
		if inner, isObject := o.child("message"); isObject {
			return inner
		}
	}
	return o
}

// field is one column as it is shown; before is nil where only one value is known.
type field struct {
	name          string
	before, after []byte
}

// changes lists the columns of an update that changed: by comparison with the old row where there is one, else by the mask, else all.
func (e *event) changes() []field {
	var out []field
	for i, name := range e.data.names {
		f := field{name: name, after: e.data.values[name]}
		changed := e.changed.has(i)
		if old, known := e.before.values[name]; known {
			changed = !bytes.Equal(old, f.after)
			f.before = old
		}
		if changed && e.captured.has(i) {
			out = append(out, f)
		}
	}
	return out
}

// row lists the columns of the row that stands for the event.
func (e *event) row() []field {
	row := e.data
	if !e.hasData {
		row = e.before
	}
	var out []field
	for i, name := range row.names {
		if e.captured.has(i) {
			out = append(out, field{name: name, after: row.values[name]})
		}
	}
	return out
}

// mask is a message mask: most significant byte first, the lowest bit is the first column.
type mask []byte

// parseMask gives nil for a mask that is not there.
func parseMask(digits string) mask {
	m, err := hex.DecodeString(strings.TrimSpace(digits))
	if err != nil || len(m) == 0 {
		return nil
	}
	return m
}

// has reports whether column i, from 0, is marked. Without a mask every column is.
func (m mask) has(i int) bool {
	at := len(m) - 1 - i/8
	return m == nil || at >= 0 && m[at]&(1<<(i%8)) != 0
}

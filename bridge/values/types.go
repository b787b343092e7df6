package values

import (
	"slices"
	"strings"

	"ctbridge/bridge/change"
)

// families are the names that rules have for types, whatever the database calls them.
var families = map[string][]change.Kind{
	"bool":     {change.Bool},
	"integer":  {change.Int1, change.Int2, change.Int4, change.Int8, change.Uint1, change.Uint2, change.Uint4, change.Uint8},
	"float":    {change.Real4, change.Real8},
	"decimal":  {change.Numeric},
	"text":     {change.String, change.WString, change.Clob, change.NClob},
	"binary":   {change.Bytes, change.Blob},
	"lob":      {change.Clob, change.NClob, change.Blob},
	"date":     {change.Date},
	"time":     {change.Time},
	"datetime": {change.DateTime, change.DateTimeTZ},
	"uuid":     {change.UUID},
	"json":     {change.JSON},
}

// Types lists the names of types that do not depend on the database.
func Types() []string {
	var names []string
	for name := range families {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// nativePrefix marks the database's own name of a type. Without it a slip of the pen would be taken for one, and choose nothing.
const nativePrefix = "native:"

func knownType(name string) bool {
	native, ok := strings.CutPrefix(name, nativePrefix)
	return families[name] != nil || ok && native != ""
}

// ofType tells that a rule concerns columns of a type: by its family, or by the database's own name of it, with or without limits.
func (r *Rule) ofType(c *change.Column) bool {
	if len(r.Types) == 0 {
		return true
	}
	bare, _, _ := strings.Cut(c.Native, "(")
	for _, name := range r.Types {
		native, ok := strings.CutPrefix(name, nativePrefix)
		if slices.Contains(families[name], c.Type.Kind) || ok && (strings.EqualFold(native, c.Native) || strings.EqualFold(native, strings.TrimSpace(bare))) {
			return true
		}
	}
	return false
}

// hashDigits is how long a hash is.
const hashDigits = 64

// told gives a column as envelopes see it.
func (d *decision) told(c change.Column) change.Column {
	text := func(length int) {
		c.Type, c.Native = change.Type{Kind: change.String, Length: length}, "varchar"
	}
	switch d.do {
	case hashed:
		text(hashDigits)
	case asText:
		text(0)
	case constant:
		text(len(d.text))
	case nullify:
		text(0)
		c.Nullable = true
	case truncate:
		if c.Type.Kind == change.JSON || c.Type.Kind == change.UUID {
			text(0) // no longer one
		}
	case keep, exclude:
	}
	return c
}

// fits tells why an action cannot be done to a type, "" if it can.
func (d *decision) fits(t change.Type) string {
	if d.do != truncate {
		return ""
	}
	switch t.Kind {
	case change.String, change.WString, change.Clob, change.NClob, change.UUID, change.JSON, change.Bytes, change.Blob:
		return ""
	}
	return "is neither text nor binary"
}

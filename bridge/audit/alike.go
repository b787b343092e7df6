package audit

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"ctbridge/bridge/envelope"
)

// Lenience is what may be otherwise in a message that tells the same change.
type Lenience struct {
	Schema  bool // what tells of the schema
	Columns bool // columns that only one of both has: it was published under another structure of the table
	Moment  bool // the time, which the change table does not tell
}

// alike compares two documents as far as they must agree; where is the first member that differs.
func (s *Shape) alike(expected, found []byte, l Lenience) (same bool, where string) {
	var a, b document
	if json.Unmarshal(expected, &a) != nil || json.Unmarshal(found, &b) != nil {
		return false, "message"
	}
	if a.Key != b.Key {
		return false, "key"
	}
	if !maps.Equal(a.Headers, b.Headers) {
		return false, "headers"
	}
	values := make([]any, 2)
	for i, doc := range [][]byte{expected, found} {
		var whole any
		if parse(doc, &whole) != nil {
			return false, "message"
		}
		values[i] = s.root.strip(whole.(map[string]any)["value"], func(r envelope.Role) bool {
			return l.Schema && r == envelope.RoleSchema || l.Moment && r == envelope.RoleMoment
		}, &places{})
	}
	where = s.root.differ("", values[0], values[1], l.Columns)
	return where == "", where
}

// differ gives the path of the first member that differs, "" where none does.
func (p *place) differ(path string, a, b any, columns bool) string {
	x, isX := a.(map[string]any)
	y, isY := b.(map[string]any)
	if !isX || !isY {
		if reflect.DeepEqual(a, b) {
			return ""
		}
		return first(path, "value")
	}
	names := maps.Clone(x)
	maps.Copy(names, y)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		member := name
		if path != "" {
			member = fmt.Sprintf("%s.%s", path, name)
		}
		own, inX := x[name]
		other, inY := y[name]
		if inX != inY {
			if columns && p != nil && p.row {
				continue
			}
			return member
		}
		var below *place
		if p != nil {
			below = p.fields[name]
		}
		if where := below.differ(member, own, other, columns); where != "" {
			return where
		}
	}
	return ""
}

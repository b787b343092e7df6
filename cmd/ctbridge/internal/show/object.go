package show

import (
	"bytes"
	"encoding/json"
	"errors"
)

// object is a JSON object with its members in order.
type object struct {
	names  []string
	values map[string]json.RawMessage
}

var errNoObject = errors.New("not a JSON object")

// parseObject takes apart the outermost level.
func parseObject(text []byte) (object, error) {
	o := object{values: map[string]json.RawMessage{}}
	in := json.NewDecoder(bytes.NewReader(text))
	if start, err := in.Token(); err != nil || start != json.Delim('{') {
		return o, errNoObject
	}
	for in.More() {
		name, err := in.Token()
		if err != nil {
			return o, err
		}
		key, _ := name.(string)
		var value json.RawMessage
		if err := in.Decode(&value); err != nil {
			return o, err
		}
		if _, twice := o.values[key]; !twice {
			o.names = append(o.names, key)
		}
		o.values[key] = value
	}
	return o, nil
}

// text gives a string member, and the JSON of any other; "" for null and for what is not there.
func (o object) text(name string) string {
	raw := o.values[name]
	var s string
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return ""
	case json.Unmarshal(raw, &s) == nil:
		return s
	}
	return string(raw)
}

// child gives a member that is an object; ok is false where it is none.
func (o object) child(name string) (object, bool) {
	c, err := parseObject(o.values[name])
	return c, err == nil
}

// has reports whether there is such a member, be it null.
func (o object) has(name string) bool { _, there := o.values[name]; return there }

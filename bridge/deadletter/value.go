package deadletter

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"ctbridge/bridge/change"
)

// A value is null, or an object of one member that names its kind. Numbers are text: no reader of JSON rounds them. Every kind has a text that
// people can read; a value that such a text does not give back exactly is written as the numbers and bytes that it is made of.

// kindNames are the members by kind.
var kindNames = map[change.ValueKind]string{
	change.KindBool: "bool", change.KindInt: "int", change.KindUint: "uint", change.KindFloat32: "float32", change.KindFloat64: "float64",
	change.KindDecimal: "decimal", change.KindText: "text", change.KindBytes: "bytes", change.KindDate: "date", change.KindTime: "time",
	change.KindDateTime: "datetime", change.KindInstant: "instant", change.KindUndecoded: "undecoded",
}

// Members beside the names of kinds.
const (
	memberAbsent  = "absent"      // not captured
	memberOmitted = "omitted"     // left out: the letter would have been too large
	memberBase64  = "undecoded64" // undecoded bytes that are no UTF-8
	memberRaw     = "raw"         // what a value is made of
)

// rawValue is a value as the program holds it.
type rawValue struct {
	Kind   string `json:"kind"`
	Num    int64  `json:"num,string"`
	Nanos  int32  `json:"nanos"`
	Offset int16  `json:"offset"`
	Bytes  []byte `json:"bytes,omitempty"`
}

// omitted tells of a value that was left out.
type omitted struct {
	Kind  string `json:"kind"`
	Bytes int    `json:"bytes"`
}

func encodeValue(v change.Value) (json.RawMessage, error) {
	switch v.Kind {
	case change.KindNull:
		if v.Equal(change.Null) {
			return json.RawMessage("null"), nil
		}
	case change.KindAbsent:
		if v.Equal(change.Absent) {
			return member(memberAbsent, true)
		}
	default:
		name, text, ok := readable(v)
		if !ok {
			break
		}
		if same, err := parseText(name, text); err == nil && same.Equal(v) {
			return member(name, text)
		}
	}
	return member(memberRaw, rawValue{nameOf(v.Kind), v.Num, v.Nanos, v.Offset, v.Raw})
}

func member(name string, content any) (json.RawMessage, error) {
	return marshal(map[string]any{name: content})
}

// readable gives a value's member and its text.
func readable(v change.Value) (name, text string, ok bool) {
	name, ok = kindNames[v.Kind]
	if !ok {
		return "", "", false
	}
	var out []byte
	var err error
	switch v.Kind {
	case change.KindBytes:
		return name, base64.StdEncoding.EncodeToString(v.Raw), true
	case change.KindUndecoded:
		if !utf8.Valid(v.Raw) {
			return memberBase64, base64.StdEncoding.EncodeToString(v.Raw), true
		}
		out = v.Raw
	case change.KindDecimal:
		out = v.Raw
	case change.KindTime, change.KindDateTime, change.KindInstant:
		out, err = change.AppendText(nil, v, change.Type{Scale: 9})
	default:
		out, err = change.AppendText(nil, v, change.Type{})
	}
	return name, string(out), err == nil && utf8.Valid(out)
}

// parseText is the inverse of readable.
func parseText(name, text string) (change.Value, error) {
	b := []byte(text)
	switch name {
	case "bool":
		t, err := strconv.ParseBool(text)
		return change.BoolValue(t), err
	case "int":
		n, err := strconv.ParseInt(text, 10, 64)
		return change.IntValue(n), err
	case "uint":
		n, err := strconv.ParseUint(text, 10, 64)
		return change.UintValue(n), err
	case "float32", "float64":
		return parseFloat(name, text)
	case "decimal":
		return change.DecimalValue(b), nil
	case "text":
		return change.TextValue(b), nil
	case "undecoded":
		return change.UndecodedValue(b), nil
	case "bytes":
		raw, err := base64.StdEncoding.DecodeString(text)
		return change.BytesValue(raw), err
	case memberBase64:
		raw, err := base64.StdEncoding.DecodeString(text)
		return change.UndecodedValue(raw), err
	case "date":
		return change.ParseDate(b)
	case "time":
		return change.ParseTime(b)
	case "datetime":
		return change.ParseDateTime(b)
	case "instant":
		return change.ParseInstant(b)
	}
	return change.Null, fmt.Errorf("unknown kind of value %q", name)
}

func parseFloat(name, text string) (change.Value, error) {
	if name == "float32" {
		f, err := strconv.ParseFloat(text, 32)
		return change.Float32Value(float32(f)), err
	}
	f, err := strconv.ParseFloat(text, 64)
	return change.Float64Value(f), err
}

var errValue = errors.New("a value is null or an object of one member")

// decodeValue reads a value; left reports one that was left out, which reads as absent.
func decodeValue(data json.RawMessage) (v change.Value, left bool, err error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return v, false, errValue
	}
	if members == nil {
		return change.Null, false, nil
	}
	if len(members) != 1 {
		return v, false, errValue
	}
	for name, content := range members {
		switch name {
		case memberAbsent:
			return change.Absent, false, nil
		case memberOmitted:
			return change.Absent, true, nil
		case memberRaw:
			v, err = decodeRaw(content)
		default:
			v, err = decodeText(name, content)
		}
	}
	return v, false, err
}

func decodeRaw(content json.RawMessage) (change.Value, error) {
	var r rawValue
	if err := json.Unmarshal(content, &r); err != nil {
		return change.Null, err
	}
	kind, err := kindOf(r.Kind)
	if err != nil {
		return change.Null, err
	}
	return change.Value{Kind: kind, Num: r.Num, Nanos: r.Nanos, Offset: r.Offset, Raw: r.Bytes}, nil
}

func decodeText(name string, content json.RawMessage) (change.Value, error) {
	var text string
	if err := json.Unmarshal(content, &text); err != nil {
		return change.Null, fmt.Errorf("a value of kind %q: %w", name, err)
	}
	v, err := parseText(name, text)
	if err != nil {
		return change.Null, fmt.Errorf("a value of kind %q: %w", name, err)
	}
	return v, nil
}

// nameOf names a kind; one without a name has its number.
func nameOf(kind change.ValueKind) string {
	if name, known := rawNames[kind]; known {
		return name
	}
	if name, known := kindNames[kind]; known {
		return name
	}
	return strconv.Itoa(int(kind))
}

// rawNames are the kinds that only a raw value names.
var rawNames = map[change.ValueKind]string{change.KindNull: "null", change.KindAbsent: memberAbsent}

// kindOf is the inverse of nameOf.
func kindOf(name string) (change.ValueKind, error) {
	for _, names := range []map[change.ValueKind]string{rawNames, kindNames} {
		for kind, known := range names {
			if known == name {
				return kind, nil
			}
		}
	}
	n, err := strconv.ParseUint(name, 10, 8)
	if err != nil {
		return 0, fmt.Errorf("unknown kind of value %q", name)
	}
	return change.ValueKind(n), nil
}

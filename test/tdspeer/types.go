package tdspeer

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Column is a column of a result. Type is written as in T-SQL: int, decimal(10,2), nvarchar(max), datetimeoffset(7).
type Column struct {
	Name    string
	Type    string
	NotNull bool // sent with the protocol's fixed-length form of the type, where there is one
}

// sqlType is a parsed type.
type sqlType struct {
	name  string
	size  int // length in the type's own unit, or precision, or digits of a fraction; -1 = none given
	scale int // digits after the point; -1 = none given
	max   bool
}

func parseType(text string) (t sqlType, err error) {
	t.size, t.scale = -1, -1
	name, rest, hasArgs := strings.Cut(strings.ToLower(text), "(")
	t.name = strings.TrimSpace(name)
	if !hasArgs {
		return t, nil
	}
	args := strings.Split(strings.TrimSuffix(rest, ")"), ",")
	if args[0] == "max" {
		t.max = true
		return t, nil
	}
	t.size, err = strconv.Atoi(strings.TrimSpace(args[0]))
	if err == nil && len(args) > 1 {
		t.scale, err = strconv.Atoi(strings.TrimSpace(args[1]))
	}
	return t, err
}

// encoding is how a column goes over the wire: its TYPE_INFO, and how a value that is not NULL is written behind it.
type encoding struct {
	info  []byte
	null  []byte // written for NULL; nil where the type has none
	value func(v any) ([]byte, error)
}

// collation is SQL_Latin1_General_CP1_CI_AS: code page 1252.
var collation = []byte{0x09, 0x04, 0xd0, 0x00, 0x34}

// fixedWidth are types that have a fixed-length form (for NOT NULL columns) and a nullable form with a length byte.
var fixedWidth = map[string]struct{ fixed, nullable, size byte }{
	"tinyint": {0x30, 0x26, 1}, "smallint": {0x34, 0x26, 2}, "int": {0x38, 0x26, 4}, "bigint": {0x7f, 0x26, 8},
	"bit": {0x32, 0x68, 1}, "real": {0x3b, 0x6d, 4}, "float": {0x3e, 0x6d, 8},
	"money": {0x3c, 0x6e, 8}, "smallmoney": {0x7a, 0x6e, 4}, "datetime": {0x3d, 0x6f, 8}, "smalldatetime": {0x3a, 0x6f, 4},
}

func encodingOf(c Column) (encoding, error) {
	t, err := parseType(c.Type)
	if err != nil {
		return encoding{}, fmt.Errorf("type %q: %w", c.Type, err)
	}
	if f, ok := fixedWidth[t.name]; ok {
		e := encoding{info: []byte{f.nullable, f.size}, null: []byte{0}, value: counted8(fixedValue(t))}
		if c.NotNull {
			e = encoding{info: []byte{f.fixed}, value: fixedValue(t)}
		}
		return e, nil
	}
	switch t.name {
	case "decimal", "numeric":
		return decimalEncoding(t), nil
	case "date", "time", "datetime2", "datetimeoffset":
		return momentEncoding(t), nil
	case "uniqueidentifier":
		return encoding{info: []byte{0x24, 16}, null: []byte{0}, value: counted8(guidValue)}, nil
	case "text", "ntext", "image":
		return longEncoding(t), nil
	case "xml":
		return encoding{info: []byte{0xf1, 0}, null: plpNull, value: plp(nationalValue)}, nil
	}
	return characterEncoding(t)
}

func decimalEncoding(t sqlType) encoding {
	precision, scale := t.size, max(t.scale, 0)
	if precision < 0 {
		precision = 18
	}
	size := 5
	for _, limit := range []int{9, 19, 28} {
		if precision > limit {
			size += 4
		}
	}
	id := byte(0x6a)
	if t.name == "numeric" {
		id = 0x6c
	}
	value := func(v any) ([]byte, error) { return decimalValue(v, scale, size) }
	return encoding{info: []byte{id, byte(size), byte(precision), byte(scale)}, null: []byte{0}, value: counted8(value)}
}

func momentEncoding(t sqlType) encoding {
	id := map[string]byte{"date": 0x28, "time": 0x29, "datetime2": 0x2a, "datetimeoffset": 0x2b}[t.name]
	if t.name == "date" {
		return encoding{info: []byte{id}, null: []byte{0}, value: counted8(momentValue(t.name, 0))}
	}
	scale := t.size
	if scale < 0 {
		scale = 7 // the types' default
	}
	return encoding{info: []byte{id, byte(scale)}, null: []byte{0}, value: counted8(momentValue(t.name, scale))}
}

func longEncoding(t sqlType) encoding {
	id, convert := byte(0x22), bytesValue
	switch t.name {
	case "text":
		id, convert = 0x23, codePageValue
	case "ntext":
		id, convert = 0x63, nationalValue
	}
	info := le.AppendUint32([]byte{id}, 0x7fffffff)
	if t.name != "image" {
		info = append(info, collation...)
	}
	info = appendUSVarChar(append(info, 1), "t") // one part of a table name
	return encoding{info: info, null: []byte{0}, value: func(v any) ([]byte, error) {
		b, err := convert(v)
		head := append([]byte{16}, make([]byte, 16+8)...) // text pointer and time stamp, which nobody looks at
		return append(le.AppendUint32(head, uint32(len(b))), b...), err
	}}
}

func characterEncoding(t sqlType) (encoding, error) {
	ids := map[string]byte{"char": 0xaf, "varchar": 0xa7, "nchar": 0xef, "nvarchar": 0xe7, "binary": 0xad, "varbinary": 0xa5, "rowversion": 0xad, "timestamp": 0xad}
	id, ok := ids[t.name]
	if !ok {
		return encoding{}, errors.New("no encoding for type " + t.name)
	}
	size, convert := max(t.size, 1), codePageValue
	switch {
	case t.name[0] == 'n':
		size, convert = 2*size, nationalValue
	case id == 0xad || id == 0xa5:
		convert = bytesValue
		if t.name == "rowversion" || t.name == "timestamp" {
			size = 8
		}
	}
	if t.max {
		size = 0xffff
	}
	info := le.AppendUint16([]byte{id}, uint16(size))
	if id != 0xad && id != 0xa5 {
		info = append(info, collation...)
	}
	if t.max {
		return encoding{info: info, null: plpNull, value: plp(convert)}, nil
	}
	return encoding{info: info, null: []byte{0xff, 0xff}, value: counted16(convert)}, nil
}

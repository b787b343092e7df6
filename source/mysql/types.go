package mysql

import (
	"errors"
	"strings"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/source/sqldb"
)

// catalogColumn is a row of information_schema.columns.
type catalogColumn struct {
	dataType, columnType string // "int", "int(10) unsigned"
	octets               int    // of character and binary types
	precision, scale     int    // of numbers; precision also of BIT
	seconds              int    // fractional digits of times
}

var kinds = map[string]change.Kind{
	"tinyint": change.Int1, "smallint": change.Int2, "mediumint": change.Int4, "int": change.Int4, "bigint": change.Int8, "year": change.Int2,
	"decimal": change.Numeric, "float": change.Real4, "double": change.Real8, "bit": change.Bytes,
	"char": change.String, "varchar": change.String, "enum": change.String, "set": change.String,
	"inet4": change.String, "inet6": change.String,
	"tinytext": change.Clob, "text": change.Clob, "mediumtext": change.Clob, "longtext": change.Clob,
	"binary": change.Bytes, "varbinary": change.Bytes,
	"tinyblob": change.Blob, "blob": change.Blob, "mediumblob": change.Blob, "longblob": change.Blob,
	"date": change.Date, "datetime": change.DateTime, "timestamp": change.DateTimeTZ, "time": change.Time,
	"json": change.JSON, "uuid": change.UUID,
}

// typeOf reads a column's type.
func typeOf(c catalogColumn) change.Type {
	t := change.Type{Kind: kinds[c.dataType]}
	switch t.Kind {
	case change.Int1, change.Int2, change.Int4, change.Int8:
		if strings.Contains(c.columnType, "unsigned") && c.dataType != "year" {
			t.Kind += change.Uint1 - change.Int1
		}
	case change.Numeric:
		t.Precision, t.Scale = c.precision, c.scale
	case change.String:
		t.Length = c.octets
	case change.Bytes:
		t.Length = c.octets
		if c.dataType == "bit" {
			t = bits(c.precision)
		}
	case change.DateTime, change.DateTimeTZ, change.Time:
		t.Scale = c.seconds
	}
	return t
}

func bits(n int) change.Type {
	if n == 1 {
		return change.Type{Kind: change.Bool}
	}
	return change.Type{Kind: change.Bytes, Length: (n + 7) / 8}
}

// decoder gives the decoder of a column; nil for an unsupported one.
func decoder(c change.Column) sqldb.Decode {
	switch c.Type.Kind {
	case change.Bool:
		return bit
	case change.Int1, change.Int2, change.Int4, change.Int8:
		return sqldb.Int(8 << (c.Type.Kind - change.Int1))
	case change.Uint1, change.Uint2, change.Uint4:
		return sqldb.Uint(8 << (c.Type.Kind - change.Uint1))
	case change.Uint8:
		return sqldb.Uint64
	case change.Real4:
		return sqldb.Float32
	case change.Real8:
		return sqldb.Float64
	case change.Numeric:
		return sqldb.Decimal(c.Type)
	case change.String, change.WString, change.Clob, change.NClob, change.JSON:
		return sqldb.Text
	case change.Bytes, change.Blob:
		return sqldb.Bytes
	case change.UUID:
		return sqldb.UUID
	case change.Date:
		return calendar(change.ParseDate)
	case change.DateTime:
		return calendar(change.ParseDateTime)
	case change.DateTimeTZ:
		return calendar(change.ParseInstant)
	case change.Time:
		return sqldb.Parsed(change.ParseTime)
	}
	return nil
}

// bit decodes BIT(1), one byte on the wire; a computed expression gives an integer.
func bit(dst *change.Value, src any, arena *change.Arena) error {
	b, ok := src.([]byte)
	if !ok {
		return sqldb.Bool(dst, src, arena)
	}
	if len(b) != 1 || b[0] > 1 {
		return errors.New("is not one bit")
	}
	*dst = change.BoolValue(b[0] == 1)
	return nil
}

// calendar parses dates. MySQL stores dates that no calendar has.
func calendar(parse func([]byte) (change.Value, error)) sqldb.Decode {
	decode := sqldb.Parsed(parse)
	return func(dst *change.Value, src any, arena *change.Arena) error {
		if err := decode(dst, src, arena); err != nil {
			return fault.New(fault.Poison, "", err, "zero and impossible dates have no form in messages: store NULL or a real date")
		}
		return nil
	}
}

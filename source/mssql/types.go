package mssql

import (
	"strconv"

	"ctbridge/bridge/change"
	"ctbridge/source/sqldb"
)

// catalogType is a column's type in INFORMATION_SCHEMA.COLUMNS. Alias types show their base type there.
type catalogType struct {
	name      string // DATA_TYPE
	length    int    // CHARACTER_MAXIMUM_LENGTH: characters or bytes; -1 = (max)
	precision int    // NUMERIC_PRECISION
	scale     int    // NUMERIC_SCALE
	fraction  int    // DATETIME_PRECISION: digits of fractional seconds
}

var kinds = map[string]change.Kind{
	"bit": change.Bool, "tinyint": change.Uint1, "smallint": change.Int2, "int": change.Int4, "bigint": change.Int8,
	"real": change.Real4, "float": change.Real8,
	"decimal": change.Numeric, "numeric": change.Numeric, "money": change.Numeric, "smallmoney": change.Numeric,
	"char": change.String, "varchar": change.String, "text": change.Clob,
	"nchar": change.WString, "nvarchar": change.WString, "ntext": change.NClob, "xml": change.NClob,
	"binary": change.Bytes, "varbinary": change.Bytes, "image": change.Blob, "timestamp": change.Bytes, "rowversion": change.Bytes,
	"uniqueidentifier": change.UUID, "json": change.JSON, "hierarchyid": change.String,
	"date": change.Date, "time": change.Time, "datetimeoffset": change.DateTimeTZ,
	"datetime": change.DateTime, "smalldatetime": change.DateTime, "datetime2": change.DateTime,
}

// large is the kind of a type without limit.
var large = map[change.Kind]change.Kind{change.String: change.Clob, change.WString: change.NClob, change.Bytes: change.Blob}

const (
	rowversionBytes   = 8
	hierarchyidLength = 4000 // ToString() gives nvarchar(4000) of digits, points and slashes
)

// typeOf gives the column's type and its native name.
func typeOf(c catalogType) (change.Type, string) {
	t := change.Type{Kind: kinds[c.name]}
	native := c.name
	switch c.name {
	case "decimal", "numeric":
		t.Precision, t.Scale = c.precision, c.scale
		native += "(" + strconv.Itoa(c.precision) + "," + strconv.Itoa(c.scale) + ")"
	case "money":
		t.Precision, t.Scale = 19, 4
	case "smallmoney":
		t.Precision, t.Scale = 10, 4
	case "time", "datetime2", "datetimeoffset":
		t.Scale = c.fraction
		native += "(" + strconv.Itoa(c.fraction) + ")"
	case "datetime":
		t.Scale = 3
	case "timestamp", "rowversion":
		t.Length, native = rowversionBytes, "rowversion"
	case "hierarchyid":
		t.Length = hierarchyidLength
	case "char", "varchar", "nchar", "nvarchar", "binary", "varbinary":
		return limited(t, c)
	}
	return t, native
}

// limited is a character or binary type with its length.
func limited(t change.Type, c catalogType) (change.Type, string) {
	if c.length < 0 {
		return change.Type{Kind: large[t.Kind]}, c.name + "(max)"
	}
	t.Length = c.length
	if t.Kind == change.WString {
		t.Length *= 2
	}
	return t, c.name + "(" + strconv.Itoa(c.length) + ")"
}

// decoderOf gives the decoder of a column; nil for an unsupported one.
func decoderOf(c change.Column) sqldb.Decode {
	switch c.Type.Kind {
	case change.Bool:
		return sqldb.Bool
	case change.Int1, change.Int2, change.Int4, change.Int8:
		return sqldb.Int(8 << (c.Type.Kind - change.Int1))
	case change.Uint1, change.Uint2, change.Uint4:
		return sqldb.Uint(8 << (c.Type.Kind - change.Uint1))
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
		return decodeUUID
	case change.Date:
		return decodeDate
	case change.Time:
		return decodeTime
	case change.DateTime:
		return decodeDateTime
	case change.DateTimeTZ:
		return decodeInstant
	}
	return nil
}

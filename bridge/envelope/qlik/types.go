package qlik

import (
	"errors"
	"math"
	"strings"

	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
)

// columnType is a column as the vendor names it: what the metadata message says of it, and how its values are written.
type columnType struct {
	name                     string
	length, precision, scale int
	avro, json               envelope.Form
}

// typeOf maps a column to the vendor's types (names and lengths: metadata messages seen on the wire). Kinds that the vendor does not have:
//
//   - UUID is STRING(36), JSON is NCLOB;
//   - DateTimeTZ is DATETIME in UTC where the value is an instant (timestamptz, MySQL TIMESTAMP), but STRING(34) such as
//     "2031-05-10 16:00:01.6048050 +03:00" where the database stores an offset, which UTC would lose: storesOffset decides;
//   - NUMERIC without precision or with a negative scale has no Avro decimal and is text in every mode.
//
// With logical types on, timestamp-micros and time-micros hold six fractional digits: a seventh that is not zero is an error of the encoder,
// as is a TIME that is no time of day (I6).
func typeOf(c *change.Column, logical bool) (columnType, error) {
	t := c.Type
	switch t.Kind {
	case change.Bool:
		return sized("BOOLEAN", 1, envelope.FormBoolean), nil
	case change.Int1:
		return sized("INT1", 3, envelope.FormInt), nil
	case change.Int2:
		return sized("INT2", 5, envelope.FormInt), nil
	case change.Int4:
		return sized("INT4", 10, envelope.FormInt), nil
	case change.Int8:
		return sized("INT8", 19, envelope.FormLong), nil
	case change.Uint1:
		return sized("UINT1", 3, envelope.FormInt), nil
	case change.Uint2:
		return sized("UINT2", 5, envelope.FormInt), nil
	case change.Uint4:
		return sized("UINT4", 10, envelope.FormLong), nil
	case change.Uint8:
		return sized("UINT8", 20, envelope.FormText).inAvro(logical, envelope.FormDecimalBytes, 20, 0), nil
	case change.Real4:
		return sized("REAL4", 7, envelope.FormFloat), nil
	case change.Real8:
		return sized("REAL8", 14, envelope.FormDouble), nil
	case change.Numeric:
		return numeric(t, logical), nil
	case change.Date:
		return sized("DATE", 0, envelope.FormDateText).inAvro(logical, envelope.FormDate, 0, 0), nil
	case change.Time:
		return clock("TIME", t, envelope.FormTimeText).inAvro(logical, timeForm(t.Scale), 0, 0), nil
	case change.DateTime:
		return dateTime(t, logical), nil
	case change.DateTimeTZ:
		if !storesOffset(c) {
			return dateTime(t, logical), nil
		}
	}
	return textual(c)
}

// textual maps the types that no option changes.
func textual(c *change.Column) (columnType, error) {
	switch t := c.Type; t.Kind {
	case change.DateTimeTZ:
		form := envelope.Form{Kind: envelope.FormInstantText, Scale: t.Scale}
		return columnType{name: "STRING", length: 34, avro: form, json: form}, nil
	case change.String:
		return sized("STRING", t.Length, envelope.FormText), nil
	case change.WString:
		return sized("WSTRING", t.Length, envelope.FormText), nil
	case change.UUID:
		return sized("STRING", 36, envelope.FormText), nil
	case change.Clob:
		return sized("CLOB", t.Length, envelope.FormText), nil
	case change.NClob, change.JSON:
		return sized("NCLOB", t.Length, envelope.FormText), nil
	case change.Bytes:
		return raw("BYTES", t.Length), nil
	case change.Blob:
		return raw("BLOB", t.Length), nil
	}
	return columnType{}, errors.New("type has no counterpart in this envelope")
}

// storesOffset tells the two meanings of DateTimeTZ apart by the database's own type name: of the databases we read only SQL Server's
// datetimeoffset keeps the offset it was given.
func storesOffset(c *change.Column) bool {
	const native = "datetimeoffset"
	return len(c.Native) >= len(native) && strings.EqualFold(c.Native[:len(native)], native)
}

// lob reports whether the vendor counts the column among the large objects, whose bits never show in a change mask.
func (t columnType) lob() bool { return strings.HasSuffix(t.name, "LOB") }

// sized is a type written alike in both formats. A length beyond an Avro int (LONGTEXT) is given as 0, unlimited.
func sized(name string, length int, kind envelope.FormKind) columnType {
	if length > math.MaxInt32 {
		length = 0
	}
	form := envelope.Form{Kind: kind}
	return columnType{name: name, length: length, avro: form, json: form}
}

func raw(name string, length int) columnType {
	return sized(name, length, envelope.FormHexUpper).inAvro(true, envelope.FormBytes, 0, 0)
}

func clock(name string, t change.Type, kind envelope.FormKind) columnType {
	form := envelope.Form{Kind: kind, Scale: t.Scale}
	return columnType{name: name, scale: t.Scale, avro: form, json: form}
}

func dateTime(t change.Type, logical bool) columnType {
	return clock("DATETIME", t, envelope.FormDateTimeText).inAvro(logical, envelope.FormTimestampMicros, 0, 0)
}

func timeForm(scale int) envelope.FormKind {
	if scale <= 3 {
		return envelope.FormTimeMillis
	}
	return envelope.FormTimeMicros
}

// numeric widens the precision of a type such as numeric(3,5), which Avro would refuse, to its scale.
func numeric(t change.Type, logical bool) columnType {
	c := sized("NUMERIC", 0, envelope.FormText)
	c.precision, c.scale = t.Precision, t.Scale
	if t.Precision == 0 || t.Scale < 0 {
		return c
	}
	c.json = envelope.Form{Kind: envelope.FormDecimalText, Precision: t.Precision, Scale: t.Scale}
	c.avro = c.json
	return c.inAvro(logical, envelope.FormDecimalBytes, max(t.Precision, t.Scale), t.Scale)
}

// inAvro changes the Avro form where the condition holds.
func (t columnType) inAvro(when bool, kind envelope.FormKind, precision, scale int) columnType {
	if when {
		t.avro = envelope.Form{Kind: kind, Precision: precision, Scale: scale}
	}
	return t
}

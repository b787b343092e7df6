package postgres

import (
	"github.com/jackc/pgx/v5/pgtype"

	"ctbridge/bridge/change"
)

// decoder turns the wire form of one value into dst. raw belongs to the driver until the next row.
type decoder func(dst *change.Value, raw []byte, arena *change.Arena) error

// codec is how one server type is read: which kinds of column it fits, and a decoder per wire format.
type codec struct {
	kinds  uint32  // bit k stands for change.Kind k
	binary decoder // nil where the binary form is not known
	text   decoder
}

// holds reports whether a column of that kind can be read from this type.
func (c codec) holds(k change.Kind) bool { return c.kinds&(1<<k) != 0 }

func kinds(list ...change.Kind) (set uint32) {
	for _, k := range list {
		set |= 1 << k
	}
	return set
}

// codecOf gives the codec of a type. Integers fit columns of their own width and wider ones. A type without decoder fits text columns, in
// text format only: the dialect has it cast.
func codecOf(oid uint32) codec {
	switch oid {
	case pgtype.BoolOID:
		return codec{kinds: kinds(change.Bool), binary: boolBinary, text: boolText}
	case pgtype.Int2OID:
		return codec{kinds: kinds(change.Int2, change.Int4, change.Int8), binary: int2Binary, text: intText}
	case pgtype.Int4OID:
		return codec{kinds: kinds(change.Int4, change.Int8), binary: int4Binary, text: intText}
	case pgtype.Int8OID:
		return codec{kinds: kinds(change.Int8), binary: int8Binary, text: intText}
	case pgtype.OIDOID:
		return codec{kinds: kinds(change.Uint4, change.Int8), binary: oidBinary, text: intText}
	case pgtype.Float4OID:
		return codec{kinds: kinds(change.Real4), binary: float4Binary, text: float4Text}
	case pgtype.Float8OID:
		return codec{kinds: kinds(change.Real8), binary: float8Binary, text: float8Text}
	case pgtype.NumericOID:
		return codec{kinds: kinds(change.Numeric), binary: numericBinary, text: numericText}
	case pgtype.DateOID:
		return codec{kinds: kinds(change.Date), binary: dateBinary, text: dateText}
	case pgtype.TimeOID:
		return codec{kinds: kinds(change.Time), binary: timeBinary, text: timeText}
	case pgtype.TimestampOID:
		return codec{kinds: kinds(change.DateTime), binary: timestampBinary, text: timestampText}
	case pgtype.TimestamptzOID:
		return codec{kinds: kinds(change.DateTimeTZ), binary: timestamptzBinary, text: timestamptzText}
	case pgtype.UUIDOID:
		return codec{kinds: kinds(change.UUID), binary: uuidBinary, text: textAsIs}
	case pgtype.ByteaOID:
		return codec{kinds: kinds(change.Bytes, change.Blob), binary: bytesBinary, text: bytesText}
	}
	return charCodecOf(oid)
}

func charCodecOf(oid uint32) codec {
	c := codec{kinds: kinds(change.String, change.WString, change.Clob, change.NClob), text: textAsIs}
	switch oid {
	case pgtype.TextOID, pgtype.VarcharOID, pgtype.BPCharOID, pgtype.NameOID, pgtype.UnknownOID, pgtype.XMLOID:
		c.binary = textAsIs
	case pgtype.JSONOID:
		c.kinds |= kinds(change.JSON)
		c.binary = textAsIs
	case pgtype.JSONBOID:
		c.kinds |= kinds(change.JSON)
		c.binary = jsonbBinary
	}
	return c
}

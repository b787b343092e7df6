package postgres

import (
	"github.com/jackc/pgx/v5/pgtype"

	"ctbridge/bridge/change"
)

const (
	bytesPerChar = 4  // the longest UTF-8 form
	nameBytes    = 63 // NAMEDATALEN - 1
	microDigits  = 6
)

// typeOf gives the type of a column from the oid of its base type and the type modifier (-1 = none).
func typeOf(oid uint32, mod int) change.Type {
	switch oid {
	case pgtype.BoolOID:
		return change.Type{Kind: change.Bool}
	case pgtype.Int2OID:
		return change.Type{Kind: change.Int2}
	case pgtype.Int4OID:
		return change.Type{Kind: change.Int4}
	case pgtype.Int8OID:
		return change.Type{Kind: change.Int8}
	case pgtype.OIDOID:
		return change.Type{Kind: change.Uint4}
	case pgtype.Float4OID:
		return change.Type{Kind: change.Real4}
	case pgtype.Float8OID:
		return change.Type{Kind: change.Real8}
	case pgtype.NumericOID:
		return numericType(mod)
	case pgtype.DateOID:
		return change.Type{Kind: change.Date}
	case pgtype.TimeOID:
		return change.Type{Kind: change.Time, Scale: fractionDigits(mod)}
	case pgtype.TimestampOID:
		return change.Type{Kind: change.DateTime, Scale: fractionDigits(mod)}
	case pgtype.TimestamptzOID:
		return change.Type{Kind: change.DateTimeTZ, Scale: fractionDigits(mod)}
	case pgtype.UUIDOID:
		return change.Type{Kind: change.UUID}
	case pgtype.JSONOID, pgtype.JSONBOID:
		return change.Type{Kind: change.JSON}
	case pgtype.ByteaOID:
		return change.Type{Kind: change.Blob}
	}
	return textType(oid, mod)
}

// textType is the type of everything that is read as text.
func textType(oid uint32, mod int) change.Type {
	switch oid {
	case pgtype.VarcharOID, pgtype.BPCharOID:
		return change.Type{Kind: change.String, Length: bytesPerChar * max(mod-modHeader, 0)}
	case pgtype.NameOID:
		return change.Type{Kind: change.String, Length: nameBytes}
	case pgtype.TextOID, pgtype.XMLOID:
		return change.Type{Kind: change.Clob}
	}
	return change.Type{Kind: change.String}
}

// modHeader is what PostgreSQL adds to the type modifiers of character types and numeric.
const modHeader = 4

// numericType unpacks precision and scale (11 bits, signed since PostgreSQL 15) of numeric(p,s).
func numericType(mod int) change.Type {
	if mod < modHeader {
		return change.Type{Kind: change.Numeric}
	}
	mod -= modHeader
	precision := mod >> 16 & 0xffff
	scale := (mod&0x7ff ^ 0x400) - 0x400
	if scale < 0 {
		return change.Type{Kind: change.Numeric, Precision: precision - scale}
	}
	return change.Type{Kind: change.Numeric, Precision: max(precision, scale), Scale: scale}
}

func fractionDigits(mod int) int {
	if mod < 0 {
		return microDigits
	}
	return mod
}

package sqlite

import (
	"strconv"
	"strings"

	"ctbridge/bridge/change"
)

// secondDigits are the fractional digits of a second where the declaration gives none.
const secondDigits = 6

// exact are the declared type names with a kind of their own, upper case, without their arguments.
var exact = map[string]change.Kind{
	"INTEGER": change.Int8, "INT": change.Int8, "BIGINT": change.Int8, "INT8": change.Int8,
	"MEDIUMINT": change.Int4, "INT4": change.Int4, "SMALLINT": change.Int2, "INT2": change.Int2,
	"TINYINT": change.Int2, "INT1": change.Int2,
	"UNSIGNED BIG INT": change.Uint8, "BIGINT UNSIGNED": change.Uint8, "INT UNSIGNED": change.Uint8, "INTEGER UNSIGNED": change.Uint8,
	"MEDIUMINT UNSIGNED": change.Uint4, "SMALLINT UNSIGNED": change.Uint2, "TINYINT UNSIGNED": change.Uint1,
	"BOOLEAN": change.Bool, "BOOL": change.Bool,
	"DECIMAL": change.Numeric, "NUMERIC": change.Numeric, "NUMBER": change.Numeric, "DEC": change.Numeric, "MONEY": change.Numeric,
	"NCHAR": change.WString, "NVARCHAR": change.WString, "NATIVE CHARACTER": change.WString, "NTEXT": change.NClob, "NCLOB": change.NClob,
	"CLOB": change.Clob, "BLOB": change.Blob,
	"BINARY": change.Bytes, "VARBINARY": change.Bytes, "BYTEA": change.Bytes,
	"DATE": change.Date, "TIME": change.Time, "DATETIME": change.DateTime, "DATETIME2": change.DateTime, "TIMESTAMP": change.DateTime,
	"TIMESTAMPTZ": change.DateTimeTZ, "TIMESTAMP WITH TIME ZONE": change.DateTimeTZ, "DATETIMEOFFSET": change.DateTimeTZ,
	"JSON": change.JSON, "JSONB": change.JSON,
	"UUID": change.UUID, "GUID": change.UUID, "UNIQUEIDENTIFIER": change.UUID,
}

// affinities are SQLite's rules for all other names, in their order (https://www.sqlite.org/datatype3.html, 3.1).
var affinities = []struct {
	part string
	kind change.Kind
}{
	{"INT", change.Int8}, {"CHAR", change.String}, {"CLOB", change.Clob}, {"TEXT", change.String},
	{"BLOB", change.Blob}, {"REAL", change.Real8}, {"FLOA", change.Real8}, {"DOUB", change.Real8},
}

// typeOf reads a declared type. Lengths are as declared; SQLite does not enforce them.
func typeOf(declared string) change.Type {
	name, args := splitDeclared(declared)
	t := change.Type{Kind: kindOf(name)}
	switch t.Kind {
	case change.Numeric:
		t.Precision, t.Scale = args[0], args[1]
	case change.String, change.WString, change.Bytes:
		t.Length = args[0]
	case change.Time, change.DateTime, change.DateTimeTZ:
		t.Scale = secondDigits
		if strings.Contains(declared, "(") && args[0] <= 9 {
			t.Scale = args[0]
		}
	}
	return t
}

func kindOf(name string) change.Kind {
	if kind, ok := exact[name]; ok {
		return kind
	}
	for _, a := range affinities {
		if strings.Contains(name, a.part) {
			return a.kind
		}
	}
	return change.Unsupported
}

// splitDeclared splits "varchar (20)" into VARCHAR and 20. Arguments that are missing or no plain numbers are 0.
func splitDeclared(declared string) (name string, args [2]int) {
	open, end := strings.IndexByte(declared, '('), strings.IndexByte(declared, ')')
	if open < 0 || end < open {
		return strings.ToUpper(strings.Join(strings.Fields(declared), " ")), args
	}
	first, second, _ := strings.Cut(declared[open+1:end], ",")
	for i, text := range []string{first, second} {
		if n, err := strconv.Atoi(strings.TrimSpace(text)); err == nil && n > 0 {
			args[i] = n
		}
	}
	return strings.ToUpper(strings.Join(strings.Fields(declared[:open]+" "+declared[end+1:]), " ")), args
}

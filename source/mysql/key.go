package mysql

import (
	"strconv"
	"strings"

	"ctbridge/bridge/change"
)

// keyForm is how a key column becomes text and an argument becomes its value; % stands for the column and for the placeholder.
type keyForm struct{ text, param string }

// KeyText is a key column as text.
func (e *Engine) KeyText(alias string, c change.Column) string {
	return strings.ReplaceAll(keyFormOf(c).text, "%", e.Column(alias, c))
}

// KeyParam casts such a text to what the column compares with.
func (e *Engine) KeyParam(n int, c change.Column) string {
	return strings.ReplaceAll(keyFormOf(c).param, "%", e.Param(n, 0))
}

// keyFormOf knows the traps: ENUM and SET sort by number and compare with text as text; the text of a FLOAT is rounded, its double is not;
// a text column lends an argument its own collation, as long as no cast gives it another.
func keyFormOf(c change.Column) keyForm {
	native, _, _ := strings.Cut(c.Native, "(")
	switch native {
	case "enum", "set", "bit":
		return keyForm{"CAST(% + 0 AS CHAR)", "CAST(% AS UNSIGNED)"}
	}
	switch c.Type.Kind {
	case change.Int1, change.Int2, change.Int4, change.Int8:
		return keyForm{"CAST(% AS CHAR)", "CAST(% AS SIGNED)"}
	case change.Uint1, change.Uint2, change.Uint4, change.Uint8:
		return keyForm{"CAST(% AS CHAR)", "CAST(% AS UNSIGNED)"}
	case change.Numeric:
		return keyForm{"CAST(% AS CHAR)", "CAST(% AS DECIMAL(" + strconv.Itoa(c.Type.Precision) + ", " + strconv.Itoa(c.Type.Scale) + "))"}
	case change.Real4, change.Real8:
		return keyForm{"CAST(% + 0e0 AS CHAR)", "(% + 0e0)"}
	case change.Bytes, change.Blob:
		return keyForm{"HEX(%)", "UNHEX(%)"}
	case change.Date:
		return keyForm{"CAST(% AS CHAR)", "CAST(% AS DATE)"}
	case change.DateTime, change.DateTimeTZ:
		return keyForm{"CAST(% AS CHAR)", "CAST(% AS DATETIME(6))"}
	case change.Time:
		return keyForm{"CAST(% AS CHAR)", "CAST(% AS TIME(6))"}
	case change.UUID:
		return keyForm{"CAST(% AS CHAR)", "CAST(% AS UUID)"}
	}
	return keyForm{"%", "%"}
}

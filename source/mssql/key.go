package mssql

import (
	"strings"

	"ctbridge/bridge/change"
)

// KeyText is a key column as text, in the style of CONVERT that loses nothing (Microsoft Learn, "CAST and CONVERT": styles 2, 3, 121).
func (d dialect) KeyText(alias string, c change.Column) string {
	expr := d.Quote(c.Name)
	if alias != "" {
		expr = alias + "." + expr
	}
	switch c.Type.Kind {
	case change.String, change.WString:
		return d.Column(alias, c)
	case change.Clob, change.NClob:
		return "CONVERT(nvarchar(max), " + expr + ")"
	case change.Bytes, change.Blob:
		return "CONVERT(varchar(max), CAST(" + expr + " AS " + keyType(c) + "), 2)"
	case change.Numeric:
		if strings.HasSuffix(c.Native, "money") {
			return "CONVERT(varchar(100), CAST(" + expr + " AS decimal(19, 4)))" // money itself may be written with two decimals
		}
	}
	return "CONVERT(varchar(100), " + expr + keyStyle(c) + ")"
}

// KeyParam converts such a text to the column's type, so that the server compares values of that type: uniqueidentifier and varchar sort
// in ways of their own. A parameter's collation yields to the column's.
func (d dialect) KeyParam(n int, c change.Column) string {
	p := d.Param(n, 0)
	if c.Native == "hierarchyid" {
		return "hierarchyid::Parse(" + p + ")"
	}
	return "CONVERT(" + keyType(c) + ", " + p + keyStyle(c) + ")"
}

func keyType(c change.Column) string {
	switch c.Native {
	case "rowversion":
		return "binary(8)"
	case "text", "ntext":
		return "nvarchar(max)"
	case "image":
		return "varbinary(max)"
	}
	return c.Native
}

func keyStyle(c change.Column) string {
	switch c.Type.Kind {
	case change.Bytes, change.Blob:
		return ", 2" // hexadecimal without 0x
	case change.Real4, change.Real8:
		return ", 3" // 17 digits; only from a number to text, ignored the other way
	case change.Date, change.Time, change.DateTime, change.DateTimeTZ:
		return ", 121"
	}
	return ""
}

package tdspeer

import "strings"

// CatalogType is how INFORMATION_SCHEMA.COLUMNS shows a type; 0 stands for NULL.
type CatalogType struct {
	Name      string // DATA_TYPE
	Length    int    // CHARACTER_MAXIMUM_LENGTH, -1 = (max)
	Precision int    // NUMERIC_PRECISION
	Scale     int    // NUMERIC_SCALE
	Fraction  int    // DATETIME_PRECISION
}

// numbers are the precision and scale that the catalog shows for types that take neither.
var numbers = map[string][2]int{
	"tinyint": {3, 0}, "smallint": {5, 0}, "int": {10, 0}, "bigint": {19, 0}, "money": {19, 4}, "smallmoney": {10, 4}, "real": {24, 0}, "float": {53, 0},
}

// Catalog gives the catalog's view of a type as written in T-SQL.
func Catalog(typ string) CatalogType {
	t, err := parseType(typ)
	if err != nil {
		return CatalogType{Name: typ}
	}
	c := CatalogType{Name: t.name, Precision: numbers[t.name][0], Scale: numbers[t.name][1]}
	switch t.name {
	case "decimal", "numeric":
		c.Precision, c.Scale = t.size, max(t.scale, 0)
	case "time", "datetime2", "datetimeoffset":
		c.Fraction = t.size
		if t.size < 0 {
			c.Fraction = 7
		}
	case "datetime":
		c.Fraction = 3
	case "text", "image":
		c.Length = 1<<31 - 1
	case "ntext":
		c.Length = 1<<30 - 1
	case "xml":
		c.Length = -1
	case "rowversion":
		c.Name = "timestamp"
	}
	if strings.HasSuffix(t.name, "char") || strings.HasSuffix(t.name, "binary") {
		c.Length = max(t.size, 1)
		if t.max {
			c.Length = -1
		}
	}
	return c
}

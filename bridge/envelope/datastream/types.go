package datastream

import (
	"errors"
	"strings"

	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
)

// unified is a column's type as Datastream names it, with how its values are written.
type unified struct {
	name             string // DATETIME
	precision, scale int    // of DECIMAL
	avro, json       envelope.Form
	logical          string // logical type that only Datastream has, over the form's Avro type
	record           string // Avro record of the parts; empty = one value
	parts            []part
	plainOffset      bool
}

// part is one field of a type that Avro has as a record.
type part struct {
	name string
	kind envelope.FormKind
}

// microDigits is how many fractional digits the unified types hold.
const microDigits = 6

// typeOf gives a column's unified type; the tables are those of the vendor's page "Map source types to unified types", and for SQLite the
// types that its declared names stand for.
func (o *Options) typeOf(c *change.Column) (unified, error) {
	t := o.engineType(c)
	var err error
	if t.name == "" {
		t, err = commonType(c)
	}
	t.plainOffset = o.PlainOffset
	if err == nil && o.FineTimes == FineText && timed(c.Type.Kind) && c.Type.Scale > microDigits {
		t = unified{name: "STRING", avro: t.json, json: t.json}
	}
	return t, err
}

func timed(k change.Kind) bool {
	return k == change.Time || k == change.DateTime || k == change.DateTimeTZ
}

// engineType gives the types that one engine has to itself; one without a name where it has none.
func (o *Options) engineType(c *change.Column) unified {
	switch o.Engine {
	case Postgres:
		return postgresType(c)
	case MySQL:
		return mysqlType(c)
	case SQLServer, SQLite:
	}
	return unified{}
}

func postgresType(c *change.Column) unified {
	switch c.Type.Kind {
	case change.Numeric:
		return number()
	case change.DateTime:
		return timestamp(c.Type.Scale)
	case change.String: // read as text; the name carries digits: time(3) with time zone, interval day to second(2)
		switch {
		case strings.HasPrefix(c.Native, "interval") && !strings.HasSuffix(c.Native, "[]"):
			return interval()
		case strings.HasPrefix(c.Native, "time") && strings.HasSuffix(c.Native, "with time zone"):
			return zonedClock()
		}
	}
	return unified{}
}

func mysqlType(c *change.Column) unified {
	switch c.Type.Kind {
	case change.Bool: // only BIT(1) is one
		return one("LONG", envelope.FormBits, envelope.FormBits)
	case change.Uint4:
		if strings.HasPrefix(c.Native, "mediumint") { // of 24 bits
			return one("INTEGER", envelope.FormInt, envelope.FormInt)
		}
	case change.Bytes, change.Blob:
		if strings.HasPrefix(c.Native, "bit") {
			return one("LONG", envelope.FormBits, envelope.FormBits)
		}
		return one("STRING", envelope.FormHexLower, envelope.FormHexLower)
	case change.Date:
		return one("TIMESTAMP", envelope.FormMidnightMicros, envelope.FormISOMidnight)
	case change.DateTime, change.DateTimeTZ:
		return timestamp(c.Type.Scale)
	case change.Time:
		t := one("TIME_INTERVAL", envelope.FormDurationMicros, envelope.FormDurationMicros)
		t.logical = "time-interval-micros"
		return t
	}
	return unified{}
}

// commonType gives the types that all engines share.
func commonType(c *change.Column) (unified, error) {
	t := c.Type
	switch t.Kind {
	case change.Bool:
		return one("BOOLEAN", envelope.FormBoolean, envelope.FormBoolean), nil
	case change.Int1, change.Int2, change.Int4, change.Uint1, change.Uint2:
		return one("INTEGER", envelope.FormInt, envelope.FormInt), nil
	case change.Int8, change.Uint4:
		return one("LONG", envelope.FormLong, envelope.FormLong), nil
	case change.Uint8:
		return number(), nil
	case change.Real4:
		return one("FLOAT", envelope.FormFloat, envelope.FormFloat), nil
	case change.Real8:
		return one("DOUBLE", envelope.FormDouble, envelope.FormDouble), nil
	case change.Numeric:
		return decimal(t), nil
	case change.Date:
		return one("DATE", envelope.FormDate, envelope.FormDateText), nil
	case change.Time:
		return one("TIME", envelope.FormTimeMicros, envelope.FormTimeText).digits(t.Scale), nil
	case change.DateTime:
		return dateTime(t.Scale), nil
	case change.DateTimeTZ:
		return zoned(t.Scale), nil
	}
	return contents(t.Kind)
}

// contents gives the types of texts and bytes.
func contents(kind change.Kind) (unified, error) {
	switch kind {
	case change.String, change.WString, change.Clob, change.NClob, change.UUID:
		return one("STRING", envelope.FormText, envelope.FormText), nil
	case change.Bytes, change.Blob:
		return one("BYTES", envelope.FormBytes, envelope.FormBase64), nil
	case change.JSON:
		t := one("JSON", envelope.FormText, envelope.FormVerbatim)
		t.logical = "json"
		return t, nil
	}
	return unified{}, errors.New("type has no counterpart in this envelope")
}

func one(name string, avro, json envelope.FormKind) unified {
	return unified{name: name, avro: envelope.Form{Kind: avro}, json: envelope.Form{Kind: json}}
}

// digits sets the fractional digits of the JSON text.
func (t unified) digits(scale int) unified {
	t.json.Scale = scale
	return t
}

// decimal widens the precision of a type such as numeric(3,5), which Avro would refuse, to its scale. A number without limits is NUMBER.
func decimal(t change.Type) unified {
	if t.Precision == 0 || t.Scale < 0 {
		return number()
	}
	u := one("DECIMAL", envelope.FormDecimalBytes, envelope.FormNumber)
	u.precision, u.scale = max(t.Precision, t.Scale), t.Scale
	u.avro.Precision, u.avro.Scale = u.precision, u.scale
	return u
}

// number is text with the digits of the source.
func number() unified {
	t := one("NUMBER", envelope.FormText, envelope.FormText)
	t.logical = "number"
	return t
}

func timestamp(scale int) unified {
	return one("TIMESTAMP", envelope.FormTimestampMicros, envelope.FormISOInstant).digits(scale)
}

func dateTime(scale int) unified {
	t := one("DATETIME", envelope.FormNone, envelope.FormISODateTime).digits(scale)
	t.record, t.parts = "datetime", []part{{"date", envelope.FormDatePart}, {"time", envelope.FormTimePart}}
	return t
}

func zoned(scale int) unified {
	t := one("TIMESTAMP_WITH_TIME_ZONE", envelope.FormNone, envelope.FormISOInstant).digits(scale)
	t.record, t.parts = "timestampTz", []part{{"timestamp", envelope.FormTimestampMicros}, {"offset", envelope.FormOffsetPart}}
	return t
}

func zonedClock() unified {
	t := one("TIME_WITH_TIME_ZONE", envelope.FormNone, envelope.FormISOZonedClock)
	t.record, t.parts = "timeTz", []part{{"time", envelope.FormTimePart}, {"offset", envelope.FormOffsetPart}}
	return t
}

// interval: days count as 24 hours; the hours hold only them, the micros the whole clock.
func interval() unified {
	t := one("INTERVAL", envelope.FormNone, envelope.FormISOInterval)
	t.record = "interval"
	t.parts = []part{{"months", envelope.FormMonthsPart}, {"hours", envelope.FormHoursPart}, {"micros", envelope.FormMicrosPart}}
	return t
}

// node is the leaf of column i.
func (t *unified) node(i int) *envelope.Node {
	n := &envelope.Node{Nullable: true, Column: i, Avro: t.avro, JSON: t.json}
	if t.logical != "" {
		n.Props = logicalType(t.logical)
	}
	if t.record == "" {
		return n
	}
	n.Shape, n.Name = envelope.Split, t.record
	for _, p := range t.parts {
		form := envelope.Form{Kind: p.kind, Plain: t.plainOffset && p.kind == envelope.FormOffsetPart}
		n.Fields = append(n.Fields, envelope.Field{Name: p.name, Node: &envelope.Node{Avro: form}})
	}
	return n
}

func logicalType(name string) []envelope.Prop {
	return []envelope.Prop{{Name: "logicalType", Value: `"` + name + `"`}}
}

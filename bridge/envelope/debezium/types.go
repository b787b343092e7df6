package debezium

import (
	"errors"
	"strconv"
	"strings"

	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
)

// columnType is how a column's values are written, and what Connect's schema says of them.
type columnType struct {
	avro, json envelope.Form
	props      []envelope.Prop
	absent     *change.Value    // stands for a value that was not captured
	parts      []envelope.Field // of a column that is a record
}

// node is the place of column i in a row or key.
func (c *column) node(i int, nullable bool) *envelope.Node {
	n := &envelope.Node{
		Nullable: nullable, Column: i, Avro: c.typ.avro, JSON: c.typ.json, Props: c.typ.props, Absent: c.typ.absent,
	}
	if c.typ.parts != nil {
		n.Shape, n.Name, n.Namespace, n.Fields = envelope.Split, "VariableScaleDecimal", "io.debezium.data", c.typ.parts
	}
	return n
}

// typeOf maps a column as the connector of its database does. Kinds that connectors write otherwise:
//
//   - MySQL's BIT(n) is written like other bytes, most significant first;
//   - PostgreSQL's intervals are ISO 8601 without the parts that are 0, timetz keeps its offset; arrays, ranges, bit strings and geometric types
//     are the text that the database shows;
//   - SQL Server's uniqueidentifier is lower-case text.
func (o *Options) typeOf(c *change.Column) (columnType, error) {
	t := c.Type
	switch t.Kind {
	case change.Bool:
		return plain(envelope.FormBoolean), nil
	case change.Int1, change.Uint1:
		return short(), nil
	case change.Int2:
		return o.smallint(c), nil
	case change.Int4, change.Uint2:
		return plain(envelope.FormInt), nil
	case change.Int8, change.Uint4:
		return plain(envelope.FormLong), nil
	case change.Uint8:
		return o.unsigned(), nil
	case change.Real4:
		return plain(envelope.FormFloat), nil
	case change.Real8:
		return plain(envelope.FormDouble), nil
	case change.Numeric:
		return o.numeric(t), nil
	case change.Date, change.Time, change.DateTime:
		return o.temporal(t), nil
	case change.DateTimeTZ:
		return o.zoned(t), nil
	case change.String, change.WString, change.Clob, change.NClob, change.UUID, change.JSON:
		if span, is := o.span(c); is {
			return span, nil
		}
		return o.textual(c), nil
	case change.Bytes, change.Blob:
		return o.binary(), nil
	}
	return columnType{}, errors.New("type has no counterpart in this envelope")
}

func plain(kind envelope.FormKind) columnType {
	form := envelope.Form{Kind: kind}
	return columnType{avro: form, json: form}
}

func named(kind envelope.FormKind, name string) columnType {
	t := plain(kind)
	t.props = semantic(name, 1)
	return t
}

// short is Connect's int16.
func short() columnType {
	t := plain(envelope.FormInt)
	t.props = []envelope.Prop{{Name: typeProp, Value: `"int16"`}}
	return t
}

func (o *Options) smallint(c *change.Column) columnType {
	if o.Engine == MySQL && hasPrefixFold(c.Native, "year") {
		return named(envelope.FormInt, "io.debezium.time.Year")
	}
	return short()
}

func (o *Options) unsigned() columnType {
	const digits = 20
	if o.Unsigned == UnsignedLong {
		return plain(envelope.FormLong)
	}
	return precise(digits, 0)
}

// numeric widens the precision of a type such as numeric(3,5), which Avro would refuse, to its scale.
func (o *Options) numeric(t change.Type) columnType {
	fixed := t.Precision > 0 && t.Scale >= 0
	switch {
	case o.Decimals == DecimalDouble:
		return plain(envelope.FormDecimalDouble)
	case o.Decimals == DecimalString && fixed:
		form := envelope.Form{Kind: envelope.FormDecimalText, Precision: t.Precision, Scale: t.Scale}
		return columnType{avro: form, json: form}
	case o.Decimals == DecimalString:
		return plain(envelope.FormText)
	case fixed:
		return precise(max(t.Precision, t.Scale), t.Scale)
	}
	return variable()
}

func precise(precision, scale int) columnType {
	return columnType{
		avro: envelope.Form{Kind: envelope.FormDecimalBytes, Precision: precision, Scale: scale},
		json: envelope.Form{Kind: envelope.FormDecimalBase64, Precision: precision, Scale: scale},
		props: semantic("org.apache.kafka.connect.data.Decimal", 1,
			parameter{"scale", strconv.Itoa(scale)}, parameter{"connect.decimal.precision", strconv.Itoa(precision)}),
	}
}

// variable is a number whose scale is another in each row: a record.
func variable() columnType {
	return columnType{
		json: envelope.Form{Kind: envelope.FormScaledObject},
		props: append([]envelope.Prop{{Name: docProp, Value: `"Variable scaled decimal"`}},
			semantic("io.debezium.data.VariableScaleDecimal", 1)...),
		parts: []envelope.Field{
			{Name: "scale", Node: &envelope.Node{Avro: envelope.Form{Kind: envelope.FormScalePart}}},
			{Name: "value", Node: &envelope.Node{Avro: envelope.Form{Kind: envelope.FormUnscaledPart}}},
		},
	}
}

// textual is text, which alone of all types has room for the placeholder, as bytes have.
func (o *Options) textual(c *change.Column) columnType {
	t := plain(envelope.FormText)
	native, arguments, _ := strings.Cut(c.Native, "(")
	switch {
	case c.Type.Kind == change.UUID:
		if o.Engine != SQLServer {
			t.props = semantic("io.debezium.data.Uuid", 1)
		}
		return t
	case c.Type.Kind == change.JSON:
		t.props = semantic("io.debezium.data.Json", 1)
	case strings.EqualFold(native, "xml"):
		t.props = semantic("io.debezium.data.Xml", 1)
	case o.Engine == MySQL && strings.EqualFold(native, "enum"):
		t.props = semantic("io.debezium.data.Enum", 1, parameter{"allowed", members(arguments)})
	case o.Engine == MySQL && strings.EqualFold(native, "set"):
		t.props = semantic("io.debezium.data.EnumSet", 1, parameter{"allowed", members(arguments)})
	}
	placeholder := letter(o.Unavailable)
	t.absent = &placeholder
	return t
}

// span maps PostgreSQL's types of time that are read as text.
func (o *Options) span(c *change.Column) (t columnType, is bool) {
	switch {
	case o.Engine != Postgres || strings.HasSuffix(c.Native, "[]"):
	case strings.HasPrefix(c.Native, "interval"):
		return named(envelope.FormISOInterval, "io.debezium.time.Interval"), true
	case strings.HasPrefix(c.Native, "time") && !strings.HasPrefix(c.Native, "timestamp") && strings.HasSuffix(c.Native, "with time zone"):
		return named(envelope.FormISOZonedClock, "io.debezium.time.ZonedTime"), true
	}
	return t, false
}

// members turns 'a','b”c') into a,b'c.
func members(list string) string {
	var b strings.Builder
	inside := false
	for i := 0; i < len(list); i++ {
		switch {
		case list[i] != '\'':
			if inside || list[i] == ',' {
				b.WriteByte(list[i])
			}
		case inside && i+1 < len(list) && list[i+1] == '\'':
			b.WriteByte('\'')
			i++
		default:
			inside = !inside
		}
	}
	return b.String()
}

func (o *Options) binary() columnType {
	t := plain(envelope.FormBase64)
	switch o.Binary {
	case BinaryBytes:
		t.avro.Kind = envelope.FormBytes
	case BinaryHex:
		t = plain(envelope.FormHexLower)
	case BinaryBase64:
	}
	placeholder := change.BytesValue([]byte(o.Unavailable))
	t.absent = &placeholder
	return t
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

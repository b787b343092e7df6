package qlik

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
	"ctbridge/bridge/fault"
)

func TestColumnTypes(t *testing.T) {
	t.Parallel()
	form := func(kind envelope.FormKind, limits ...int) envelope.Form {
		f := envelope.Form{Kind: kind}
		if len(limits) > 0 {
			f.Scale = limits[0]
		}
		if len(limits) > 1 {
			f.Precision = limits[1]
		}
		return f
	}
	text := form(envelope.FormText)
	stamp := form(envelope.FormTimestampMicros)
	for name, c := range map[string]struct {
		typ                change.Type
		native             string
		want               string // vendor type(length, precision, scale)
		json, off, logical envelope.Form
	}{
		"bool":            {change.Type{Kind: change.Bool}, "bit", "BOOLEAN(1,0,0)", form(envelope.FormBoolean), form(envelope.FormBoolean), form(envelope.FormBoolean)},
		"int1":            {change.Type{Kind: change.Int1}, "", "INT1(3,0,0)", form(envelope.FormInt), form(envelope.FormInt), form(envelope.FormInt)},
		"int2":            {change.Type{Kind: change.Int2}, "", "INT2(5,0,0)", form(envelope.FormInt), form(envelope.FormInt), form(envelope.FormInt)},
		"int4":            {change.Type{Kind: change.Int4}, "", "INT4(10,0,0)", form(envelope.FormInt), form(envelope.FormInt), form(envelope.FormInt)},
		"int8":            {change.Type{Kind: change.Int8}, "", "INT8(19,0,0)", form(envelope.FormLong), form(envelope.FormLong), form(envelope.FormLong)},
		"uint1":           {change.Type{Kind: change.Uint1}, "tinyint", "UINT1(3,0,0)", form(envelope.FormInt), form(envelope.FormInt), form(envelope.FormInt)},
		"uint2":           {change.Type{Kind: change.Uint2}, "", "UINT2(5,0,0)", form(envelope.FormInt), form(envelope.FormInt), form(envelope.FormInt)},
		"uint4":           {change.Type{Kind: change.Uint4}, "", "UINT4(10,0,0)", form(envelope.FormLong), form(envelope.FormLong), form(envelope.FormLong)},
		"uint8":           {change.Type{Kind: change.Uint8}, "", "UINT8(20,0,0)", text, text, form(envelope.FormDecimalBytes, 0, 20)},
		"real4":           {change.Type{Kind: change.Real4}, "", "REAL4(7,0,0)", form(envelope.FormFloat), form(envelope.FormFloat), form(envelope.FormFloat)},
		"real8":           {change.Type{Kind: change.Real8}, "", "REAL8(14,0,0)", form(envelope.FormDouble), form(envelope.FormDouble), form(envelope.FormDouble)},
		"numeric":         {change.Type{Kind: change.Numeric, Precision: 38, Scale: 10}, "", "NUMERIC(0,38,10)", form(envelope.FormDecimalText, 10, 38), form(envelope.FormDecimalText, 10, 38), form(envelope.FormDecimalBytes, 10, 38)},
		"numeric(3,5)":    {change.Type{Kind: change.Numeric, Precision: 3, Scale: 5}, "", "NUMERIC(0,3,5)", form(envelope.FormDecimalText, 5, 3), form(envelope.FormDecimalText, 5, 3), form(envelope.FormDecimalBytes, 5, 5)},
		"bare numeric":    {change.Type{Kind: change.Numeric}, "numeric", "NUMERIC(0,0,0)", text, text, text},
		"numeric(3,-2)":   {change.Type{Kind: change.Numeric, Precision: 3, Scale: -2}, "", "NUMERIC(0,3,-2)", text, text, text},
		"string":          {change.Type{Kind: change.String, Length: 20}, "", "STRING(20,0,0)", text, text, text},
		"wstring":         {change.Type{Kind: change.WString, Length: 40}, "", "WSTRING(40,0,0)", text, text, text},
		"bytes":           {change.Type{Kind: change.Bytes, Length: 8}, "", "BYTES(8,0,0)", form(envelope.FormHexUpper), form(envelope.FormBytes), form(envelope.FormBytes)},
		"date":            {change.Type{Kind: change.Date}, "", "DATE(0,0,0)", form(envelope.FormDateText), form(envelope.FormDateText), form(envelope.FormDate)},
		"time(3)":         {change.Type{Kind: change.Time, Scale: 3}, "", "TIME(0,0,3)", form(envelope.FormTimeText, 3), form(envelope.FormTimeText, 3), form(envelope.FormTimeMillis)},
		"time(4)":         {change.Type{Kind: change.Time, Scale: 4}, "", "TIME(0,0,4)", form(envelope.FormTimeText, 4), form(envelope.FormTimeText, 4), form(envelope.FormTimeMicros)},
		"time(7)":         {change.Type{Kind: change.Time, Scale: 7}, "", "TIME(0,0,7)", form(envelope.FormTimeText, 7), form(envelope.FormTimeText, 7), form(envelope.FormTimeMicros)},
		"datetime2(6)":    {change.Type{Kind: change.DateTime, Scale: 6}, "", "DATETIME(0,0,6)", form(envelope.FormDateTimeText, 6), form(envelope.FormDateTimeText, 6), stamp},
		"timestamptz":     {change.Type{Kind: change.DateTimeTZ, Scale: 6}, "timestamp with time zone", "DATETIME(0,0,6)", form(envelope.FormDateTimeText, 6), form(envelope.FormDateTimeText, 6), stamp},
		"mysql timestamp": {change.Type{Kind: change.DateTimeTZ}, "timestamp", "DATETIME(0,0,0)", form(envelope.FormDateTimeText), form(envelope.FormDateTimeText), stamp},
		"datetimeoffset":  {change.Type{Kind: change.DateTimeTZ, Scale: 7}, "DateTimeOffset(7)", "STRING(34,0,0)", form(envelope.FormInstantText, 7), form(envelope.FormInstantText, 7), form(envelope.FormInstantText, 7)},
		"uuid":            {change.Type{Kind: change.UUID}, "uniqueidentifier", "STRING(36,0,0)", text, text, text},
		"json":            {change.Type{Kind: change.JSON}, "jsonb", "NCLOB(0,0,0)", text, text, text},
		"clob":            {change.Type{Kind: change.Clob}, "text", "CLOB(0,0,0)", text, text, text},
		"longtext":        {change.Type{Kind: change.NClob, Length: 1<<32 - 1}, "longtext", "NCLOB(0,0,0)", text, text, text},
		"blob":            {change.Type{Kind: change.Blob}, "image", "BLOB(0,0,0)", form(envelope.FormHexUpper), form(envelope.FormBytes), form(envelope.FormBytes)},
	} {
		column := change.Column{Name: "c", Type: c.typ, Native: c.native}
		for logical, avro := range map[bool]envelope.Form{false: c.off, true: c.logical} {
			got, err := typeOf(&column, logical)
			if err != nil || describe(got) != c.want || !same(got.json, c.json) || !same(got.avro, avro) {
				t.Errorf("%s, logical %v: %s %+v %+v %v", name, logical, describe(got), got.json, got.avro, err)
			}
		}
	}
}

func describe(c columnType) string {
	return c.name + "(" + strconv.Itoa(c.length) + "," + strconv.Itoa(c.precision) + "," + strconv.Itoa(c.scale) + ")"
}

func same(a, b envelope.Form) bool {
	return a.Kind == b.Kind && a.Precision == b.Precision && a.Scale == b.Scale && len(a.Symbols) == len(b.Symbols)
}

// Every kind of column but Unsupported has a type, so that a new kind cannot be forgotten here.
func TestEveryKindHasAType(t *testing.T) {
	t.Parallel()
	for kind := change.Bool; kind <= change.Blob; kind++ {
		if _, err := typeOf(&change.Column{Type: change.Type{Kind: kind}}, true); err != nil {
			t.Errorf("kind %d: %v", kind, err)
		}
	}
}

func TestDeclareNamesEveryBadColumn(t *testing.T) {
	t.Parallel()
	table := change.NewTable(change.TableID{Schema: "dbo", Name: "spots"}, 1, []change.Column{
		{Name: "id", Type: change.Type{Kind: change.Int4}},
		{Name: "spot", Native: "geography"},
		{Name: "route", Native: "hierarchyid"},
	})
	_, err := open(t).Declare(table)
	if fault.ClassOf(err) != fault.Table {
		t.Fatalf("class of %v", err)
	}
	for _, part := range []string{"dbo.spots", `"spot" (geography)`, `"route" (hierarchyid)`} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("no %s in %v", part, err)
		}
	}
	if _, err := open(t, func(o *Options) { o.KeyColumns = []string{"nr"} }).Declare(tracker()); err == nil || !strings.Contains(err.Error(), `"nr"`) {
		t.Errorf("a key column that is not there: %v", err)
	}
}

// Cases 61 and 63: names that SQL allows reach the message as they are, and Avro adjusted.
func TestCase61_NamesOfTheBusinessCentralKind(t *testing.T) {
	t.Parallel()
	table := change.NewTable(change.TableID{Schema: "ops-main", Name: "Acme Ltd$Item Ledger$4f2a"}, 1, []change.Column{
		{Name: "Unit, Price", Type: change.Type{Kind: change.Int4}, KeyPosition: 1},
		{Name: "a.b", Type: change.Type{Kind: change.Int4}},
	})
	d := declare(t, table, withRegistry)
	const namespace = "com.attunity.queue.msg.orders.ops_u002Dmain.Acme_u0020Ltd_u0024Item_u0020Ledger_u00244f2a"
	if d.Value.Namespace != namespace || d.Value.Doc != "ops-main.Acme Ltd$Item Ledger$4f2a" {
		t.Errorf("%s, doc %q", d.Value.Namespace, d.Value.Doc)
	}
	data := find(t, d.Value, "data")
	if data.Fields[0].Name != "Unit, Price" || data.Fields[0].InAvro() != "Unit_u002C_u0020Price" || data.Fields[1].InAvro() != "a_u002Eb" {
		t.Errorf("%+v", data.Fields)
	}
	if d.Key.Fields[0].Name != "Unit, Price" || d.Key.Fields[0].InAvro() != "Unit_u002C_u0020Price" {
		t.Errorf("%+v", d.Key.Fields)
	}
}

func TestCase63_AmpersandNames(t *testing.T) {
	t.Parallel()
	d := declare(t, ampersand(), withMetadata, withAvro)
	data := find(t, d.Value, "message", "data")
	if data.Namespace != "com.attunity.queue.msg.orders.dbo._u0026Test_u0020Orders" || data.Fields[1].Name != "&Qty" || data.Fields[1].InAvro() != "_u0026Qty" {
		t.Errorf("%s %+v", data.Namespace, data.Fields)
	}
	lineage := find(t, d.Metadata[0].Value, "message", "lineage")
	if name := string(find(t, lineage, "table").Constant.Raw); name != "&Test Orders" {
		t.Errorf("lineage.table %q", name)
	}
	if column := find(t, d.Metadata[0].Value, "message", "tableStructure", "tableColumns", "&Qty"); column.Name != "_u0026Qty" {
		t.Errorf("%+v", column)
	}
}

func ampersand() *change.Table {
	return change.NewTable(change.TableID{Schema: "dbo", Name: "&Test Orders"}, 1, []change.Column{
		{Name: "id", Type: change.Type{Kind: change.Int4}, KeyPosition: 1},
		{Name: "&Qty", Type: change.Type{Kind: change.Numeric, Precision: 10, Scale: 2}, Native: "decimal(10,2)", Nullable: true},
	})
}

// Case 62: names that would be one name are refused, both shown.
func TestCase62_Collision(t *testing.T) {
	t.Parallel()
	twice := wide(2, 1)
	twice.Columns[1].Name = "c1"
	if _, err := open(t).Declare(twice); err == nil || strings.Count(err.Error(), `"c1"`) < 2 || fault.ClassOf(err) != fault.Table {
		t.Errorf("%v", err)
	}
}

func TestNamespaceTemplate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ template, schema, want string }{
		{"", "dbo", "com.attunity.queue.msg.orders.dbo.t"},
		{"", "", "com.attunity.queue.msg.orders.t"}, // SQLite has no schemas
		{"my.{schema}_{table}", "dbo", "my.dbo_t"},
		{"{table}", "dbo", "t"},
	} {
		o := options(func(o *Options) { o.Names.TableNamespace = c.template })
		o.fill()
		if got := o.namespace(change.TableID{Schema: c.schema, Name: "t"}); got != c.want {
			t.Errorf("%q: %s, want %s", c.template, got, c.want)
		}
	}
}

// Case 67: the same structure has one schema id, whatever else changes; another structure, version, table or task has another.
func TestCase67_SchemaIDIsStable(t *testing.T) {
	t.Parallel()
	first := declare(t, tracker(), withMetadata)
	if !regexp.MustCompile(`^[0-9A-F]{32}$`).MatchString(first.SchemaID) {
		t.Errorf("schema id %q", first.SchemaID)
	}
	for range 100 {
		if again := declare(t, tracker(), withMetadata); again.SchemaID != first.SchemaID {
			t.Fatalf("%s, then %s", first.SchemaID, again.SchemaID)
		}
	}
	version, column, name := tracker(), tracker(), tracker()
	version.Version = 2
	column.Columns[1].Name = "TITLE"
	name.ID = change.TableID{Schema: "DEM", Name: "OTRACKER"}
	for what, id := range map[string]string{
		"version": declare(t, version).SchemaID,
		"column":  declare(t, column).SchemaID,
		"table":   declare(t, name).SchemaID,
		"task":    declare(t, tracker(), func(o *Options) { o.Task = "other" }).SchemaID,
	} {
		if id == first.SchemaID {
			t.Errorf("another %s has the same schema id", what)
		}
	}
}

// Parts that run together when written one after the other are still apart in the id.
func TestSchemaIDKeepsPartsApart(t *testing.T) {
	t.Parallel()
	id := func(schema, table string) string {
		v := version{opts: &Options{Task: "t"}, table: change.NewTable(change.TableID{Schema: schema, Name: table}, 1, nil), id: &change.Value{}}
		v.identify("text")
		return string(v.id.Raw)
	}
	if id("ab", "c") == id("a", "bc") {
		t.Error("ab.c and a.bc have one schema id")
	}
}

// I9: every place that names the version names the same id.
func TestSchemaIDIsOneEverywhere(t *testing.T) {
	t.Parallel()
	d := declare(t, tracker(), withMetadata, withExternalID)
	md := d.Metadata[0]
	for what, n := range map[string]*envelope.Node{
		"messageSchemaId of DT": find(t, d.Value, "messageSchemaId"),
		"externalSchemaId":      find(t, d.Value, "message", "headers", "externalSchemaId"),
		"messageSchemaId of MD": find(t, md.Value, "messageSchemaId"),
		"schemaId of MD":        find(t, md.Value, "message", "schemaId"),
	} {
		if string(n.Constant.Raw) != d.SchemaID {
			t.Errorf("%s is %q, want %s", what, n.Constant.Raw, d.SchemaID)
		}
	}
	if string(md.Key) != d.SchemaID {
		t.Errorf("key %s", md.Key)
	}
	byTable := declare(t, tracker(), withMetadata, func(o *Options) { o.MetadataKey = KeyByTable })
	if string(byTable.Metadata[0].Key) != "DEMO.TRACKER" {
		t.Errorf("key %s", byTable.Metadata[0].Key)
	}
	unpublished := declare(t, tracker())
	if len(unpublished.Metadata) != 0 || find(t, unpublished.Value, "messageSchemaId").Constant.Kind != change.KindNull {
		t.Error("messageSchemaId without metadata message")
	}
}

// JSON has no logical types: the schema that metadata gives for it describes the text that its messages hold.
func TestJSONIgnoresLogicalTypes(t *testing.T) {
	t.Parallel()
	if got, want := declare(t, everyType(), withMetadata, withLogical).SchemaID, declare(t, everyType(), withMetadata).SchemaID; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if declare(t, everyType(), withAvro, withLogical).SchemaID == declare(t, everyType(), withAvro).SchemaID {
		t.Error("logical types do not show in the Avro schema")
	}
}

func TestDeclareFailsWithoutSchemaText(t *testing.T) {
	t.Parallel()
	calls := 0
	for failing := 1; failing <= 2; failing++ { // of the data, then of the metadata message
		calls = 0
		_, err := open(t, withMetadata, func(o *Options) {
			o.SchemaText = func(*envelope.Node) (string, error) {
				if calls++; calls == failing {
					return "", errors.New("no schema")
				}
				return "schema", nil
			}
		}).Declare(tracker())
		if fault.ClassOf(err) != fault.Table || !strings.Contains(err.Error(), "DEMO.TRACKER") {
			t.Errorf("call %d: %v", failing, err)
		}
	}
}

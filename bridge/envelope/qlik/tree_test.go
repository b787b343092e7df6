package qlik

import (
	"strings"
	"testing"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
	"ctbridge/schema/avro"
)

// options are the defaults with a still clock and the given changes.
func options(set ...func(*Options)) Options {
	o := Defaults("orders", "qlik-server")
	o.SchemaText = avro.SchemaText
	o.Now = func() time.Time { return time.Date(2018, 4, 13, 20, 13, 58, 289_999_000, time.FixedZone("", 2*3600)) }
	for _, f := range set {
		f(&o)
	}
	return o
}

func open(t testing.TB, set ...func(*Options)) *Envelope {
	t.Helper()
	e, err := New(options(set...))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func declare(t testing.TB, table *change.Table, set ...func(*Options)) *envelope.Declaration {
	t.Helper()
	d, err := open(t, set...).Declare(table)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// find follows member names down the tree; an embedded node is passed through.
func find(t testing.TB, n *envelope.Node, path ...string) *envelope.Node {
	t.Helper()
	if n.Shape == envelope.Embedded {
		return find(t, n.Inner, path...)
	}
	if len(path) == 0 {
		return n
	}
	for i := range n.Fields {
		if n.Fields[i].Name == path[0] {
			return find(t, n.Fields[i].Node, path[1:]...)
		}
	}
	t.Fatalf("no member %q", path[0])
	return nil
}

func members(n *envelope.Node) string {
	names := make([]string, len(n.Fields))
	for i := range n.Fields {
		names[i] = n.Fields[i].Name
	}
	return strings.Join(names, " ")
}

// tracker is the table of the real message: three columns, a NUMERIC key.
func tracker() *change.Table {
	return change.NewTable(change.TableID{Schema: "DEMO", Name: "TRACKER"}, 1, []change.Column{
		{Name: "ID", Type: change.Type{Kind: change.Numeric, Precision: 10}, Native: "decimal(10,0)", KeyPosition: 1},
		{Name: "NAME", Type: change.Type{Kind: change.String, Length: 50}, Native: "varchar(50)", Nullable: true},
		{Name: "tableName", Type: change.Type{Kind: change.WString, Length: 100}, Native: "nvarchar(50)", Nullable: true},
	})
}

func trackerRow(id, name, table string) []change.Value {
	return []change.Value{change.DecimalValue([]byte(id)), change.TextValue([]byte(name)), change.TextValue([]byte(table))}
}

// trackerUpdate is the real message of the specification, section 1.
func trackerUpdate(table *change.Table) *change.Event {
	ev := &change.Event{
		Table: table, Op: change.OpUpdate,
		Position:       "20230911032325000000000000000000005",
		ChangeSequence: []byte("20230911032325000000000000000000005"),
		StreamPosition: []byte("00000000.00bb2531.00000001.0000.02.0000:154.6963.16"),
		TransactionID:  []byte("00000000000000000000000000060008"),
		Timestamp:      change.InstantValue(1694402605, 0, 0),
		Before:         trackerRow("2", "two", "source"), After: trackerRow("2", "zwei", "source"),
		Changed: change.Mask{0b010}, HasChanged: true,
		Counter: 1, Last: true,
	}
	return ev
}

func TestMemberOrder(t *testing.T) {
	t.Parallel()
	const headers = "operation changeSequence timestamp streamPosition transactionId changeMask columnMask"
	const counters = " transactionEventCounter transactionLastEvent"
	d := declare(t, tracker(), withMetadata)
	for name, c := range map[string]struct {
		node *envelope.Node
		want string
	}{
		"envelope":            {d.Value, "magic type headers messageSchemaId messageSchema message"},
		"message":             {find(t, d.Value, "message"), "data beforeData headers"},
		"headers":             {find(t, d.Value, "message", "headers"), headers + counters},
		"data":                {find(t, d.Value, "message", "data"), "ID NAME tableName"},
		"key":                 {d.Key, "ID"},
		"no envelope":         {declare(t, tracker(), bare).Value, "data beforeData headers"},
		"registry":            {declare(t, tracker(), withRegistry).Value, "data beforeData headers"},
		"external schema id":  {find(t, declare(t, tracker(), withExternalID, bare).Value, "headers"), headers + " externalSchemaId" + counters},
		"names in headers":    {find(t, declare(t, tracker(), bare, namesIn(NameInHeaders)).Value, "headers"), headers + counters + " schema table"},
		"names in message":    {declare(t, tracker(), bare, namesIn(NameInMessage)).Value, "schema table data beforeData headers"},
		"metadata":            {find(t, d.Metadata[0].Value, "message"), "schemaId lineage tableStructure dataSchema"},
		"metadata envelope":   {d.Metadata[0].Value, "magic type headers messageSchemaId messageSchema message"},
		"lineage":             {find(t, d.Metadata[0].Value, "message", "lineage"), "server task schema table tableVersion timestamp"},
		"table columns":       {find(t, d.Metadata[0].Value, "message", "tableStructure", "tableColumns"), "ID NAME tableName"},
		"one column":          {find(t, d.Metadata[0].Value, "message", "tableStructure", "tableColumns", "NAME"), "ordinal type length precision scale primaryKeyPosition nullable"},
		"renamed sections":    {declare(t, tracker(), bare, func(o *Options) { o.Names.Data, o.Names.Headers = "after", "meta" }).Value, "after beforeData meta"},
		"metadata, bare JSON": {declare(t, tracker(), bare, withMetadata).Metadata[0].Value, "schemaId lineage tableStructure dataSchema"},
	} {
		if got := members(c.node); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func withMetadata(o *Options)   { o.Metadata = true }
func bare(o *Options)           { o.Envelope = false }
func withRegistry(o *Options)   { o.Format = AvroRegistry }
func withAvro(o *Options)       { o.Format = Avro }
func withLogical(o *Options)    { o.LogicalTypes = true }
func withExternalID(o *Options) { o.ExternalSchemaID = true }

func namesIn(place SourceName) func(*Options) {
	return func(o *Options) { o.IncludeSourceName = place }
}

func deletedIn(place Place) func(*Options) {
	return func(o *Options) { o.DeleteRowIn = place }
}

func TestImages(t *testing.T) {
	t.Parallel()
	table := tracker()
	row, old := trackerRow("2", "new", "x"), trackerRow("2", "old", "x")
	events := []*change.Event{
		{Op: change.OpRefresh, After: row}, {Op: change.OpInsert, After: row},
		{Op: change.OpUpdate, After: row, Before: old}, {Op: change.OpUpdate, After: row}, {Op: change.OpDelete, Before: old},
	}
	show := func(image []change.Value) string {
		if image == nil {
			return "-"
		}
		return string(image[1].Raw)
	}
	for name, c := range map[string]struct {
		set          []func(*Options)
		data, before string // over the events
		nullable     bool   // data
	}{
		"default":               {nil, "new new new new old", "- - old - -", false},
		"before-image off":      {[]func(*Options){func(o *Options) { o.BeforeImage = false }}, "new new new new old", "- - - - -", false},
		"deleted in beforeData": {[]func(*Options){deletedIn(InBeforeData)}, "new new new new -", "- - old - old", true},
		"deleted in both":       {[]func(*Options){deletedIn(InBoth)}, "new new new new old", "- - old - old", false},
	} {
		value := declare(t, table, c.set...).Value
		data, before := find(t, value, "message", "data"), find(t, value, "message", "beforeData")
		var gotData, gotBefore []string
		for _, ev := range events {
			gotData = append(gotData, show(data.Image(ev)))
			gotBefore = append(gotBefore, show(before.Image(ev)))
		}
		if got := strings.Join(gotData, " "); got != c.data {
			t.Errorf("%s: data %s, want %s", name, got, c.data)
		}
		if got := strings.Join(gotBefore, " "); got != c.before {
			t.Errorf("%s: beforeData %s, want %s", name, got, c.before)
		}
		if data.Nullable != c.nullable || !before.Nullable {
			t.Errorf("%s: nullable %v %v", name, data.Nullable, before.Nullable)
		}
	}
}

// A key of which a column was not captured has no image: the encoder refuses it.
func TestKeyRecord(t *testing.T) {
	t.Parallel()
	table := tracker()
	key := declare(t, table, withRegistry).Key
	if key.Name != "KeyRecord" || key.Namespace != "com.attunity.queue.msg.orders.DEMO.TRACKER" || key.Nullable || find(t, key, "ID").Nullable {
		t.Errorf("%+v", key)
	}
	row := trackerRow("2", "a", "b")
	for _, ev := range []*change.Event{{Op: change.OpUpdate, After: row, Before: trackerRow("1", "", "")}, {Op: change.OpDelete, Before: row}} {
		if got := key.Image(ev); string(got[0].Raw) != "2" {
			t.Errorf("%v: %v", ev.Op, got)
		}
	}
	absent := trackerRow("2", "a", "b")
	absent[0] = change.Absent
	if key.Image(&change.Event{Op: change.OpUpdate, After: absent}) != nil {
		t.Error("an absent key column has an image")
	}
	chosen := declare(t, table, withRegistry, func(o *Options) { o.KeyColumns = []string{"NAME", "ID"} }).Key
	if members(chosen) != "NAME ID" || !find(t, chosen, "NAME").Nullable {
		t.Errorf("chosen key columns: %s", members(chosen))
	}
	keyless := change.NewTable(change.TableID{Name: "log"}, 1, table.Columns[1:])
	if declare(t, keyless).Key != nil {
		t.Error("a table without key has a key record")
	}
}

func TestHeadersOfRefreshAndMissingColumns(t *testing.T) {
	t.Parallel()
	headers := find(t, declare(t, tracker()).Value, "message", "headers")
	full := trackerUpdate(tracker())
	full.Op = change.OpRefresh
	var scratch envelope.Scratch
	for name, ev := range map[string]*change.Event{
		"refresh":         full,
		"missing columns": {Op: change.OpInsert, After: full.After},
	} {
		for _, member := range strings.Fields("changeSequence timestamp streamPosition transactionId") {
			if v := find(t, headers, member).Get(ev, &scratch); v.Kind != change.KindText || len(v.Raw) != 0 {
				t.Errorf("%s: %s is %+v", name, member, v)
			}
		}
		for _, member := range strings.Fields("changeMask transactionEventCounter transactionLastEvent") {
			if v := find(t, headers, member).Get(ev, &scratch); v.Kind != change.KindNull {
				t.Errorf("%s: %s is %+v", name, member, v)
			}
		}
	}
	if v := find(t, headers, "columnMask").Get(full, &scratch); v.Kind != change.KindNull {
		t.Errorf("refresh: columnMask is %+v", v)
	}
}

func TestTimestampCutsToMillis(t *testing.T) {
	t.Parallel()
	var scratch envelope.Scratch
	for _, c := range []struct {
		seconds int64
		nanos   int32
		want    string
	}{
		{1694402605, 0, "2023-09-11T03:23:25.000"},
		{1694402605, 7_999_999, "2023-09-11T03:23:25.007"},
		{-1, 999_999_999, "1969-12-31T23:59:59.999"},
	} {
		v := timestamp(&change.Event{Op: change.OpInsert, Timestamp: change.InstantValue(c.seconds, c.nanos, 180)}, &scratch)
		if string(v.Raw) != c.want {
			t.Errorf("%s, want %s", v.Raw, c.want)
		}
	}
	beyond := change.InstantValue(1<<40, 0, 0)
	if v := timestamp(&change.Event{Op: change.OpInsert, Timestamp: beyond}, &scratch); !v.Equal(beyond) {
		t.Errorf("a year beyond 9999 became %+v", v)
	}
}

// The getters of one version are built once: no event allocates.
func TestGettersAllocateNothing(t *testing.T) {
	headers := find(t, declare(t, tracker()).Value, "message", "headers")
	ev := trackerUpdate(tracker())
	scratch := make(envelope.Scratch, 0, 64)
	if n := testing.AllocsPerRun(100, func() {
		for i := range headers.Fields {
			headers.Fields[i].Node.Get(ev, &scratch)
		}
	}); n != 0 {
		t.Errorf("%v allocations per event", n)
	}
}

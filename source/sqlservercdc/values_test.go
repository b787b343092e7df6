package sqlservercdc_test

import (
	"strings"
	"testing"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/source/sqlservercdc"
	"ctbridge/test/cdcwriter"
	"ctbridge/test/tdspeer"
)

// masked is a row with an update mask.
func masked(seq, op int, mask []byte, values ...any) cdcwriter.Row {
	return cdcwriter.Row{Cmd: 1, Seq: seq, Op: op, Mask: mask, Values: values}
}

func TestCase44_LongTextOfDeletesIsAbsent(t *testing.T) {
	everywhere(t, func(b *bench) {
		c := b.capture(cdcwriter.Table{Name: "note", Key: []string{"id"}, Columns: []cdcwriter.Column{
			{Name: "id", Type: "int", NotNull: true}, {Name: "remark", Type: "text", NotNull: true}, {Name: "aside", Type: "ntext"}, {Name: "scan", Type: "image"}, {Name: "kind", Type: "varchar(5)"},
		}})
		b.commit(2, c, row(1, 1, 2, 1, "x", "y", nil, "a"),
			masked(2, 3, []byte{0x12}, 1, nil, nil, nil, "a"), masked(2, 4, []byte{0x12}, 1, "new", nil, nil, nil),
			row(1, 3, 1, 1, nil, nil, nil, nil))
		l := b.layout(options())
		b.want(b.all(l, b.only(l)),
			"2 INSERT +(1,x,y,null,a)",
			"2 UPDATE -(1,absent,absent,absent,a) +(1,new,absent,absent,null)",
			"2 DELETE -(1,absent,absent,absent,null)")
		if b.observed.oddNull != 0 {
			b.Errorf("%d odd NULLs counted, want none", b.observed.oddNull)
		}
	})
}

func TestCase46_ComputedColumnsAreLeftOut(t *testing.T) {
	everywhere(t, func(b *bench) {
		c := b.capture(cdcwriter.Table{Name: "bill", Key: []string{"id"}, Columns: []cdcwriter.Column{
			{Name: "id", Type: "int", NotNull: true}, {Name: "total", Type: "id + 1", Computed: true}, {Name: "fee", Type: "int"},
		}})
		b.commit(2, c, masked(1, 4, []byte{0x04}, 1, nil, 5))
		l := b.layout(options())
		captured := b.only(l)
		if captured.Table.ColumnIndex("total") >= 0 || len(captured.Table.Columns) != 2 || b.observed.notCaptured != 0 {
			b.Fatalf("columns %+v, %d not captured", captured.Table.Columns, b.observed.notCaptured)
		}
		events, failed := b.events(l, captured, "", end, 10)
		if failed != nil || line(&events[0]) != "2 UPDATE +(1,5)" {
			b.Fatalf("%v, %v", line(&events[0]), failed)
		}
		if events[0].Changed.Has(0) || !events[0].Changed.Has(1) {
			b.Errorf("mask %x: the ordinals of computed columns count in update masks", events[0].Changed)
		}
	})
}

func TestCase47_UnchangedLargeValuesAreAbsent(t *testing.T) {
	everywhere(t, func(b *bench) {
		c := b.capture(cdcwriter.Table{Name: "album", Key: []string{"id"}, Columns: []cdcwriter.Column{
			{Name: "id", Type: "int", NotNull: true}, {Name: "photo", Type: "varbinary(max)"}, {Name: "title", Type: "nvarchar(9)"},
		}})
		b.commit(2, c, masked(1, 3, []byte{0x04}, 1, nil, "a"), masked(1, 4, []byte{0x04}, 1, nil, "b"),
			masked(2, 3, []byte{0x02}, 1, []byte{1}, "b"), masked(2, 4, []byte{0x02}, 1, nil, "b"), row(1, 3, 1, 1, nil, "b"))
		l := b.layout(options())
		b.want(b.all(l, b.only(l)), "2 UPDATE -(1,absent,a) +(1,absent,b)", "2 UPDATE -(1,01,b) +(1,null,b)", "2 DELETE -(1,null,b)")
	})
}

func TestCase48_MaskFromTheWrongEnd(t *testing.T) {
	everywhere(t, func(b *bench) {
		wide := cdcwriter.Table{Name: "wide", Key: []string{"c1"}}
		values := []any{1}
		for i := 1; i <= 12; i++ {
			wide.Columns = append(wide.Columns, cdcwriter.Column{Name: "c" + strings.Repeat("i", i-1) + "1", Type: "int", NotNull: i == 1})
			if i > 1 {
				values = append(values, i)
			}
		}
		wide.Key = []string{wide.Columns[0].Name}
		c := b.capture(wide)
		b.commit(2, c, masked(1, 4, []byte{0x00, 0x01}, values...), masked(2, 4, []byte{0x08, 0x00}, values...), masked(3, 4, []byte{0xff}, values...))
		l := b.layout(options())
		events, failed := b.events(l, b.only(l), "", end, 10)
		if failed != nil {
			b.Fatal(failed)
		}
		for n, want := range []string{"100000000000", "000000000001", "111111110000"} {
			got := ""
			for i := range 12 {
				got += map[bool]string{true: "1", false: "0"}[events[n].Changed.Has(i)]
			}
			if got != want {
				b.Errorf("event %d: changed %s, want %s", n, got, want)
			}
		}
	})
}

func TestNotNullBitThatIsNull(t *testing.T) {
	everywhere(t, func(b *bench) {
		c := b.capture(cdcwriter.Table{Name: "flag", Key: []string{"id"}, Columns: []cdcwriter.Column{
			{Name: "id", Type: "int", NotNull: true}, {Name: "done", Type: "bit", NotNull: true},
		}})
		b.commit(2, c, row(1, 1, 2, 1, true), row(1, 2, 1, 1, nil))
		log, said := logger()
		l := b.logged(options(), log)
		events, failed := b.events(l, b.only(l), "", end, 10)
		if failed != nil || len(events) != 2 || line(&events[1]) != "2 DELETE -(1,absent)" {
			b.Fatalf("%d events, %v", len(events), failed)
		}
		if b.observed.oddNull != 1 || said.count("NOT NULL") != 1 {
			b.Errorf("counted %d, said %q", b.observed.oddNull, said.text())
		}
	})
}

func TestCase51_LocalTimeOfTheServer(t *testing.T) {
	chicago, err := time.LoadLocation("America/Chicago")
	if err != nil {
		t.Fatal(err)
	}
	everywhere(t, func(b *bench) {
		c := b.capture(cdcwriter.Parcel("parcel"))
		walls := []string{"2031-07-01 12:00:00", "2031-11-02 00:30:00", "2031-11-02 01:30:00", "2031-11-02 02:30:00", "2031-12-01 12:00:00", "2031-03-09 01:59:59", "2031-03-09 03:00:00"}
		want := []string{"2031-07-01T17:00:00Z", "2031-11-02T05:30:00Z", "2031-11-02T06:30:00Z", "2031-11-02T08:30:00Z", "2031-12-01T18:00:00Z", "2031-03-09T07:59:59Z", "2031-03-09T08:00:00Z"}
		for i, wall := range walls {
			at, err := time.Parse(time.DateTime, wall)
			if err != nil {
				b.Fatal(err)
			}
			c.Rows = []cdcwriter.Row{row(1, 1, 2, i, "x", nil)}
			b.Commit(b, cdcwriter.LSN(i+2), at, c)
		}
		l := b.layout(sqlservercdc.Options{Zone: chicago})
		events, failed := b.events(l, b.only(l), "", end, 3)
		if failed != nil || len(events) != len(walls) {
			b.Fatalf("%d events, %v", len(events), failed)
		}
		for i := range events {
			if got := time.Unix(events[i].Timestamp.Num, 0).UTC().Format(time.RFC3339); got != want[i] {
				b.Errorf("%s is %s, want %s", walls[i], got, want[i])
			}
		}
	})
}

func TestTransactionAndStreamPosition(t *testing.T) {
	everywhere(t, func(b *bench) {
		c := b.capture(cdcwriter.Parcel("parcel"))
		b.commit(0x20, c, row(1, 5, 2, 1, "a", nil), row(1, 6, 2, 2, "b", nil))
		b.commit(0x21, c, row(1, 7, 2, 3, "c", nil))
		b.Exec(b, "UPDATE ["+b.Schema+"].[lsn_time_mapping] SET [tran_id] = NULL WHERE [start_lsn] = "+cdcwriter.Literal(cdcwriter.LSN(0x21)))
		l := b.layout(options())
		events, failed := b.events(l, b.only(l), "", end, 10)
		if failed != nil || len(events) != 3 {
			b.Fatalf("%d events, %v", len(events), failed)
		}
		if got := string(events[0].StreamPosition); got != "00000000000000200000:00000000000000050000" {
			b.Errorf("stream position %s", got)
		}
		if got := string(events[0].TransactionID); got != "00000000000000000000000000000020" || string(events[1].TransactionID) != got {
			b.Errorf("transaction %s and %s", got, events[1].TransactionID)
		}
		if got := string(events[2].TransactionID); got != "000000000000"+"00000000000000210000" {
			b.Errorf("transaction without a number in the mapping: %s", got)
		}
	})
}

func TestCase54To58_Types(t *testing.T) {
	everywhere(t, func(b *bench) {
		types := []struct {
			typ, want string
			value     any
		}{
			{"bit", "true", true}, {"tinyint", "255", 255}, {"smallint", "-32768", -32768}, {"bigint", "9223372036854775807", int64(9223372036854775807)},
			{"decimal(38,10)", "-9999999999999999999999999999.9999999999", "-9999999999999999999999999999.9999999999"}, {"decimal(4,4)", "0.2346", "0.2346"},
			{"money", "922337203685477.5807", "922337203685477.5807"}, {"smallmoney", "-214748.3648", "-214748.3648"},
			{"char(3)", "ab ", "ab "}, {"varchar(5)", "größe", "größe"}, {"nchar(3)", "ab ", "ab "}, {"nvarchar(5)", "名前", "名前"}, {"nvarchar(max)", "x", "x"},
			{"binary(2)", "01FF", []byte{1, 255}}, {"varbinary(9)", "00", []byte{0}}, {"binary(8)", "00000000000007DF", []byte{0, 0, 0, 0, 0, 0, 7, 0xdf}},
			{"uniqueidentifier", "00112233-4455-6677-8899-aabbccddeeff", "00112233-4455-6677-8899-AABBCCDDEEFF"},
			{"date", "2031-05-10", "2031-05-10"}, {"time(6)", "23:59:59.999999", "23:59:59.999999"}, {"datetime2(6)", "2031-05-10 16:00:01.604805", "2031-05-10 16:00:01.604805"},
			{"datetime", "2031-05-10 16:00:01.003", "2031-05-10 16:00:01.003"}, {"datetimeoffset(6)", "2031-05-10 16:00:01.604805 +05:45", "2031-05-10 16:00:01.604805 +05:45"},
			{"xml", "<a>1</a>", "<a>1</a>"},
		}
		table := cdcwriter.Table{Name: "types", Key: []string{"id"}, Columns: []cdcwriter.Column{{Name: "id", Type: "int", NotNull: true}}}
		full, empty, want, nulls := []any{1}, []any{2}, []string{"1"}, []string{"2"}
		for i, typ := range types {
			table.Columns = append(table.Columns, cdcwriter.Column{Name: "c" + string(rune('a'+i)), Type: typ.typ})
			full, empty, want, nulls = append(full, typ.value), append(empty, nil), append(want, typ.want), append(nulls, "null")
		}
		c := b.capture(table)
		b.commit(2, c, row(1, 1, 2, full...), row(1, 2, 2, empty...))
		l := b.layout(options())
		b.want(b.all(l, b.only(l)), "2 INSERT +("+strings.Join(want, ",")+")", "2 INSERT +("+strings.Join(nulls, ",")+")")
	})
}

// Types that no message can hold: the peer's catalog names them, and that is all the policies look at.
func TestCase58_UnsupportedTypes(t *testing.T) {
	b := onPeer(t)
	odd := cdcwriter.Table{Name: "odd", Key: []string{"id"}, Columns: []cdcwriter.Column{
		{Name: "id", Type: "int", NotNull: true}, {Name: "spot", Type: "geography"}, {Name: "anything", Type: "sql_variant"}, {Name: "route", Type: "hierarchyid"},
	}}
	b.capture(odd)
	d := b.discover(b.layout(options()))
	if len(d.Tables) != 0 || len(d.Problems) != 1 || !strings.Contains(d.Problems[0].Error(), `"spot"`) || !strings.Contains(d.Problems[0].Error(), "unsupported_types") {
		t.Fatalf("fail: %d tables, problems %v", len(d.Tables), d.Problems)
	}
	captured := b.only(b.layout(sqlservercdc.Options{Unsupported: sqlservercdc.UnsupportedSkip}))
	if n := len(captured.Table.Columns); n != 2 || b.observed.leftOut != 2 {
		t.Errorf("skip: %d columns, want id and route; %d told to be left out", n, b.observed.leftOut)
	}
	captured = b.only(b.layout(sqlservercdc.Options{Unsupported: sqlservercdc.UnsupportedString}))
	kinds := []change.Kind{change.Int4, change.NClob, change.NClob, change.String}
	for i, c := range captured.Table.Columns {
		if c.Type.Kind != kinds[i] {
			t.Errorf("string: column %s has kind %d, want %d", c.Name, c.Type.Kind, kinds[i])
		}
	}
	got := selects(b.engine, captured)
	b.want(append(got[:2:2], got[3]), "t.[id]", "t.[spot].ToString()", "t.[route].ToString()")
	if !strings.HasPrefix(got[2], "CASE CONVERT(nvarchar(128), SQL_VARIANT_PROPERTY(t.[anything], 'BaseType'))") {
		t.Errorf("sql_variant: %s", got[2])
	}
}

// The policy of a column comes before that of its type, and that before the one of all.
func TestCase58_PoliciesOfTypesAndColumns(t *testing.T) {
	t.Parallel()
	const fail, text, skip = sqlservercdc.UnsupportedFail, sqlservercdc.UnsupportedString, sqlservercdc.UnsupportedSkip
	b := peerBench(t)
	b.capture(cdcwriter.Table{Name: "odd", Key: []string{"id"}, Columns: []cdcwriter.Column{
		{Name: "id", Type: "int", NotNull: true}, {Name: "spot", Type: "geography"}, {Name: "area", Type: "geography"}, {Name: "anything", Type: "sql_variant"},
	}})
	type policies = map[string]sqlservercdc.UnsupportedPolicy
	for _, c := range []struct {
		all            sqlservercdc.UnsupportedPolicy
		types, columns policies
		want, fails    string
	}{
		{fail, policies{"geography": text, "sql_variant": skip}, nil, "id spot area", ""},
		{skip, nil, policies{"area": text}, "id area", ""},
		{text, policies{"geography": skip}, policies{"area": text}, "id area anything", ""},
		{text, policies{"geography": skip}, policies{"area": fail}, "", `"area"`},
		{fail, policies{"geography": skip}, nil, "", `"anything"`},
	} {
		o := sqlservercdc.Options{Unsupported: c.all, ByType: c.types, ByColumn: func(id change.TableID, column string) (sqlservercdc.UnsupportedPolicy, bool) {
			policy, own := c.columns[column]
			return policy, own && id == b.ID("odd")
		}}
		d := b.discover(b.layout(o))
		if c.fails != "" {
			if len(d.Problems) != 1 || !strings.Contains(d.Problems[0].Error(), c.fails) || !strings.Contains(d.Problems[0].Error(), "unsupported_by_column") {
				t.Errorf("%+v: problems %v", c, d.Problems)
			}
			continue
		}
		if len(d.Tables) != 1 {
			t.Fatalf("%+v: problems %v", c, d.Problems)
		}
		var names []string
		for _, column := range d.Tables[0].Table.Columns {
			names = append(names, column.Name)
		}
		if strings.Join(names, " ") != c.want {
			t.Errorf("%+v: columns %v", c, names)
		}
	}
}

// Case 52: text in another code page than the database's is told of by column, once; the tables stream.
func TestCase52_ForeignCollation(t *testing.T) {
	t.Parallel()
	b, q := overheard(t)
	c := b.capture(cdcwriter.Parcel("parcel"))
	b.commit(2, c, row(1, 1, 2, 1, "a", nil))
	q.script = func(text string) *tdspeer.Result {
		if !strings.Contains(text, "COLLATIONPROPERTY") {
			return nil
		}
		names := []tdspeer.Column{{Name: "a", Type: "nvarchar(128)"}, {Name: "b", Type: "nvarchar(128)"}, {Name: "c", Type: "nvarchar(128)"}, {Name: "d", Type: "nvarchar(128)"}}
		return &tdspeer.Result{Columns: names, Rows: [][]any{{"dbo", "parcel", "status", "Cyrillic_General_CI_AS"}, {"dbo", "parcel", "note", "Cyrillic_General_CI_AS"},
			{"dbo", "other", "status", "Cyrillic_General_CI_AS"}}}
	}
	log, said := logger()
	l := b.logged(options(), log)
	for range 3 {
		b.only(l)
	}
	if said.count("another code page") != 1 || said.count("column=status") != 1 || said.count("Cyrillic_General_CI_AS") != 1 {
		t.Errorf("said %s", said.text())
	}
	// A server that does not know is no trouble.
	r := tdspeer.Fail(195, "COLLATIONPROPERTY is not a recognized built-in function name")
	q.script = func(text string) *tdspeer.Result {
		if strings.Contains(text, "COLLATIONPROPERTY") {
			return &r
		}
		return nil
	}
	b.only(b.layout(options()))
}

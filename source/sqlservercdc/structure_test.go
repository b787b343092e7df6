package sqlservercdc_test

import (
	"errors"
	"strings"
	"testing"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/source"
	"ctbridge/source/mssql"
	"ctbridge/source/sqlservercdc"
	"ctbridge/test/cdcwriter"
	"ctbridge/test/tdspeer"
)

func TestCase31_AlterDoesNotReachTheChangeTable(t *testing.T) {
	everywhere(t, func(b *bench) {
		parcel := cdcwriter.Parcel("parcel")
		parcel.Columns = append(parcel.Columns, cdcwriter.Column{Name: "weight", Type: "int", Left: true})
		b.capture(parcel)
		object, base := b.ObjectID(b, b.Schema, "parcel_CT"), b.ObjectID(b, b.Base, "parcel")
		b.Exec(b, "INSERT INTO ["+b.Schema+"].[ddl_history] VALUES ("+cdcwriter.Literal(base)+", "+cdcwriter.Literal(object)+", N'ALTER TABLE parcel ADD weight int', 0x01)")
		log, said := logger()
		l := b.logged(options(), log)
		captured := b.only(l)
		b.discover(l)
		if len(captured.Table.Columns) != 3 || b.observed.notCaptured != 1 {
			b.Errorf("%d columns, %d not captured", len(captured.Table.Columns), b.observed.notCaptured)
		}
		for _, want := range []string{"columns_not_captured=[weight]", "ADD weight int", "EXEC sys.sp_cdc_enable_table @source_schema = N'" + b.Base + "', @source_name = N'parcel'",
			"@capture_instance = N'" + b.Base + "_parcel_v2'"} {
			if said.count(want) != 1 {
				b.Errorf("said %q, want %q once", said.text(), want)
			}
		}
	})
}

// switched makes two instances of one table, the second with one more column and from LSN 0x25 on.
func switched(b *bench) {
	b.Helper()
	old := cdcwriter.Parcel("parcel")
	grown := cdcwriter.Parcel("parcel")
	grown.Columns = append(grown.Columns, cdcwriter.Column{Name: "weight", Type: "int"})
	b.Create(b, grown)
	b.Capture(b, old, "parcel", cdcwriter.LSN(0x10))
	b.Capture(b, grown, "parcel_v2", cdcwriter.LSN(0x25))
	for lsn := 0x10; lsn <= 0x40; lsn += 5 {
		var changes []cdcwriter.Changes
		if lsn <= 0x30 {
			changes = append(changes, cdcwriter.Changes{Instance: "parcel", Table: old, Rows: []cdcwriter.Row{row(1, 1, 2, lsn, "x", nil)}})
		}
		if lsn >= 0x25 {
			changes = append(changes, cdcwriter.Changes{Instance: "parcel_v2", Table: grown, Rows: []cdcwriter.Row{row(1, 1, 2, lsn, "x", nil, lsn)}})
		}
		b.Commit(b, cdcwriter.LSN(lsn), cdcwriter.Day, changes...)
	}
}

func TestCase32_SwitchOfCaptureInstances(t *testing.T) {
	everywhere(t, func(b *bench) {
		switched(b)
		l := b.layout(options())
		captured := b.only(l)
		b.want(b.all(l, captured),
			"16 INSERT +(16,x,null,absent)", "21 INSERT +(21,x,null,absent)", "26 INSERT +(26,x,null,absent)", "31 INSERT +(31,x,null,absent)", "36 INSERT +(36,x,null,absent)",
			"41 INSERT +(41,x,null,41)", "46 INSERT +(46,x,null,46)", "51 INSERT +(51,x,null,51)", "56 INSERT +(56,x,null,56)", "61 INSERT +(61,x,null,61)")
		if len(captured.Former) != 1 || len(captured.Former[0].Columns) != 3 {
			b.Fatalf("former structures %+v", captured.Former)
		}
		former := captured.Former[0]
		earlier, err := l.Under(captured, change.NewTable(captured.Table.ID, 1, former.Columns), former.Memo)
		if err != nil {
			b.Fatal(err)
		}
		events, failed := b.events(l, earlier, "", former.Upto, 2)
		if failed != nil || len(events) != 5 || line(&events[4]) != "36 INSERT +(36,x,null)" {
			b.Fatalf("under the old structure: %d events, %v", len(events), failed)
		}
		if rest, _ := b.events(l, captured, former.Upto, end, 2); len(rest) != 5 || line(&rest[0]) != "41 INSERT +(41,x,null,41)" {
			b.Fatalf("under the new structure: %d events", len(rest))
		}
	})
}

func TestCase35_DroppedAndMadeAgain(t *testing.T) {
	everywhere(t, func(b *bench) {
		c := b.capture(cdcwriter.Parcel("parcel"))
		other := b.capture(cdcwriter.Parcel("other"))
		b.commit(2, c, row(1, 1, 2, 1, "a", nil))
		b.commit(3, other, row(1, 1, 2, 1, "a", nil))
		l := b.layout(sqlservercdc.Options{Tables: inSchema{b.Base, []change.TableID{b.ID("parcel")}}})
		d := b.discover(l)
		b.Exec(b, "DROP TABLE ["+b.Schema+"].[parcel_CT]")
		newest, err := l.Detect(b.Context(), d.Tables)
		if err != nil || newest[0].Problem != nil || newest[1].Problem == nil || fault.ClassOf(newest[1].Problem) != fault.Table {
			b.Fatalf("detected %+v, %v", newest, err)
		}
		if changed, err := l.Changed(b.Context(), d.Tables); err != nil || changed[0] || !changed[1] {
			b.Fatalf("changed %v, %v", changed, err)
		}
		b.Exec(b, "DELETE FROM ["+b.Schema+"].[change_tables] WHERE [capture_instance] = N'parcel'")
		d = b.discover(l)
		var missing interface{ TableMissing() bool }
		if len(d.Tables) != 1 || len(d.Problems) != 1 || !errors.As(d.Problems[0], &missing) || !strings.Contains(d.Problems[0].Error(), "sp_cdc_enable_table") {
			b.Fatalf("%d tables, problems %v", len(d.Tables), d.Problems)
		}
		grown := cdcwriter.Parcel("parcel")
		grown.Columns = append(grown.Columns[:2:2], cdcwriter.Column{Name: "weight", Type: "int"})
		b.Capture(b, grown, "parcel", cdcwriter.LSN(4))
		if d = b.discover(l); len(d.Tables) != 2 || d.Tables[1].Table.ColumnIndex("weight") < 0 {
			b.Fatalf("%d tables after the return, problems %v", len(d.Tables), d.Problems)
		}
	})
}

func TestCase39_ColumnSubset(t *testing.T) {
	everywhere(t, func(b *bench) {
		c := b.capture(cdcwriter.Table{Name: "parcel", Key: []string{"id"}, Columns: []cdcwriter.Column{
			{Name: "id", Type: "int", NotNull: true}, {Name: "note", Type: "nvarchar(9)", Left: true}, {Name: "status", Type: "nvarchar(9)"},
		}})
		b.commit(2, c, row(1, 1, 2, 1, "sent"))
		l := b.layout(options())
		captured := b.only(l)
		b.want(b.all(l, captured), "2 INSERT +(1,sent)")
		if captured.Table.Columns[1].Name != "status" || len(captured.Table.Key) != 1 {
			b.Errorf("table %+v", captured.Table)
		}
	})
}

// An instance that the capture job has not come to yet has no start and is not there yet.
func TestInstanceWithoutStart(t *testing.T) {
	everywhere(t, func(b *bench) {
		b.capture(cdcwriter.Parcel("parcel"))
		grown := cdcwriter.Parcel("parcel")
		grown.Columns = grown.Columns[:2]
		b.Capture(b, grown, "parcel_v2", cdcwriter.LSN(9))
		b.Exec(b, "UPDATE ["+b.Schema+"].[change_tables] SET [start_lsn] = NULL WHERE [capture_instance] = N'parcel_v2'")
		l := b.layout(options())
		captured := b.only(l)
		if len(captured.Table.Columns) != 3 || len(captured.Former) != 0 {
			b.Fatalf("%d columns, %d former", len(captured.Table.Columns), len(captured.Former))
		}
		b.Exec(b, "UPDATE ["+b.Schema+"].[change_tables] SET [start_lsn] = "+cdcwriter.Literal(cdcwriter.LSN(9))+" WHERE [capture_instance] = N'parcel_v2'")
		if changed, err := l.Changed(b.Context(), []*source.Captured{captured}); err != nil || !changed[0] {
			b.Fatalf("changed %v, %v", changed, err)
		}
	})
}

// A full load reads the captured columns of the base table by its own key.
func TestBaseTable(t *testing.T) {
	everywhere(t, func(b *bench) {
		b.capture(cdcwriter.Table{Name: "bill", Key: []string{"id"}, Columns: []cdcwriter.Column{
			{Name: "note", Type: "nvarchar(9)", Left: true}, {Name: "total", Type: "id + 1", Computed: true}, {Name: "fee", Type: "int"}, {Name: "id", Type: "int", NotNull: true},
		}})
		l := b.layout(options())
		base, err := l.Base(b.only(l))
		if err != nil || base.ID != b.ID("bill") || len(base.Columns) != 2 || base.Columns[0].Name != "fee" || len(base.Key) != 1 || base.Key[0].Name != "id" {
			b.Fatalf("%+v, %v", base, err)
		}
	})
}

// The order of a key is that of index_ordinal, whatever the order of the columns.
func TestKeyOrder(t *testing.T) {
	everywhere(t, func(b *bench) {
		b.capture(cdcwriter.Table{Name: "line", Key: []string{"number", "bill"}, Columns: []cdcwriter.Column{
			{Name: "bill", Type: "int", NotNull: true}, {Name: "number", Type: "int", NotNull: true},
		}})
		captured := b.only(b.layout(options()))
		if key := captured.Table.Key; len(key) != 2 || key[0] != 1 || key[1] != 0 {
			b.Errorf("key %v", key)
		}
		captured = b.only(b.layout(sqlservercdc.Options{Keys: map[change.TableID][]string{b.ID("line"): {"bill"}}}))
		if key := captured.Table.Key; len(key) != 1 || key[0] != 0 {
			b.Errorf("key of the options: %v", key)
		}
	})
}

func TestCase61_Names(t *testing.T) {
	everywhere(t, func(b *bench) {
		name := "Acme Ltd$Item Ledger$4f2a"
		c := b.capture(cdcwriter.Table{Name: name, Key: []string{"Unit, Price"}, Columns: []cdcwriter.Column{
			{Name: "Unit, Price", Type: "int", NotNull: true}, {Name: "a.b", Type: "int"}, {Name: "it's", Type: "int"},
		}})
		b.commit(2, c, row(1, 1, 2, 1, 2, 3))
		l := b.layout(options())
		captured := b.only(l)
		b.want(b.all(l, captured), "2 INSERT +(1,2,3)")
		if captured.Table.ID.Name != name {
			b.Errorf("table %s", captured.Table.ID)
		}
	})
}

// Missing rights are told with what to grant, never taken for "no changes".
func TestCase90_MissingRights(t *testing.T) {
	b := onPeer(t)
	b.capture(cdcwriter.Parcel("parcel"))
	b.Exec(b, "UPDATE [cdc].[change_tables] SET [role_name] = N'readers'")
	captured := b.only(b.layout(options()))
	denied := tdspeer.Start(t, func(string, []any) tdspeer.Result { return tdspeer.Fail(229, "The SELECT permission was denied") })
	e, err := mssql.Open(mssql.Config{DSN: denied.DSN()})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	l := sqlservercdc.New(e, sqlservercdc.Options{Tables: inSchema{schema: "dbo"}}, nil)
	_, err = l.Discover(t.Context())
	if err == nil || !strings.Contains(err.Error(), "GRANT SELECT ON SCHEMA::cdc") || !strings.Contains(err.Error(), "sp_cdc_enable_db") {
		t.Errorf("discovery: %v", err)
	}
	newest, err := l.Detect(t.Context(), []*source.Captured{captured})
	if err != nil || newest[0].Problem == nil {
		t.Fatalf("detected %v, %v", newest, err)
	}
	if text := newest[0].Problem.Error(); !strings.Contains(text, "readers") || !strings.Contains(text, "parcel_CT") {
		t.Errorf("problem %s", text)
	}
}

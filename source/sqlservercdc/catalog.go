package sqlservercdc

import (
	"context"
	"fmt"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/source"
)

// catalog holds the queries of the tables that describe capture instances. Their texts never change (case 85).
type catalog struct {
	instances, columns, index, history source.Statement
}

func column(name string, kind change.Kind) change.Column {
	return change.Column{Name: name, Type: change.Type{Kind: kind}, Nullable: true}
}

func newCatalog(engine source.Engine, schema string) catalog {
	table := func(name string) string { return engine.Table(change.TableID{Schema: schema, Name: name}) }
	// INFORMATION_SCHEMA gives the names as they were written, where the sys views do not.
	instances := `SELECT c.object_id, c.source_object_id, c.capture_instance, c.start_lsn, c.role_name, n.TABLE_SCHEMA, n.TABLE_NAME FROM ` + table("change_tables") + ` c
LEFT JOIN sys.objects o ON o.object_id = c.source_object_id
LEFT JOIN sys.schemas s ON s.schema_id = o.schema_id
LEFT JOIN INFORMATION_SCHEMA.TABLES n ON n.TABLE_SCHEMA = s.name AND n.TABLE_NAME = o.name
ORDER BY c.object_id`
	columns := `SELECT c.object_id, c.column_name, c.column_type, c.column_ordinal, c.is_computed FROM ` + table("captured_columns") + ` c ORDER BY c.object_id, c.column_ordinal`
	index := `SELECT c.object_id, c.column_name FROM ` + table("index_columns") + ` c ORDER BY c.object_id, c.index_ordinal`
	history := `SELECT c.object_id, c.ddl_command FROM ` + table("ddl_history") + ` c ORDER BY c.object_id, c.ddl_lsn`
	return catalog{
		instances: engine.Prepare(instances, []change.Column{column("object_id", change.Int8), column("source_object_id", change.Int8),
			column("capture_instance", change.WString), column("start_lsn", change.Bytes), column("role_name", change.WString),
			column("table_schema", change.WString), column("table_name", change.WString)}),
		columns: engine.Prepare(columns, []change.Column{column("object_id", change.Int8), column("column_name", change.WString),
			column("column_type", change.WString), column("column_ordinal", change.Int8), column("is_computed", change.Bool)}),
		index:   engine.Prepare(index, []change.Column{column("object_id", change.Int8), column("column_name", change.WString)}),
		history: engine.Prepare(history, []change.Column{column("object_id", change.Int8), column("ddl_command", change.WString)}),
	}
}

// instance is a capture instance as the catalog describes it.
type instance struct {
	object  int64  // of the change table: it identifies the instance
	name    string // capture_instance
	start   string // LSN from which on its rows are there
	role    string // gating role, "" = none
	changes change.TableID
	base    change.TableID // empty where the login may not see the table
	columns []captured
	key     []string // names of the columns that identify a row, in order
	ddl     []string // statements that have altered the table since the instance was made
}

// captured is a column of an instance.
type captured struct {
	name, typ string
	ordinal   int // of its bit in update masks, from 1
	computed  bool
}

// bases reads the instances alone, by the base tables they belong to, the oldest first.
func (l *Layout) bases(ctx context.Context) ([]*instance, error) {
	var all []*instance
	err := source.EachRow(ctx, l.catalog.instances, 7, func(row []change.Value) error {
		if !row[3].HasContent() {
			return nil // the capture job has not come to it yet
		}
		i := &instance{object: row[0].Num, name: string(row[2].Raw), start: lsnText(row[3].Raw), role: string(row[4].Raw)}
		i.base = change.TableID{Schema: string(row[5].Raw), Name: string(row[6].Raw)}
		i.changes = change.TableID{Schema: l.options.Schema, Name: i.name + "_CT"}
		if len(i.start) != lsnDigits {
			return fault.New(fault.Table, "discover", fmt.Errorf("capture instance %q has a start_lsn of %d digits", i.name, len(i.start)), "")
		}
		all = append(all, i)
		return nil
	})
	if fault.ClassOf(err) == fault.Table {
		return nil, fault.New(fault.Table, "read "+l.options.Schema+".change_tables", err, "enable change data capture with EXEC sys.sp_cdc_enable_db, and GRANT SELECT ON SCHEMA::"+
			l.options.Schema+" to the login")
	}
	return all, err
}

// instances reads all capture instances with their columns, keys and history.
func (l *Layout) instances(ctx context.Context) ([]*instance, error) {
	all, err := l.bases(ctx)
	if err != nil {
		return nil, err
	}
	of := make(map[int64]*instance, len(all))
	for _, i := range all {
		of[i.object] = i
	}
	details := []struct {
		statement source.Statement
		width     int
		take      func(i *instance, row []change.Value)
	}{
		{l.catalog.columns, 5, func(i *instance, row []change.Value) {
			i.columns = append(i.columns, captured{string(row[1].Raw), string(row[2].Raw), int(row[3].Num), row[4].Bool()})
		}},
		{l.catalog.index, 2, func(i *instance, row []change.Value) { i.key = append(i.key, string(row[1].Raw)) }},
		{l.catalog.history, 2, func(i *instance, row []change.Value) { i.ddl = append(i.ddl, string(row[1].Raw)) }},
	}
	for _, d := range details {
		err := source.EachRow(ctx, d.statement, d.width, func(row []change.Value) error {
			if i := of[row[0].Num]; i != nil {
				d.take(i, row)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

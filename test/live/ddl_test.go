package live

import (
	"fmt"
	"net/http"
	"testing"

	"ctbridge/test/qlikwriter"
)

// step is one change of structure with the row that the writer adds after it, and how a consumer must see that row.
type step struct {
	changes []string // of base and change table, one after the other
	values  []any
	want    string
}

func (db database) steps() []step {
	return []step{
		{nil, []any{1, "a", "1.50"}, `{"fee":"1.50","id":1,"status":"a"}`},
		{[]string{"ADD zone int"}, []any{2, "b", nil, 7}, `{"fee":null,"id":2,"status":"b","zone":7}`},
		{[]string{"DROP COLUMN fee"}, []any{3, "c", 8}, `{"id":3,"status":"c","zone":8}`},
		{[]string{"RENAME COLUMN status TO state"}, []any{4, "d", 9}, `{"id":4,"state":"d","zone":9}`},
		{[]string{db.retype("zone", "bigint")}, []any{5, "e", int64(1) << 40}, `{"id":5,"state":"e","zone":1099511627776}`},
		{[]string{"ADD weight int", "DROP COLUMN zone"}, []any{6, "f", 3}, `{"id":6,"state":"f","weight":3}`}, // two between two polls
	}
}

// Structure changes in the middle of traffic, with the bridge running and with it stopped: every row is decoded by the other client under the
// schema that it was written with, and each version has a schema of its own.
func TestStructureChanges(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB) database{"postgres": postgres, "mariadb": mariadb} {
		for _, stopped := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s_stopped_%v", name, stopped), func(t *testing.T) { structureChanges(t, open(t), stopped) })
		}
	}
}

func structureChanges(t *testing.T, db database, stopped bool) {
	db.Create(t, qlikwriter.Parcel("parcel"))
	db.Create(t, qlikwriter.Parcel("depot"))
	b := newBridge(t, db, registry(t)+"qlik: {external_schema_id: true}\n")
	b.start()
	b.started()
	var want []string
	for i, s := range db.steps() {
		if stopped {
			b.stop()
		}
		for _, change := range s.changes {
			db.alter(t, "parcel", change)
		}
		db.put(t, "parcel", 10*i+1, s.values...)
		db.put(t, "depot", 10*i+2, i, "other", nil)
		if stopped {
			b.log.reset()
			b.start()
			b.started()
		}
		want = append(want, s.want)
		events := float64(2 * (i + 1))
		if stopped {
			events = 2 // of this process
		}
		waitFor(t, func() bool { b.checkAlive(); return b.metric("ctbridge_events_published_total") >= events })
	}
	got, others := b.until(len(want), "parcel"), b.until(len(want), "depot")
	b.stop()
	wantRows(t, rows(t, got), want...)
	checkSchemaIDs(t, got)
	if len(others) != len(want) {
		t.Errorf("%d messages of the other table, want %d", len(others), len(want))
	}
	var versions []int
	ask(t, http.MethodGet, "/subjects/"+b.task+".parcel-value/versions", "", &versions)
	if len(versions) != len(want) {
		t.Errorf("versions %v in the registry, want %d", versions, len(want))
	}
}

// Case 38: PostgreSQL's column numbers prove a rename. Rows that were not read before it, but lie below it by the writer's own history, keep the
// old name; the row above it has the new one. A product without such numbers tells all of them under the new name, and hides no value.
func TestCase38_RenameProvenByColumnIDs(t *testing.T) {
	for name, open := range map[string]func(testing.TB) database{"postgres": postgres, "mariadb": mariadb} {
		t.Run(name, func(t *testing.T) {
			db := open(t)
			db.Create(t, qlikwriter.Parcel("parcel"))
			db.Exec(t, "CREATE TABLE %s (table_name varchar(128), change_seq varchar(35), ddl_type varchar(32))", db.Name("attrep_ddl_history"))
			b := newBridge(t, db, registry(t))
			db.put(t, "parcel", 1, 1, "a", nil)
			b.start()
			b.until(1, "parcel")
			b.stop()
			db.put(t, "parcel", 2, 2, "b", nil)
			db.put(t, "parcel", 3, 3, "c", nil)
			db.alter(t, "parcel", "RENAME COLUMN status TO state")
			db.Exec(t, "INSERT INTO %s VALUES ('parcel', '%s', 'ALTER_TABLE')", db.Name("attrep_ddl_history"), qlikwriter.Seq(4))
			db.put(t, "parcel", 5, 5, "e", nil)
			b.start()
			got := b.until(4, "parcel")
			b.stop()
			before := "status"
			if db.engine == "mysql" {
				before = "state"
			}
			wantRows(t, rows(t, got), `{"fee":null,"id":1,"status":"a"}`, fmt.Sprintf(`{"fee":null,"id":2,%q:"b"}`, before),
				fmt.Sprintf(`{"fee":null,"id":3,%q:"c"}`, before), `{"fee":null,"id":5,"state":"e"}`)
		})
	}
}

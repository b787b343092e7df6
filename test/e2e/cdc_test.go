package e2e

import (
	"database/sql"
	"fmt"
	"testing"
	"time"

	"ctbridge/test/cdcwriter"
	"ctbridge/test/tdspeer"
)

// captured is SQL Server with one captured table and two changes of it: an insert and an update. It gives a way to commit more, and the
// configuration that reads it.
func (s *stand) captured() (commit func(lsn int, rows ...cdcwriter.Row), changes set) {
	s.Helper()
	d := tdspeer.NewDatabase(s, "dbo", "cdc")
	peer := tdspeer.Start(s, d.Answer)
	admin := d.Admin()
	s.cdc = admin
	s.Cleanup(func() { _ = admin.Close() })
	ask, err := sql.Open("sqlserver", peer.DSN())
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = ask.Close() })
	w := &cdcwriter.Writer{DB: admin, Ask: ask, Schema: "cdc", Base: "dbo"}
	w.Enable(s)
	parcel := cdcwriter.Parcel("parcel")
	w.Create(s, parcel)
	w.Capture(s, parcel, "dbo_parcel", cdcwriter.LSN(1))
	commit = func(lsn int, rows ...cdcwriter.Row) {
		w.Commit(s, cdcwriter.LSN(lsn), cdcwriter.Day.Add(time.Duration(lsn)*time.Second), cdcwriter.Changes{Instance: "dbo_parcel", Table: parcel, Rows: rows})
	}
	commit(2, cdcwriter.Row{Cmd: 1, Seq: 1, Op: 2, Values: []any{1, "new", "1.50"}},
		cdcwriter.Row{Cmd: 2, Seq: 1, Op: 3, Mask: []byte{2}, Values: []any{1, "new", "1.50"}}, cdcwriter.Row{Cmd: 2, Seq: 1, Op: 4, Mask: []byte{2}, Values: []any{1, "sent", "1.50"}})
	return commit, set{
		"source.engine": "sqlserver", "source.dsn": quote(peer.DSN()), "source.layout": "sqlserver-cdc", "source.horizon.settle": "",
		"source.sqlserver_cdc.time_zone": "America/Chicago", "source.tables": `["dbo.*"]`,
	}
}

// SQL Server's own change tables through the whole bridge: configuration, driver, messages in Kafka, a restart.
func TestSQLServerCDC(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	commit, changes := s.captured()
	r := s.start(changes)
	s.read(2, "parcel")
	r.drain()
	commit(3, cdcwriter.Row{Cmd: 1, Seq: 1, Op: 1, Values: []any{1, "sent", "1.50"}})
	r = s.start(changes)
	messages := s.read(3, "parcel")
	r.drain()
	want(t, keysOf(messages), "1", "1", "1")
	headers := []string{
		"INSERT 20310510210002000000000000000000001 2031-05-10T21:00:02.000 00000000000000020000:00000000000000010000 00000000000000000000000000000002 07 1 false",
		"UPDATE 20310510210002000000000000000000002 2031-05-10T21:00:02.000 00000000000000020000:00000000000000010000 00000000000000000000000000000002 02 2 true",
		"DELETE 20310510210003000000000000000000003 2031-05-10T21:00:03.000 00000000000000030000:00000000000000010000 00000000000000000000000000000003 01 1 true",
	}
	var got []string
	for _, m := range messages {
		h := inner(decodeJSON(t, m.Value))["headers"].(tree)
		text := ""
		for _, name := range []string{"operation", "changeSequence", "timestamp", "streamPosition", "transactionId", "changeMask", "transactionEventCounter", "transactionLastEvent"} {
			text += " " + headerText(h[name])
		}
		got = append(got, text[1:])
	}
	want(t, got, headers...)
}

func headerText(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return fmt.Sprint(v)
}

// Debezium's source block over SQL Server's own change tables: LSNs as a connector writes them, and the order of rows that share them.
func TestDebeziumOfSQLServerCDC(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	commit, changes := s.captured()
	changes["envelope"], changes["source.database"], changes["debezium.prefix"] = "debezium", "shop", "erp"
	commit(3, cdcwriter.Row{Cmd: 1, Seq: 1, Op: 1, Values: []any{1, "sent", "1.50"}})
	s.start(changes)
	var got []string
	for _, m := range s.read(4, "parcel")[:3] {
		message := decodeJSON(t, m.Value)
		source := message["source"].(tree)
		text := headerText(message["op"])
		for _, name := range []string{"connector", "name", "db", "schema", "table", "commit_lsn", "change_lsn", "event_serial_no", "ts_ms", "snapshot", "sequence"} {
			text += " " + headerText(source[name])
		}
		got = append(got, text)
	}
	want(t, got,
		`c sqlserver erp shop dbo parcel 00000000:00000002:0000 00000000:00000001:0000 2 1936213202000 false ["20310510210002000000000000000000001"]`,
		`u sqlserver erp shop dbo parcel 00000000:00000002:0000 00000000:00000001:0000 2 1936213202000 false ["20310510210002000000000000000000002"]`,
		`d sqlserver erp shop dbo parcel 00000000:00000003:0000 00000000:00000001:0000 1 1936213203000 false ["20310510210003000000000000000000003"]`)
}

package datastream

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"ctbridge/bridge/change"
	"ctbridge/bridge/envelope"
	"ctbridge/bridge/fault"
	"ctbridge/schema/jsonenc"
)

// sortKeysAt gives the sort keys of an event at a position, without the time, as one text.
func sortKeysAt(t *testing.T, n *envelope.Node, table *change.Table, p change.Position) string {
	t.Helper()
	ev := eventOf(sources[1], table, "insert")
	ev.Position = p
	keys := parse(t, jsonOf(t, n, ev))["sort_keys"].([]any)[1:]
	return fmt.Sprint(keys)
}

// place is what consumers tell changes of a row apart by.
func place(t *testing.T, n *envelope.Node, ev *change.Event) string {
	t.Helper()
	event := parse(t, jsonOf(t, n, ev))
	m := event["source_metadata"].(map[string]any)
	return fmt.Sprint(event["source_timestamp"], m["lsn"], m["log_file"], m["log_position"])
}

func TestPositionsFromTheChangeSequence(t *testing.T) {
	t.Parallel()
	for _, s := range sources {
		table := tableOf(s.engine)
		m := metadataOf(t, s, table, eventOf(s, table, "insert"), fromSequence)
		got := fmt.Sprint(m["lsn"], m["log_file"], m["log_position"])
		want := changeSequence + "<nil><nil>"
		if s.engine == MySQL {
			want = "<nil> 2031051016000160 5"
		}
		if strings.ReplaceAll(got, " ", "") != strings.ReplaceAll(want, " ", "") {
			t.Errorf("%s: %s, want %s", s.name, got, want)
		}
	}
}

func TestMissingPositions(t *testing.T) {
	t.Parallel()
	table := tableOf(MySQL)
	ev := eventOf(sources[3], table, "insert")
	ev.StreamPosition, ev.TransactionID = nil, nil
	if m := metadataOf(t, sources[3], table, ev); m["log_file"] != "2031051016000160" || m["log_position"] != json.Number("5") {
		t.Errorf("%v", m)
	}
	table = tableOf(Postgres)
	ev = eventOf(sources[2], table, "insert")
	ev.StreamPosition, ev.TransactionID = nil, nil
	if m := metadataOf(t, sources[2], table, ev); m["lsn"] != changeSequence || m["tx_id"] != nil {
		t.Errorf("%v", m)
	}
}

func metadataOf(t *testing.T, s source, table *change.Table, ev *change.Event, set ...func(*Options)) map[string]any {
	t.Helper()
	n := declare(t, newEnvelope(t, s.engine, append(set, s.set...)...), table).Value
	return parse(t, jsonOf(t, n, ev))["source_metadata"].(map[string]any)
}

// PostgreSQL's transaction id is a number in Avro. One that is none is an error there, unless it is left out; SQL Server's is text.
func TestTransactionIDs(t *testing.T) {
	t.Parallel()
	pg := sources[2]
	table := tableOf(Postgres)
	ev := eventOf(pg, table, "insert")
	schema, body := avroOf(t, declare(t, newEnvelope(t, Postgres), table).Value, ev)
	if got := decode(t, schema, body)["source_metadata"].(map[string]any)["tx_id"]; got != int64(0x60008) {
		t.Errorf("%v", got)
	}
	for id, want := range map[string]string{
		"7FFFFFFFFFFFFFFF": "9223372036854775807", "00000000000000007fffffffffffffff": "9223372036854775807",
		"8000000000000000": "8000000000000000", "0000000000000A001F00BF0E0000ffff": "0000000000000A001F00BF0E0000ffff", "xid-5": "xid-5",
	} {
		ev.TransactionID = []byte(id)
		if got := metadataOf(t, pg, table, ev)["tx_id"]; got != want {
			t.Errorf("%s: %v, want %s", id, got, want)
		}
		if _, err := avroAppend(t, declare(t, newEnvelope(t, Postgres), table).Value, ev); (fault.ClassOf(err) == fault.Poison) == (want != id) {
			t.Errorf("%s in Avro: %v", id, err)
		}
	}
	n := declare(t, newEnvelope(t, Postgres, noTransaction), table).Value
	if _, err := avroAppend(t, n, ev); err != nil {
		t.Error(err)
	}
	if got := parse(t, jsonOf(t, n, ev))["source_metadata"].(map[string]any)["tx_id"]; got != nil {
		t.Errorf("%v", got)
	}
}

// The time of a change, else that of its sequence, else that of reading. Finer digits than milliseconds are not part of the field.
func TestSourceTimestamps(t *testing.T) {
	t.Parallel()
	table := tableOf(SQLServer)
	n := declare(t, newEnvelope(t, SQLServer), table).Value
	for name, c := range map[string]struct {
		change func(*change.Event)
		want   string
	}{
		"of the change":       {func(ev *change.Event) { ev.Timestamp = change.InstantValue(-1, 999_999_999, 0) }, "1969-12-31T23:59:59.999Z"},
		"an offset is no UTC": {func(ev *change.Event) { ev.Timestamp = change.InstantValue(0, 0, 60) }, "1970-01-01T00:00:00.000Z"},
		"of the sequence":     {func(ev *change.Event) { ev.Timestamp = change.Null }, "2031-05-10T16:00:01.600Z"},
		"of reading": {func(ev *change.Event) {
			ev.Timestamp, ev.ChangeSequence = change.Null, []byte("99999999999999990000000000000000005")
		}, "2031-05-10T16:00:02.408Z"},
	} {
		ev := eventOf(sources[0], table, "insert")
		c.change(ev)
		event := parse(t, jsonOf(t, n, ev))
		if event["source_timestamp"] != c.want {
			t.Errorf("%s: %v, want %s", name, event["source_timestamp"], c.want)
		}
	}
}

// A full load's row is not newer than any change that it does not hold: its time is the fence of the load, by the source's clock if it can be.
func TestTimesOfFullLoads(t *testing.T) {
	t.Parallel()
	table := tableOf(SQLServer)
	n := declare(t, newEnvelope(t, SQLServer), table).Value
	for fence, want := range map[change.Position]string{
		"20310510155900500000000000000000009": "2031-05-10T15:59:00.500Z",
		"":                                    "2031-05-10T15:59:01.000Z",
		"00000027000001300001:ffffffff:ffffffffffffffffffff:9": "2031-05-10T15:59:01.000Z",
		"20319910155900500000000000000000009":                  "2031-05-10T15:59:01.000Z",
	} {
		ev := eventOf(sources[0], table, "refresh")
		ev.Load.Fence = fence
		event := parse(t, jsonOf(t, n, ev))
		if event["source_timestamp"] != want || event["sort_keys"].([]any)[1] != "" {
			t.Errorf("%q: %v, %v", fence, event["source_timestamp"], event["sort_keys"])
		}
	}
}

// A position that is none of SQL Server's change tables has no place among their events.
func TestForeignPositionIsRefused(t *testing.T) {
	t.Parallel()
	table := tableOf(SQLServer)
	ev := eventOf(sources[0], table, "insert")
	encoder, err := jsonenc.Compile(declare(t, newEnvelope(t, SQLServer, withCDC), table).Value)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := encoder.Append(nil, ev); fault.ClassOf(err) != fault.Poison || !strings.Contains(fmt.Sprint(err), "sort_keys[1]") {
		t.Errorf("%v", err)
	}
}

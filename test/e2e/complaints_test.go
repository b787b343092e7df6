package e2e

import (
	"encoding/hex"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"ctbridge/test/qlikwriter"
)

// wide is a table of n columns c1..cn, the first its key.
func wide(table string, n int) qlikwriter.Shape {
	s := qlikwriter.Shape{Table: table, Key: []string{"c1"}}
	for i := 1; i <= n; i++ {
		ddl := fmt.Sprintf("c%d int", i)
		if i == 1 {
			ddl += " NOT NULL"
		}
		s.Columns = append(s.Columns, ddl)
	}
	return s
}

// cells are n values, 0 but where a column (from 1) changed.
func cells(n int, changed ...int) []any {
	out := make([]any, n)
	for i := range out {
		out[i] = 0
	}
	for _, c := range changed {
		out[c-1] = c
	}
	return out
}

// bits reads a message mask as one number, as its consumers should.
func bits(t testing.TB, mask any) (columns []int) {
	t.Helper()
	number, ok := new(big.Int).SetString(mask.(string), 16)
	if !ok {
		t.Fatalf("mask %v", mask)
	}
	for i := range number.BitLen() {
		if number.Bit(i) == 1 {
			columns = append(columns, i+1)
		}
	}
	return columns
}

// Complaint: masks held in 32- or 64-bit integers. Tables wider than that, in both byte orders that change tables have, up to what SQLite can join.
func TestComplaint_MasksWiderThanAnInteger(t *testing.T) {
	t.Parallel()
	for _, n := range []int{8, 31, 32, 33, 64, 65, 130, 990} {
		for order, name := range map[int]string{lsb: "lsb", msb: "msb"} {
			t.Run(fmt.Sprint(n, name), func(t *testing.T) {
				t.Parallel()
				s := newStand(t)
				shape := wide("wide", n)
				s.db.Create(t, shape)
				changed := []int{2, n/2 + 1, n}
				for _, r := range []qlikwriter.Row{
					{Seq: qlikwriter.Seq(1), Oper: "B", Mask: []byte{}, Values: cells(n)},
					{Seq: qlikwriter.Seq(1), Oper: "U", Mask: tableMask(order, 7, changed...), Values: cells(n, changed...)},
					{Seq: qlikwriter.Seq(2), Oper: "D", Mask: tableMask(order, 7, 1), Values: cells(n)},
				} {
					s.db.Add(t, s.db.DB, shape, r)
				}
				s.start(set{"source.qlik.mask_byte_order": name})
				messages := s.read(2, "wide")
				headers := inner(decodeJSON(t, messages[0].Value))["headers"].(tree)
				if got := fmt.Sprint(bits(t, headers["changeMask"])); got != fmt.Sprint(changed) {
					t.Errorf("changed columns %s, want %v", got, changed)
				}
				if got := bits(t, headers["columnMask"]); len(got) != n || got[n-1] != n {
					t.Errorf("captured columns %v", got)
				}
				if got := len(headers["changeMask"].(string)); got != 2*(n/8+1) {
					t.Errorf("%d digits, want %d", got, 2*(n/8+1))
				}
				deleted := inner(decodeJSON(t, messages[1].Value))["headers"].(tree)
				if got := fmt.Sprint(bits(t, deleted["changeMask"])); got != "[1]" {
					t.Errorf("deleted row's key columns %s", got)
				}
			})
		}
	}
}

// Masks of every length that the same columns can come in: zero bytes left out, kept, or filled up to the column's 128 bytes.
func TestMaskLengths(t *testing.T) {
	t.Parallel()
	for order, masks := range map[string][]string{
		"lsb": {"8003", "800300", "8003" + strings.Repeat("00", 126)},
		"msb": {"0380", "000380", strings.Repeat("00", 126) + "0380"},
	} {
		t.Run(order, func(t *testing.T) {
			t.Parallel()
			s := newStand(t)
			s.create("parcel")
			for i, m := range append(masks, "") {
				bytes, err := hex.DecodeString(m)
				if err != nil {
					t.Fatal(err)
				}
				s.db.Add(t, s.db.DB, qlikwriter.Parcel("parcel"), qlikwriter.Row{Seq: qlikwriter.Seq(i + 1), Oper: "I", Mask: bytes, Values: []any{i, "a", "1.00"}})
			}
			s.start(set{"source.qlik.mask_byte_order": order})
			var got []string
			for _, m := range s.read(len(masks)+1, "parcel") {
				got = append(got, fmt.Sprint(inner(decodeJSON(t, m.Value))["headers"].(tree)["changeMask"]))
			}
			want(t, got, "07", "07", "07", "00")
		})
	}
}

// Complaint: the header offset forgotten. However many headers a change table has, one change marks one column.
func TestComplaint_HeaderOffset(t *testing.T) {
	t.Parallel()
	all := []string{"change_seq", "change_oper", "change_mask", "stream_position", "operation", "transaction_id", "timestamp"}
	for n := 3; n <= len(all); n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			s := newStand(t)
			shape := wide("wide", 16)
			shape.Headers = all[:n]
			s.db.Create(t, shape)
			s.db.Add(t, s.db.DB, shape, qlikwriter.Row{Seq: qlikwriter.Seq(1), Oper: "U", Mask: tableMask(msb, n, 8, 16), Values: cells(16, 8, 16)})
			s.start(set{"source.qlik.mask_byte_order": "msb"})
			if got := inner(decodeJSON(t, s.read(1, "wide")[0].Value))["headers"].(tree)["changeMask"]; got != "008080" { // seen on the wire for these columns
				t.Errorf("change mask %v, want 008080", got)
			}
		})
	}
}

// Complaint: before-images counted as changes. A pair is one message, one event of the transaction, one row of every metric.
func TestComplaint_BeforeImagesAreNoChanges(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.create("parcel")
	for n := 1; n <= 5; n++ {
		s.add("parcel", "B", n, "t1", 1, fmt.Sprint("s", n), nil)
		s.add("parcel", "U", n, "t1", 1, fmt.Sprint("s", n+1), nil)
	}
	r := s.start(set{"source.page_rows": "3"})
	got := lines(t, s.read(5, "parcel"))
	for n := 1; n <= 5; n++ {
		last := map[bool]string{true: " last"}[n == 5]
		if want := fmt.Sprintf("1 UPDATE %d +(fee=null id=1 status=s%d) -(fee=null id=1 status=s%d) 02/07 #%d%s", n, n+1, n, n, last); got[n-1] != want {
			t.Errorf("got  %s\nwant %s", got[n-1], want)
		}
	}
	eventually(t, func() bool {
		return r.metric(`ctbridge_events_published_total{operation="UPDATE",table="parcel"}`) == 5
	}, "5 updates in the metrics")
	if read := r.metric(`ctbridge_rows_read_total{table="parcel"}`); read != 5 {
		t.Errorf("%v rows read, want 5", read)
	}
	r.drain()
	if n := len(s.all(s.task + ".parcel")); n != 5 {
		t.Errorf("%d messages, want 5", n)
	}
}

// Complaint: ordering by timestamp. Equal and turned-back clocks change nothing, the sequence decides.
func TestComplaint_OrderIsNotThatOfTheClock(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.create("parcel")
	for n, minutes := range []int{10, 5, 5, 20, 0} {
		s.db.Add(t, s.db.DB, qlikwriter.Parcel("parcel"), qlikwriter.Row{
			Seq: qlikwriter.Seq(n + 1), Oper: "I", At: qlikwriter.Day.Add(time.Duration(minutes) * time.Minute), Values: []any{n + 1, "x", nil}})
	}
	s.start(set{"source.page_rows": "2"})
	want(t, keysOf(s.read(5, "parcel")), "1", "2", "3", "4", "5")
}

// Complaint: the watermark moving back after a batch of deletes only.
func TestComplaint_DeletesMoveThePositionOn(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.create("parcel")
	s.add("parcel", "I", 1, "t1", 1, "a", nil)
	s.add("parcel", "I", 2, "t1", 2, "b", nil)
	r := s.start()
	s.read(2, "parcel")
	s.add("parcel", "D", 3, "t2", 1, "a", nil)
	s.add("parcel", "D", 4, "t2", 2, nil, nil)
	s.read(4, "parcel")
	r.drain()
	r = s.start()
	r.says(`position=` + qlikwriter.Seq(4))
	s.add("parcel", "I", 5, "t3", 3, "c", nil)
	s.read(5, "parcel")
	r.drain()
	want(t, keysOf(s.all(s.task+".parcel")), "1", "2", "1", "2", "3")
}

// Complaint: NULL mistaken for "not updated". Set to NULL: marked as changed and captured. Not captured: neither.
func TestComplaint_NullIsNotMissing(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.create("parcel")
	add := func(n int, oper string, mask []byte, values ...any) {
		s.db.Add(t, s.db.DB, qlikwriter.Parcel("parcel"), qlikwriter.Row{Seq: qlikwriter.Seq(n), Oper: oper, Mask: mask, Values: values})
	}
	add(1, "B", []byte{}, 1, "a", "1.50")
	add(1, "U", tableMask(msb, 7, 2), 1, nil, nil) // status set to NULL; fee was not captured
	add(2, "I", tableMask(msb, 7, 1, 2), 2, nil, nil)
	add(3, "D", tableMask(msb, 7, 1), 1, nil, nil)
	s.start(set{"source.qlik.mask_byte_order": "msb"})
	want(t, lines(t, s.read(3, "parcel")),
		"1 UPDATE 1 +(fee=null id=1 status=null) -(fee=1.50 id=1 status=a) 02/03 #<nil>",
		"2 INSERT 2 +(fee=null id=2 status=null) -null 03/03 #<nil>",
		"1 DELETE 3 +(fee=null id=1 status=null) -null 01/07 #<nil>")
}

// Case 47, and LOB columns in masks: an unchanged large object arrives as NULL and is not captured; a changed one shows in no change mask.
func TestCase47_LargeObjects(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	shape := qlikwriter.Shape{Table: "album", Key: []string{"id"}, Columns: []string{"id int NOT NULL", "title varchar(20)", "photo BLOB", "note CLOB"}}
	s.db.Create(t, shape)
	add := func(n int, oper string, mask []byte, values ...any) {
		s.db.Add(t, s.db.DB, shape, qlikwriter.Row{Seq: qlikwriter.Seq(n), Oper: oper, Mask: mask, Values: values})
	}
	add(1, "I", tableMask(msb, 7, 1, 2, 3, 4), 1, "a", []byte{1}, "long")
	add(2, "U", tableMask(msb, 7, 2), 1, "b", nil, nil)       // large objects unchanged
	add(3, "U", tableMask(msb, 7, 3), 1, "b", nil, nil)       // photo set to NULL
	add(4, "U", tableMask(msb, 7, 4), 1, "b", nil, "changed") // note changed
	s.start(set{"source.qlik.mask_byte_order": "msb"})
	want(t, lines(t, s.read(4, "album")),
		"1 INSERT 1 +(id=1 note=long photo=01 title=a) -null 03/0F #<nil>",
		"1 UPDATE 2 +(id=1 note=null photo=null title=b) -null 02/03 #<nil>",
		"1 UPDATE 3 +(id=1 note=null photo=null title=b) -null 00/07 #<nil>",
		"1 UPDATE 4 +(id=1 note=changed photo=null title=b) -null 00/0B #<nil>")
}

// Case 44: a NOT NULL column that a delete does not bring is missing, not null data, and every format carries it.
func TestCase44_NotNullColumnOfADelete(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"json", "avro"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			s := newStand(t)
			shape := qlikwriter.Shape{Table: "parcel", Key: []string{"id"}, Columns: []string{"id int NOT NULL", "remark CLOB NOT NULL", "size int NOT NULL"}}
			s.db.Create(t, shape)
			s.addTo(shape, "D", 1, "t1", 1, nil, nil)
			changes := set{}
			if format == "avro" {
				changes = s.avro()
			}
			s.start(changes)
			m := s.read(1, "parcel")[0]
			var message tree
			if format == "avro" {
				message = s.decodeRegistered(m.Value)
			} else {
				message = inner(decodeJSON(t, m.Value))
			}
			want(t, []string{line(message)}, "DELETE 1 +(id=1 remark=null size=null) -null 01/01 #1 last")
		})
	}
}

// Complaint: key updates leaving the old key alive (case 75). The old key gets a DELETE before the new one gets its INSERT.
func TestCase75_OldKeyIsDeleted(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.create("parcel")
	s.add("parcel", "I", 30, "t0", 5, "a", nil)
	s.add("parcel", "B", 31, "t1", 5, "a", nil)
	s.add("parcel", "U", 31, "t1", 6, "b", nil)
	s.start(set{"qlik.key_change": "delete_insert", "kafka.topics.data.partitions": "4"})
	state := map[string]string{}
	for _, m := range s.read(3, "parcel") {
		state[string(m.Key)] = line(inner(decodeJSON(t, m.Value)))
	}
	if len(state) != 2 || !strings.HasPrefix(state["5"], "DELETE 31 ") || !strings.HasPrefix(state["6"], "INSERT 31 ") {
		t.Errorf("last message by key: %v", state)
	}
}

// Complaint: a key update that the source captured without before-image stays what it is: an UPDATE of the new key, nothing invented.
func TestKeyChangeWithoutBeforeImage(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.create("parcel")
	s.add("parcel", "U", 31, "t1", 6, "b", nil)
	s.start(set{"qlik.key_change": "delete_insert"})
	want(t, lines(t, s.read(1, "parcel")), "6 UPDATE 31 +(fee=null id=6 status=b) -null null/07 #1 last")
}

// Complaint (case 77): duplicates of every table after one table's reload.
func TestCase77_ReloadOfOneTableRepeatsNothing(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.create("parcel", "depot")
	for n := 1; n <= 10; n++ {
		s.add([]string{"parcel", "depot"}[n%2], "I", n, "t1", n, "x", nil)
	}
	r := s.start()
	s.read(5, "parcel")
	s.read(5, "depot")
	s.db.Exec(t, "DROP TABLE parcel__ct") // the reload makes the change table anew
	r.says("table stopped")
	s.add("depot", "I", 11, "t2", 11, "x", nil)
	s.read(6, "depot")
	again := qlikwriter.Parcel("parcel")
	again.NoBase = true
	s.db.Create(t, again)
	s.add("parcel", "I", 12, "t3", 12, "x", nil)
	s.read(6, "parcel")
	r.drain()
	want(t, keysOf(s.all(s.task+".parcel")), "2", "4", "6", "8", "10", "12")
	want(t, keysOf(s.all(s.task+".depot")), "1", "3", "5", "7", "9", "11")
}

// Complaint: a last flag that never comes because the table of the last event is not streamed (case 19: nor because nothing follows).
func TestComplaint_LastFlagWhenTheLastTableIsFilteredOut(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.create("parcel", "audit")
	s.add("audit", "I", 1, "t1", 1, "x", nil)
	s.add("parcel", "I", 2, "t1", 1, "a", nil)
	s.add("audit", "I", 3, "t1", 2, "x", nil)
	s.add("parcel", "I", 4, "t1", 2, "b", nil)
	s.add("audit", "I", 5, "t1", 3, "x", nil)
	s.start(set{"source.tables": `["*", "!audit"]`})
	want(t, lines(t, s.read(2, "parcel")),
		"1 INSERT 2 +(fee=null id=1 status=a) -null null/07 #1", "2 INSERT 4 +(fee=null id=2 status=b) -null null/07 #2 last")
}

// Case 8: sequences sort as texts in the order of events, two updates of one row in one transaction included.
func TestCase08_SequencesSortAsTexts(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.create("parcel")
	for n := 8; n <= 11; n++ {
		s.add("parcel", "U", n, "t1", 9, fmt.Sprint("s", n), nil)
	}
	s.start()
	previous := ""
	for _, m := range s.read(4, "parcel") {
		seq := inner(decodeJSON(t, m.Value))["headers"].(tree)["changeSequence"].(string)
		if seq <= previous || len(seq) != 35 {
			t.Errorf("sequence %q after %q", seq, previous)
		}
		previous = seq
	}
}

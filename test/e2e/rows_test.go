package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ctbridge/test/qlikwriter"
)

// Header columns that users leave out: what is not known is null or empty, never invented.
func TestHeaderColumnsMissing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		headers []string
		want    [2]string // headers of the INSERT and of the UPDATE
	}{
		"all": {nil, [2]string{
			`"timestamp":"2023-09-11T03:23:25.000","streamPosition":"pos:20230911032325000000000000000000001","transactionId":"t1","changeMask":"07","columnMask":"07","transactionEventCounter":1,"transactionLastEvent":false`,
			`"timestamp":"2023-09-11T03:23:25.000","streamPosition":"pos:20230911032325000000000000000000002","transactionId":"t1","changeMask":"02","columnMask":"07","transactionEventCounter":2,"transactionLastEvent":true`}},
		"three": {[]string{"change_seq", "change_oper", "timestamp"}, [2]string{
			`"timestamp":"2023-09-11T03:23:25.000","streamPosition":"","transactionId":"","changeMask":null,"columnMask":"07","transactionEventCounter":null,"transactionLastEvent":null`,
			`"timestamp":"2023-09-11T03:23:25.000","streamPosition":"","transactionId":"","changeMask":"02","columnMask":"07","transactionEventCounter":null,"transactionLastEvent":null`}},
		"least": {[]string{"change_seq", "operation"}, [2]string{
			`"timestamp":"","streamPosition":"","transactionId":"","changeMask":null,"columnMask":"07","transactionEventCounter":null,"transactionLastEvent":null`,
			`"timestamp":"","streamPosition":"","transactionId":"","changeMask":"02","columnMask":"07","transactionEventCounter":null,"transactionLastEvent":null`}},
		"other order": {[]string{"transaction_id", "change_mask", "operation", "change_seq"}, [2]string{
			`"timestamp":"","streamPosition":"","transactionId":"t1","changeMask":"07","columnMask":"07","transactionEventCounter":1,"transactionLastEvent":false`,
			`"timestamp":"","streamPosition":"","transactionId":"t1","changeMask":"02","columnMask":"07","transactionEventCounter":2,"transactionLastEvent":true`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStand(t)
			shape := qlikwriter.Parcel("parcel")
			shape.Headers = c.headers
			s.db.Create(t, shape)
			offset := 7
			if c.headers != nil {
				offset = len(c.headers)
			}
			oper := map[string]string{"I": "I", "B": "B", "U": "U"}
			if c.headers != nil && !strings.Contains(strings.Join(c.headers, " "), "change_oper") {
				oper = map[string]string{"I": "INSERT", "B": "BEFOREIMAGE", "U": "UPDATE"}
			}
			for _, r := range []qlikwriter.Row{
				{Seq: qlikwriter.Seq(1), Oper: oper["I"], Mask: tableMask(msb, offset, 1, 2, 3), Values: []any{1, "a", nil}},
				{Seq: qlikwriter.Seq(2), Oper: oper["B"], Mask: []byte{}, Values: []any{1, "a", nil}},
				{Seq: qlikwriter.Seq(2), Oper: oper["U"], Mask: tableMask(msb, offset, 2), Values: []any{1, "b", nil}},
			} {
				r.Tx = "t1"
				s.db.Add(t, s.db.DB, shape, r)
			}
			s.start(set{"qlik.envelope": "false"})
			got := s.read(2, "parcel")
			for i := range c.want {
				if !strings.Contains(string(got[i].Value), c.want[i]) {
					t.Errorf("no %s in\n%s", c.want[i], got[i].Value)
				}
			}
		})
	}
}

// The byte orders of change-table masks.
const (
	lsb = iota // byte 0 holds bits 7..0, trailing zero bytes left out
	msb        // one number, most significant byte first, leading zero bytes left out
)

// tableMask marks data columns (from 1) behind a number of header columns.
func tableMask(order, headers int, columns ...int) []byte {
	var bytes []byte
	for _, c := range columns {
		bit := headers + c - 1
		for len(bytes) <= bit/8 {
			bytes = append(bytes, 0)
		}
		bytes[bit/8] |= 1 << (bit % 8)
	}
	if order == msb {
		for i, j := 0, len(bytes)-1; i < j; i, j = i+1, j-1 {
			bytes[i], bytes[j] = bytes[j], bytes[i]
		}
	}
	return bytes
}

// Case 42: a TRUNCATE has no message. Skipping it is counted and logged; by the other policy the table stops, with all rows before it out.
func TestCase42_TruncatePolicies(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"skip", "fail"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			s := newStand(t)
			s.create("parcel", "depot")
			s.add("parcel", "I", 1, "t1", 1, "a", nil)
			s.add("parcel", "TRUNCATE", 2, "t2", nil, nil, nil)
			s.add("parcel", "I", 3, "t3", 2, "b", nil)
			s.add("depot", "I", 4, "t4", 9, "d", nil)
			r := s.start(set{"source.qlik.truncate": policy})
			s.read(1, "depot")
			want(t, lines(t, s.read(1, "parcel")), "1 INSERT 1 +(fee=null id=1 status=a) -null null/07 #1 last")
			if policy == "fail" {
				r.says("source.qlik.truncate: skip", qlikwriter.Seq(2))
				r.drain()
				if n := len(s.all(s.task + ".parcel")); n != 1 {
					t.Errorf("%d messages of the stopped table, want 1", n)
				}
				return
			}
			want(t, lines(t, s.read(2, "parcel")[1:]), "2 INSERT 3 +(fee=null id=2 status=b) -null null/07 #1 last")
			if n := r.metric(`ctbridge_dropped_rows_total{reason="truncate",table="parcel"}`); n != 1 {
				t.Errorf("%v dropped rows counted, want 1", n)
			}
			r.says("row left out", "reason=truncate")
		})
	}
}

// Case 11: a row that becomes visible below published ones is published late and counted, also when that happens while nobody runs.
func TestCase11_LateRows(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.create("parcel", "depot")
	s.add("parcel", "I", 2, "t2", 2, "x", nil)
	s.add("parcel", "I", 4, "t4", 4, "x", nil)
	r := s.start()
	s.read(2, "parcel")
	s.add("parcel", "I", 3, "t3", 3, "late", nil)
	s.read(3, "parcel")
	eventually(t, func() bool { return r.metric(`ctbridge_late_rows_total{table="parcel"}`) == 1 }, "a late row to be counted")
	r.drain()
	s.add("parcel", "I", 1, "t1", 1, "late", nil) // below everything that was ever published
	s.add("depot", "I", 3, "t3", 9, "other", nil)
	r = s.start()
	s.read(1, "depot")
	want(t, keysOf(s.read(4, "parcel")), "2", "4", "3", "1")
	s.add("parcel", "I", 5, "t5", 5, "x", nil)
	want(t, keysOf(s.read(5, "parcel")[4:]), "5")
	eventually(t, func() bool {
		return r.metric(`ctbridge_late_rows_total{table="parcel"}`) == 1 && r.metric(`ctbridge_late_rows_total{table="depot"}`) == 1
	}, "late rows to be counted")
	r.says("row published late", "widen source.horizon.settle")
}

// Patterns, exclusions, exact names; a table that is excluded leaves nothing behind.
func TestTablePatterns(t *testing.T) {
	t.Parallel()
	all := []string{"parcel", "parcel_old", "depot", "audit", "a.b", "50*"}
	for patterns, chosen := range map[string][]string{
		`["*"]`:                               all,
		`["parcel*", "!*_old"]`:               {"parcel"},
		`["*", "!audit", "!depot"]`:           {"parcel", "parcel_old", "a.b", "50*"},
		`["\"a.b\"", "depot"]`:                {"depot", "a.b"},
		`["[50*]"]`:                           {"50*"},
		`["*o*", "!\"a.b\"", "!parcel_old*"]`: {"depot"},
	} {
		t.Run(patterns, func(t *testing.T) {
			t.Parallel()
			s := newStand(t)
			s.create(all...)
			for i, table := range all {
				s.add(table, "I", i+1, "t1", 1, table, nil)
			}
			r := s.start(set{"source.tables": patterns, "kafka.topic": "everything"})
			got := map[string]bool{}
			for _, m := range s.readTopics(len(chosen), "everything") {
				got[inner(decodeJSON(t, m.Value))["data"].(tree)["status"].(string)] = true
			}
			for _, table := range chosen {
				if !got[table] {
					t.Errorf("%s is missing in %v", table, got)
				}
			}
			r.drain()
			if n := len(s.all("everything")); n != len(chosen) {
				t.Errorf("%d messages, want %d", n, len(chosen))
			}
		})
	}
}

// A table that is named exactly and not there is told; the others go on, and it joins when it appears.
func TestExactTableThatIsNotThere(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.create("parcel")
	s.add("parcel", "I", 1, "t1", 1, "a", nil)
	r := s.start(set{"source.tables": `[parcel, later]`})
	s.read(1, "parcel")
	r.says("change table later__ct not found", "source.qlik.suffix")
	if body, status := fetch(t, "http://"+r.MetricsAddr()+"/readyz"); status != 200 || !strings.Contains(string(body), `"later"`) {
		t.Errorf("/readyz %d %s", status, body)
	}
	s.create("later")
	s.add("later", "I", 2, "t2", 1, "b", nil)
	s.read(1, "later")
	eventually(t, func() bool { return r.metric(`ctbridge_table_state{state="streaming",table="later"}`) == 1 }, "the table to stream")
}

// Prefix, suffix and columns that are no data.
func TestCase42_PrefixSuffixAndIgnoredColumns(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	shape := qlikwriter.Shape{Table: "parcel", Key: []string{"id"}, Columns: []string{"id int NOT NULL", "load_date varchar(20)", "status varchar(20)"}, Prefix: "h_", Suffix: "_chg"}
	s.db.Create(t, shape)
	s.db.Add(t, s.db.DB, shape, qlikwriter.Row{Seq: qlikwriter.Seq(1), Oper: "I", Tx: "t1", Mask: tableMask(msb, 7, 1, 3), Values: []any{1, "2031", "a"}})
	s.start(set{"source.qlik.prefix": "h_", "source.qlik.suffix": "_chg", "source.qlik.ignore_columns": "[load_date]"})
	want(t, lines(t, s.read(1, "parcel")), "1 INSERT 1 +(id=1 status=a) -null 03/03 #1 last")
}

// Rows are held back for settle, so that a row that appears below them in that time is not late.
func TestSettle(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.create("parcel", "depot")
	r := s.start(set{"source.horizon.policy": "settle", "source.horizon.settle": "400ms"})
	r.says("msg=started")
	begin := time.Now()
	s.add("parcel", "I", 2, "t1", 2, "x", nil)
	s.add("depot", "I", 1, "t1", 1, "x", nil)
	got := s.read(1, "depot")
	if waited := time.Since(begin); waited < 400*time.Millisecond {
		t.Errorf("the row was published after %s", waited)
	}
	want(t, lines(t, got), "1 INSERT 1 +(fee=null id=1 status=x) -null null/07 #1")
	want(t, lines(t, s.read(1, "parcel")), "2 INSERT 2 +(fee=null id=2 status=x) -null null/07 #2 last")
	if late := fmt.Sprint(r.metric(`ctbridge_late_rows_total{table="depot"}`)); late != "0" {
		t.Errorf("%s late rows", late)
	}
}

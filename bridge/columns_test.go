package bridge_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"ctbridge/bridge"
	"ctbridge/bridge/change"
	"ctbridge/bridge/values"
	"ctbridge/test/qlikwriter"
)

// named is a pattern for one column.
type named string

func (n named) Match(column string) bool { return string(n) == column }
func (n named) Exact() (string, bool)    { return string(n), true }
func (n named) String() string           { return string(n) }

const testSalt = "a salt that nobody sees"

// rules sets the rules of columns.
func (w *world) rules(rules ...values.Rule) {
	w.Helper()
	for i := range rules {
		rules[i].Name = fmt.Sprintf("columns.rules[%d]", i)
	}
	r, err := values.New(rules, []byte(testSalt))
	if err != nil {
		w.Fatal(err)
	}
	w.options.Values = r
}

func hashed(text string) string {
	mac := hmac.New(sha256.New, []byte(testSalt))
	mac.Write([]byte(text))
	return hex.EncodeToString(mac.Sum(nil))
}

// Rows, before-images, loaded rows and keys are told as the rules want; what was cut is told in a header; the salt is in no checkpoint.
func TestColumnsAreToldAsTheRulesWant(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.rules(values.Rule{Hash: []values.Pattern{named("id")}, Exclude: []values.Pattern{named("fee")}, Truncate: []values.Truncation{{Columns: named("status"), Length: 2}}, AllowKey: true})
	w.options.Load.Mode = bridge.LoadInitial
	w.create("parcel")
	w.writer.Exec(t, "INSERT INTO parcel VALUES (7, 'whole', 1.5)")
	stop := w.start()
	w.ledger.wait(t, "the load", count(1))
	w.add("parcel", "I", 1, "t1", 8, "new")
	w.add("parcel", "B", 2, "t1", 8, "new")
	w.add("parcel", "U", 2, "t1", 8, "ok")
	got := w.ledger.wait(t, "three records", count(3))
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	seven, eight := hashed("7"), hashed("8")
	w.want(got,
		"parcel "+seven+" REFRESH +("+seven+",wh) #0 false v1 ctbridge.truncated.status=5", "parcel "+eight+" 1 INSERT +("+eight+",ne) #1 false v1 ctbridge.truncated.status=3",
		"parcel "+eight+" 2 UPDATE -("+eight+",ne) +("+eight+",ok) #2 true v1 ctbridge.truncated_before.status=3")
	for key, value := range w.ledger.entries {
		if strings.Contains(string(value), "salt") {
			t.Errorf("entry %s: %s", key, value)
		}
	}
}

// A rule that would take the key away, or names a column that is not there, stops its table before anything of it is published; the error says which.
func TestRefusedRulesStopTheirTableAlone(t *testing.T) {
	t.Parallel()
	for want, rule := range map[string]values.Rule{
		`column "id" is in the key of parcel`: {Exclude: []values.Pattern{named("id")}},
		`no column "stat"`:                    {Hash: []values.Pattern{named("stat")}, Exact: func(change.TableID) bool { return true }},
	} {
		w := newWorld(t)
		rule.Tables = func(id change.TableID) bool { return id.Name == "parcel" }
		if rule.Exact != nil {
			rule.Exact = rule.Tables
		}
		w.rules(rule)
		w.create("parcel", "depot")
		w.add("parcel", "I", 1, "t1", 1, "a")
		w.add("depot", "I", 2, "t2", 2, "b")
		w.start()
		w.want(w.ledger.wait(t, "the other table's record", count(1)), "depot 2 2 INSERT +(2,b,null) #1 true v1")
		if err := w.observed.waitState(t, "parcel", bridge.TableFailed); !strings.Contains(err, want) || !strings.Contains(err, "columns.rules[0]") {
			t.Errorf("error %q, want %q", err, want)
		}
	}
}

// Rules that make other columns of a table make a new version of it, whose metadata is announced; rules that only make other values do not.
func TestRulesChangeTheVersion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.output().MetadataTopic = "meta"
	w.create("parcel")
	run := func(n, records int) []string {
		w.add("parcel", "I", n, "t"+fmt.Sprint(n), n, "abcdef")
		stop := w.start()
		got := w.ledger.wait(t, "records", count(records))
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		return got
	}
	run(1, 2)
	w.rules(values.Rule{Exclude: []values.Pattern{named("fee")}, Constant: []values.Constant{{Columns: named("status"), Text: "***"}}})
	run(2, 4)
	w.rules(values.Rule{Exclude: []values.Pattern{named("fee")}, Constant: []values.Constant{{Columns: named("status"), Text: "---"}}})
	run(3, 5)
	w.options.Values = nil
	got := run(4, 7)
	w.want(got,
		"meta parcel metadata v1", "parcel 1 1 INSERT +(1,abcdef,null) #1 true v1",
		"meta parcel metadata v2", "parcel 2 2 INSERT +(2,***) #1 true v2", "parcel 3 3 INSERT +(3,---) #1 true v2",
		"meta parcel metadata v3", "parcel 4 4 INSERT +(4,abcdef,null) #1 true v3")
}

// An update of columns that are not published is told all the same, or left out where the user wants that; then counters and last flags are as if
// it had never been.
func TestUnchangedUpdates(t *testing.T) {
	t.Parallel()
	for _, drop := range []bool{false, true} {
		w := newWorld(t)
		w.rules(values.Rule{Exclude: []values.Pattern{named("fee")}})
		w.options.Values.DropUnchanged = drop
		w.create("parcel")
		w.add("parcel", "I", 1, "t1", 1, "a")
		w.writer.Add(t, w.writer.DB, qlikwriter.Parcel("parcel"),
			qlikwriter.Row{Seq: qlikwriter.Seq(2), Oper: "B", Tx: "t1", Values: []any{1, "a", nil}}, qlikwriter.Row{Seq: qlikwriter.Seq(2), Oper: "U", Tx: "t1", Values: []any{1, "a", "2.50"}},
			qlikwriter.Row{Seq: qlikwriter.Seq(3), Oper: "B", Tx: "t1", Values: []any{1, "a", "2.50"}}, qlikwriter.Row{Seq: qlikwriter.Seq(3), Oper: "U", Tx: "t1", Values: []any{1, "b", nil}},
			qlikwriter.Row{Seq: qlikwriter.Seq(4), Oper: "B", Tx: "t1", Values: []any{1, "b", nil}}, qlikwriter.Row{Seq: qlikwriter.Seq(4), Oper: "U", Tx: "t1", Values: []any{1, "b", "9.00"}})
		w.add("parcel", "D", 5, "t2", 1, "b")
		want := []string{"parcel 1 1 INSERT +(1,a) #1 false v1", "parcel 1 2 UPDATE -(1,a) +(1,a) #2 false v1", "parcel 1 3 UPDATE -(1,a) +(1,b) #3 false v1",
			"parcel 1 4 UPDATE -(1,b) +(1,b) #4 true v1", "parcel 1 5 DELETE -(1,b) #1 true v1"}
		if drop {
			want = []string{"parcel 1 1 INSERT +(1,a) #1 false v1", "parcel 1 3 UPDATE -(1,a) +(1,b) #2 true v1", "parcel 1 5 DELETE -(1,b) #1 true v1"}
		}
		stop := w.start()
		got := w.ledger.wait(t, "records", count(len(want)))
		w.polls(5) // the look-back knows what was left out
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		w.want(got, want...)
		if n := w.observed.dropped[bridge.DroppedUnchanged]; drop && n != 2 || !drop && n != 0 || w.observed.late != 0 {
			t.Errorf("left out %d, late %d", n, w.observed.late)
		}
	}
}

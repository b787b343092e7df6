package e2e

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"ctbridge/test/qlikwriter"
)

// trouble is one table that cannot go on.
type trouble struct {
	prepare func(s *stand) // makes the table "bad", with rows 1 (good), 2 (bad), 3 (good) where it has any
	before  int            // rows of it that are published all the same
	says    []string       // what the log says of it
	class   string         // of the error, as metrics label it
	mend    func(s *stand) // nil where only another configuration helps
}

func (s *stand) badRows(shape qlikwriter.Shape, good, bad []any) {
	s.Helper()
	s.db.Create(s, shape)
	s.addTo(shape, "I", 1, "t1", append([]any{1}, good...)...)
	s.addTo(shape, "I", 2, "t2", append([]any{2}, bad...)...)
	s.addTo(shape, "I", 3, "t3", append([]any{3}, good...)...)
}

func oneColumn(ddl string) qlikwriter.Shape {
	return qlikwriter.Shape{Table: "bad", Key: []string{"id"}, Columns: []string{"id int NOT NULL", ddl}}
}

func (s *stand) badTable(headers ...string) {
	s.Helper()
	shape := qlikwriter.Parcel("bad")
	shape.Headers, shape.NoIndex = headers, true
	s.db.Create(s, shape)
}

func sqlOf(text string) func(*stand) { return func(s *stand) { s.Helper(); s.db.Exec(s, "%s", text) } }

// troubles by name: structure that cannot be read, rows that cannot be ordered, values that do not fit.
var troubles = map[string]trouble{
	"no change_seq": {
		prepare: func(s *stand) { s.badTable("change_oper", "timestamp") }, class: "table",
		says: []string{"change table bad__ct has no column header__change_seq: its rows cannot be ordered", "Store Changes settings", "source.qlik.prefix"},
	},
	"no operation": {
		prepare: func(s *stand) { s.badTable("change_seq", "timestamp") }, class: "table",
		says: []string{"bad__ct has neither header__change_oper nor header__operation", "Store Changes settings"},
	},
	"null change_seq": {
		prepare: func(s *stand) {
			s.badTable()
			s.addTo(qlikwriter.Parcel("bad"), "I", 1, "t1", 1, "a", nil)
			s.db.Exec(s, "INSERT INTO bad__ct (header__change_oper, id, status) VALUES ('I', 2, 'b')")
		},
		class: "table", says: []string{"bad__ct", "no change sequence (NULL)", "repair or delete the row"},
		mend: func(s *stand) {
			s.db.Exec(s, "UPDATE bad__ct SET header__change_seq = '%s' WHERE id = 2", qlikwriter.Seq(2))
			s.addTo(qlikwriter.Parcel("bad"), "I", 3, "t3", 3, "c", nil)
		},
	},
	"short change_seq": {
		prepare: func(s *stand) {
			s.badRows(qlikwriter.Parcel("bad"), []any{"a", nil}, []any{"b", nil})
			s.db.Exec(s, "UPDATE bad__ct SET header__change_seq = '99' WHERE id = 3")
		},
		class: "table", says: []string{"bad__ct", "has 2 characters, not 35", "repair or delete the row"},
		mend: func(s *stand) {
			s.db.Exec(s, "UPDATE bad__ct SET header__change_seq = '%s' WHERE id = 3", qlikwriter.Seq(3))
		},
	},
	"unknown operation": {
		prepare: func(s *stand) {
			s.badRows(qlikwriter.Parcel("bad"), []any{"a", nil}, []any{"b", nil})
			s.db.Exec(s, "UPDATE bad__ct SET header__change_oper = 'X' WHERE id = 2")
		},
		before: 1, class: "poison", says: []string{"bad__ct", qlikwriter.Seq(2), `change_oper is "X", not I, U, D or B`},
		mend: sqlOf("UPDATE bad__ct SET header__change_oper = 'I' WHERE id = 2"),
	},
	"before-image without update": {
		prepare: func(s *stand) {
			s.badRows(qlikwriter.Parcel("bad"), []any{"a", nil}, []any{"b", nil})
			s.db.Exec(s, "UPDATE bad__ct SET header__change_oper = 'B', header__operation = 'BEFOREIMAGE' WHERE id = 2")
		},
		before: 1, class: "poison", says: []string{"bad__ct", qlikwriter.Seq(2), "before-image without update", "source.qlik.orphan_before_image: skip"},
		mend: sqlOf("UPDATE bad__ct SET header__change_oper = 'I', header__operation = 'INSERT' WHERE id = 2"),
	},
	"unsupported type": {
		prepare: func(s *stand) { s.db.Create(s, oneColumn("spot GEOMETRY")) }, class: "table",
		says: []string{`column "spot" of bad__ct has type GEOMETRY, which cannot be carried`, "source.qlik.ignore_columns"},
	},
	"text in a decimal": {
		prepare: func(s *stand) { s.badRows(oneColumn("fee decimal(10,2)"), []any{"1.50"}, []any{"n/a"}) },
		before:  1, class: "poison", says: []string{"repair the row in the change table", "source.qlik.ignore_columns", "bad__ct", qlikwriter.Seq(2), `column "fee": value "n/a" of type decimal(10,2)`},
		mend: sqlOf("UPDATE bad__ct SET fee = '2.50' WHERE id = 2"),
	},
	"too many digits": {
		prepare: func(s *stand) { s.badRows(oneColumn("fee decimal(10,2)"), []any{"1.50"}, []any{"1.505"}) },
		before:  1, class: "poison", says: []string{"bad__ct", qlikwriter.Seq(2), `"fee"`, "1.505"},
		mend: sqlOf("UPDATE bad__ct SET fee = '1.5' WHERE id = 2"),
	},
	"integer too large": {
		prepare: func(s *stand) { s.badRows(oneColumn("n smallint"), []any{1}, []any{40000}) },
		before:  1, class: "poison", says: []string{"bad__ct", qlikwriter.Seq(2), `"n"`, "40000"},
		mend: sqlOf("UPDATE bad__ct SET n = 4 WHERE id = 2"),
	},
	"not a number": {
		prepare: func(s *stand) { s.badRows(oneColumn("x double"), []any{1.5}, []any{math.Inf(1)}) },
		before:  1, class: "poison", says: []string{"table bad", qlikwriter.Seq(2), "message.data.x: JSON has no number +Inf"},
		mend: sqlOf("UPDATE bad__ct SET x = 4 WHERE id = 2"),
	},
	"no date": {
		prepare: func(s *stand) { s.badRows(oneColumn("day date"), []any{"2031-05-10"}, []any{"2031-02-30"}) },
		before:  1, class: "poison", says: []string{"bad__ct", qlikwriter.Seq(2), `"day"`, "2031-02-30"},
		mend: sqlOf("UPDATE bad__ct SET day = '2031-02-28' WHERE id = 2"),
	},
	"bytes in a text": {
		prepare: func(s *stand) { s.badRows(oneColumn("txt varchar(20)"), []any{"a"}, []any{[]byte{0xff, 0xfe}}) },
		before:  1, class: "poison", says: []string{"bad__ct", qlikwriter.Seq(2), `"txt"`, "blob"},
		mend: sqlOf("UPDATE bad__ct SET txt = 'b' WHERE id = 2"),
	},
	"key not captured": {
		prepare: func(s *stand) {
			s.badRows(qlikwriter.Parcel("bad"), []any{"a", nil}, []any{"b", nil})
			s.db.Exec(s, "UPDATE bad__ct SET id = NULL WHERE id = 2")
		},
		before: 1, class: "poison", says: []string{"bad", qlikwriter.Seq(2), `column "id"`, "was not captured", "capture the key columns"},
		mend: sqlOf("UPDATE bad__ct SET id = 2 WHERE id IS NULL"),
	},
	"mask of a header": {
		prepare: func(s *stand) {
			s.badRows(qlikwriter.Parcel("bad"), []any{"a", nil}, []any{"b", nil})
			s.db.Exec(s, "UPDATE bad__ct SET header__change_mask = x'0380' WHERE id = 1")
			s.db.Exec(s, "UPDATE bad__ct SET header__change_mask = x'01' WHERE id = 2")
		},
		before: 1, class: "poison", says: []string{"bad__ct", qlikwriter.Seq(2), "change mask 01 marks bit 0, which is a header column", "source.qlik.mask_byte_order"},
		mend: sqlOf("UPDATE bad__ct SET header__change_mask = x'0380' WHERE id = 2"),
	},
	"mask beyond the columns": {
		prepare: func(s *stand) {
			s.badRows(qlikwriter.Parcel("bad"), []any{"a", nil}, []any{"b", nil})
			s.db.Exec(s, "UPDATE bad__ct SET header__change_mask = x'0380' WHERE id = 1")
			s.db.Exec(s, "UPDATE bad__ct SET header__change_mask = x'800380' WHERE id = 2")
		},
		before: 1, class: "poison", says: []string{"bad__ct", qlikwriter.Seq(2), "change mask 800380 marks bit 23, but the change table has 10 columns"},
		mend: sqlOf("UPDATE bad__ct SET header__change_mask = x'000380' WHERE id = 2"),
	},
	"record too large": {
		prepare: func(s *stand) { s.badRows(oneColumn("txt text"), []any{"a"}, []any{strings.Repeat("x", 1<<20+1)}) },
		before:  1, class: "poison", says: []string{"table bad", qlikwriter.Seq(2), "more than kafka.max_message_bytes", "max.message.bytes"},
		mend: sqlOf("UPDATE bad__ct SET txt = 'b' WHERE id = 2"),
	},
}

// Each trouble: a clear error that names the place and how to mend it, the rows before it out, the other tables untouched, and after the
// mending nothing lost and nothing doubled (cases 42, 71, 91).
func TestCase91_BadTablesStopAlone(t *testing.T) {
	t.Parallel()
	for name, c := range troubles {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStand(t)
			c.prepare(s)
			s.create("good")
			s.add("good", "I", 2, "t9", 1, "x", nil)
			r := s.start()
			s.read(1, "good")
			r.says(append([]string{"table stopped", "table=bad"}, unquoted(c.says)...)...)
			s.add("good", "I", 9, "t9", 2, "y", nil)
			s.read(2, "good")
			if c.before > 0 {
				want(t, keysOf(s.read(c.before, "bad")), "1")
			}
			if state := r.metric(`ctbridge_table_state{state="failed",table="bad"}`); state != 1 {
				t.Errorf("the table's state is not failed")
			}
			checkTold(t, r, c)
			if c.mend != nil {
				c.mend(s)
				want(t, keysOf(s.read(3, "bad")), "1", "2", "3")
				eventually(t, func() bool { return r.metric(`ctbridge_table_state{state="streaming",table="bad"}`) == 1 }, "the table to stream again")
			}
			r.drain()
			want(t, keysOf(s.all(s.task+".good")), "1", "2")
		})
	}
}

// checkTold looks for the trouble in the metrics and in /readyz, which stays green.
func checkTold(t *testing.T, r *running, c trouble) {
	t.Helper()
	told := 0.0
	for _, stage := range []string{"discover", "poll", "render", "publish", "checkpoint"} {
		told += r.metric(fmt.Sprintf(`ctbridge_errors_total{class="%s",stage="%s"}`, c.class, stage))
	}
	if told == 0 {
		t.Errorf("no error of class %s is counted", c.class)
	}
	body, status := fetch(t, "http://"+r.MetricsAddr()+"/readyz")
	if status != 200 || !strings.Contains(string(body), `"bad"`) {
		t.Errorf("/readyz %d %s", status, body)
	}
}

// unquoted fits what is looked for to the quoting of the log.
func unquoted(parts []string) []string {
	out := make([]string, len(parts))
	for i, p := range parts {
		out[i] = strings.ReplaceAll(p, `"`, `\"`)
	}
	return out
}

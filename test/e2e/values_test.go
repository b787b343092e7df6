package e2e

import (
	"fmt"
	"testing"

	"ctbridge/test/qlikwriter"
)

// Case 50: as many digits of a second as the type declares, trailing zeros included, and the offset that was stored.
func TestCase50_DigitsThroughTheWholeLine(t *testing.T) {
	t.Parallel()
	shape := qlikwriter.Shape{Table: "moments", Key: []string{"id"}, Columns: []string{"id int NOT NULL", "zoned DATETIMEOFFSET(7)", "clock TIME(7)", "whole DATETIME(0)", "nano DATETIME(9)"}}
	rows := [][]any{
		{1, "2031-05-10 16:00:01.6048050 +03:00", "23:59:59.9999999", "2031-05-10 16:00:01", "2031-05-10 16:00:01.000000001"},
		{2, "2031-05-10 16:00:01.0000000 +05:45", "00:00:00.0000000", "2031-05-10 00:00:00", "2031-05-10 16:00:01.100000000"},
		{3, "0001-01-01 00:00:00 -14:00", "00:00:00", "9999-12-31 23:59:59", "1582-10-10 00:00:00"},
	}
	expected := []string{
		"(clock=23:59:59.9999999 id=1 nano=2031-05-10 16:00:01.000000001 whole=2031-05-10 16:00:01 zoned=2031-05-10 16:00:01.6048050 +03:00)",
		"(clock=00:00:00.0000000 id=2 nano=2031-05-10 16:00:01.100000000 whole=2031-05-10 00:00:00 zoned=2031-05-10 16:00:01.0000000 +05:45)",
		"(clock=00:00:00.0000000 id=3 nano=1582-10-10 00:00:00.000000000 whole=9999-12-31 23:59:59 zoned=0001-01-01 00:00:00.0000000 -14:00)",
	}
	for _, format := range []string{"json", "avro"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			s := newStand(t)
			s.db.Create(t, shape)
			for i, values := range rows {
				s.addTo(shape, "I", i+1, "t1", values...)
			}
			changes := set{}
			if format == "avro" {
				changes = s.avro()
			}
			s.start(changes)
			var got []string
			for _, m := range s.read(3, "moments") {
				if format == "avro" {
					got = append(got, row(s.decodeRegistered(m.Value)["data"]))
				} else {
					got = append(got, row(inner(decodeJSON(t, m.Value))["data"]))
				}
			}
			want(t, got, expected...)
		})
	}
}

// A seventh digit does not fit timestamp-micros and time-micros: with logical types such a row stops its table rather than lose it, and a
// zero there is no digit.
func TestCase50_SeventhDigitAndLogicalTypes(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	shape := qlikwriter.Shape{Table: "moments", Key: []string{"id"}, Columns: []string{"id int NOT NULL", "at DATETIME(7)"}}
	s.db.Create(t, shape)
	s.addTo(shape, "I", 1, "t1", 1, "2031-05-10 16:00:01.6048050")
	s.addTo(shape, "I", 2, "t1", 2, "2031-05-10 16:00:01.6048051")
	s.addTo(shape, "I", 3, "t1", 3, "2031-05-10 16:00:01.0000000")
	r := s.start(s.avro(), set{"qlik.logical_types": "true"})
	first := s.decodeRegistered(s.read(1, "moments")[0].Value)["data"].(tree)["at"]
	if fmt.Sprint(first) != "2031-05-10 16:00:01.604805 +0000 UTC" {
		t.Errorf("the first row is %v", first)
	}
	r.says("table stopped", "data.at", qlikwriter.Seq(2))
	r.drain()
	if n := len(s.all(s.task + ".moments")); n != 1 {
		t.Errorf("%d messages, want 1", n)
	}
	s.start(s.avro(), set{"schema_registry.compatibility": "NONE", "kafka.topic": `"{task}.text.{table}"`}) // as text it passes
	if got := s.decodeRegistered(s.readTopics(2, s.task+".text.moments")[0].Value)["data"].(tree)["at"]; got != "2031-05-10 16:00:01.6048051" {
		t.Errorf("the second row is %v", got)
	}
}

// Case 58: a column of a type that cannot be carried is left out by the setting that its error names; the others are as they were.
func TestCase58_LeaveTheColumnOut(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	shape := qlikwriter.Shape{Table: "parcel", Key: []string{"id"}, Columns: []string{"id int NOT NULL", "spot GEOMETRY", "status varchar(20)"}}
	s.db.Create(t, shape)
	s.db.Add(t, s.db.DB, shape, qlikwriter.Row{Seq: qlikwriter.Seq(1), Oper: "U", Tx: "t1", Mask: tableMask(msb, 7, 2, 3), Values: []any{1, []byte{1, 2}, "a"}})
	r := s.start()
	r.says("table stopped", "GEOMETRY", "source.qlik.ignore_columns")
	r.drain()
	s.start(set{"source.qlik.ignore_columns": "[spot]"})
	want(t, lines(t, s.read(1, "parcel")), "1 UPDATE 1 +(id=1 status=a) -null 02/03 #1 last")
}

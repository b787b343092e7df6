package sqlservercdc

import (
	"bytes"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ctbridge/bridge/change"
)

// Byte order of positions is the order of commit LSN, command id, sequence value and operation (cases 1, 2, 7), and nothing is lost in the text.
func TestCase07_PositionsSortAsKeys(t *testing.T) {
	t.Parallel()
	draw := rapid.Custom(func(t *rapid.T) key {
		ten := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 9, 10, 15, 16, 0x7f, 0x80, 0xff}), lsnBytes, lsnBytes)
		return key{
			lsn: ten.Draw(t, "lsn"), seq: ten.Draw(t, "seq"),
			cmd: rapid.OneOf(rapid.Int64Range(0, 20), rapid.Int64Range(0, 1<<31-1)).Draw(t, "cmd"), op: rapid.SampledFrom([]int64{1, 2, 4}).Draw(t, "op"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := draw.Draw(t, "a"), draw.Draw(t, "b")
		if rapid.Bool().Draw(t, "same lsn") {
			b.lsn = a.lsn
		}
		back, err := parse(a.position())
		if err != nil || compare(back, a) != 0 {
			t.Fatalf("%s read back as %+v, %v", a.position(), back, err)
		}
		if text, want := bytes.Compare([]byte(a.position()), []byte(b.position())), compare(a, b); text != want {
			t.Fatalf("%s and %s compare %d, want %d", a.position(), b.position(), text, want)
		}
		if p, lsn := a.position(), lsnText(a.lsn); startOf(lsn) >= p || p >= endOf(lsn) {
			t.Fatalf("%s lies outside of its LSN", p)
		}
	})
}

func compare(a, b key) int {
	for _, c := range []int{bytes.Compare(a.lsn, b.lsn), int(min(max(a.cmd-b.cmd, -1), 1)), bytes.Compare(a.seq, b.seq), int(min(max(a.op-b.op, -1), 1))} {
		if c != 0 {
			return c
		}
	}
	return 0
}

func TestPositionsOfOtherLayoutsAreRefused(t *testing.T) {
	t.Parallel()
	for _, p := range []change.Position{"a", "20230911032325000000000000000000005", endOf("00")[:3], "0ggggggggggggggggggg:00000001:00000000000000000000:1", "0x70"} {
		if _, err := parse(p); err == nil {
			t.Errorf("%q passes for a position", p)
		}
	}
}

// A wall clock and its moment agree, whatever the zone and the date; in a repeated hour the earlier moment is taken.
func TestCase51_WallClocks(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"UTC", "America/Chicago", "Europe/Berlin", "Asia/Kathmandu", "Australia/Lord_Howe", "America/St_Johns"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
		for at := begin; at < begin+366*86400; at += 600 {
			wall := at + offset(zone, at)
			got := utc(zone, change.DateTimeValue(wall, 7)).Num
			if got > at || got+offset(zone, got) != wall {
				t.Fatalf("%s: the clock of %d reads as %d", name, at, got)
			}
			if at-got > 3600 {
				t.Fatalf("%s: the clock of %d reads as %d, more than a repeated hour before", name, at, got)
			}
		}
	}
}

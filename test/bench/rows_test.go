package main

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
)

func rowsOf(t *testing.T, s shape) (list [][]any) {
	t.Helper()
	if err := s.each(func(row []any) error { list = append(list, slices.Clone(row)); return nil }); err != nil {
		t.Fatal(err)
	}
	if len(list) != s.changeRows() {
		t.Fatalf("%d rows, %d are announced", len(list), s.changeRows())
	}
	return list
}

func TestInserts(t *testing.T) {
	t.Parallel()
	s := shape{columns: standard(300), events: 5, transaction: 2, first: 3, step: 10}
	for i, row := range rowsOf(t, s) {
		n := 3 + 10*i
		head := []any{sequence(n), "I", []byte{0x80, 0xff, 0xff, 0x01}, "00000027:00000130:0001", "INSERT", fmt.Sprintf("%032d", (n-1)/2+1)}
		if !reflect.DeepEqual(row[:6], head) || row[7] != int64(n) {
			t.Errorf("row %d: %v", i, row)
		}
	}
}

// An update changes what its mask says, of the row of the event before it, and has its before-image in front, with the same sequence.
func TestUpdates(t *testing.T) {
	t.Parallel()
	s := shape{columns: standard(300), events: 101, updates: true}
	list := rowsOf(t, s)
	changes := 0
	for i := 0; i+2 < len(list); i += 3 {
		insert, before, after := list[i], list[i+1], list[i+2]
		if insert[1] != "I" || before[1] != "B" || after[1] != "U" || before[0] != after[0] || insert[0].(string) >= before[0].(string) {
			t.Fatalf("%v\n%v\n%v", insert, before, after)
		}
		if !reflect.DeepEqual(insert[7:], before[7:]) {
			t.Fatalf("before-image\n%v of\n%v", before, insert)
		}
		for c, column := range s.columns {
			marked := after[2].([]byte)[(7+c)/8]>>((7+c)%8)&1 == 1
			if marked != slices.Contains(changedByUpdate, column.name) || !marked && before[7+c] != after[7+c] {
				t.Errorf("column %s: marked %v, %v before, %v after", column.name, marked, before[7+c], after[7+c])
			}
			if marked && before[7+c] != after[7+c] {
				changes++
			}
		}
	}
	if changes < 50 {
		t.Errorf("50 updates change %d values", changes)
	}
}

// Widths are what they are called, and no text is longer than its column.
func TestWidths(t *testing.T) {
	t.Parallel()
	for _, width := range []int{300, 1400} {
		s := shape{columns: standard(width), events: 500}
		bytes := 0
		for _, row := range rowsOf(t, s) {
			for i, v := range row[7:] {
				if v == nil {
					continue
				}
				size := len(fmt.Sprint(v))
				bytes += size
				if limit := s.columns[i].size; limit > 0 && size > limit {
					t.Errorf("%s: %d of %d: %v", s.columns[i].name, size, limit, v)
				}
			}
		}
		if mean := bytes / 500; mean < width*95/100 || mean > width*105/100 {
			t.Errorf("rows of %d have %d bytes", width, mean)
		}
	}
}

func TestMany(t *testing.T) {
	t.Parallel()
	for _, count := range []int{5, 50, 500} {
		s := shape{columns: many(count), events: 3}
		names := map[string]bool{}
		for _, c := range s.columns {
			names[c.name] = true
		}
		if len(names) != count || len(rowsOf(t, s)[0]) != 7+count {
			t.Errorf("%d names of %d", len(names), count)
		}
	}
}

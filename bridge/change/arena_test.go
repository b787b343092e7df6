package change

import (
	"bytes"
	"testing"
)

func TestArena(t *testing.T) {
	t.Parallel()
	var a Arena
	var texts [][]byte
	var rows [][]Value
	for round := range 3 {
		for n := range 2000 {
			want := bytes.Repeat([]byte{byte(n)}, n%700)
			if n%500 == 0 {
				want = bytes.Repeat([]byte{byte(n)}, arenaBytes+n)
			}
			texts = append(texts, a.Copy(want))
			row := a.Values(1 + n%90)
			for i := range row {
				if row[i].Kind != KindNull || row[i].Raw != nil {
					t.Fatalf("round %d: a fresh value is %+v", round, row[i])
				}
				row[i] = TextValue(texts[len(texts)-1])
			}
			rows = append(rows, row)
		}
		for n, text := range texts {
			if len(text) > 0 && (text[0] != byte(n) || text[len(text)-1] != byte(n)) {
				t.Fatalf("round %d: text %d was overwritten", round, n)
			}
			if len(rows[n]) != 1+n%90 || cap(rows[n]) != len(rows[n]) {
				t.Fatalf("round %d: row %d has %d values, capacity %d", round, n, len(rows[n]), cap(rows[n]))
			}
		}
		if a.Size() < 2000*1000 {
			t.Fatalf("size %d", a.Size())
		}
		a.Release()
		if texts, rows = nil, nil; a.Size() != 0 {
			t.Fatalf("size %d after the release", a.Size())
		}
	}
}

// A page that follows a released one allocates nothing but what does not fit into chunks.
func TestArenaUsesChunksAgain(t *testing.T) {
	if overwrite {
		t.Skip("under the race detector pools forget at random")
	}
	var a Arena
	fill := func() {
		for range 5000 {
			a.Make(300)
			a.Values(26)
		}
		a.Release()
	}
	fill()
	if n := testing.AllocsPerRun(20, fill); n > 12 {
		t.Errorf("%v allocations for a page of 5000 rows", n)
	}
}

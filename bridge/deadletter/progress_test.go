package deadletter

import (
	"testing"

	"pgregory.net/rapid"
)

// Whatever the order in which letters are replayed: exactly they count as replayed, also after the progress was written and read.
func TestProgress(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p, err := ReadProgress("dead", nil)
		if err != nil {
			t.Fatal(err)
		}
		stored := map[string][]byte{"replayed/dead.other/0": []byte(`{"v":1,"ranges":[[0,9]]}`), "instance/x": []byte("{}")}
		want := map[[2]int64]bool{}
		for _, op := range rapid.SliceOfN(rapid.IntRange(0, 99), 0, 60).Draw(t, "offsets") {
			partition, offset := int32(op%3), int64(op/3)
			p.Add(partition, offset)
			want[[2]int64{int64(partition), offset}] = true
			if op%7 > 0 {
				continue
			}
			for key, value := range p.Entries() {
				stored[key] = value
			}
			if p, err = ReadProgress("dead", stored); err != nil {
				t.Fatal(err)
			}
		}
		for partition := range int32(4) {
			for offset := range int64(40) {
				if got := p.Has(partition, offset); got != want[[2]int64{int64(partition), offset}] {
					t.Fatalf("partition %d, offset %d: %v", partition, offset, got)
				}
			}
			for i, s := range p.done[partition] {
				if i > 0 && p.done[partition][i-1][1] >= s[0]-1 {
					t.Fatalf("more ranges than there need be: %v", p.done[partition])
				}
			}
		}
	})
	for _, value := range []string{`{"v":2}`, `x`} {
		if _, err := ReadProgress("dead", map[string][]byte{"replayed/dead/0": []byte(value)}); err == nil {
			t.Errorf("%s was read", value)
		}
	}
}

package sqlservercdc

import (
	"strings"
	"testing"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
)

// A position is parted and put together again as it was; nothing else is taken for one.
func FuzzPosition(f *testing.F) {
	for _, seed := range []string{"", "~", "0000002d000000a80003:00000001:0000002d000000a80002:2", "0000002d000000a80003:ffffffff:ffffffffffffffffffff:9",
		"0000002D000000A80003:00000001:0000002d000000a80002:4", "20230911032325000000000000000000002", "0000002d000000a80003:+0000001:0000002d000000a80002:2",
		"0000002d000000a80003:00000001:0000002d000000a80002:/~"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p := change.Position(text)
		k, err := parse(p)
		if err != nil || p == "" || p[0] > 'f' || len(p) != opAt+1 || p[opAt] < '0' || p[opAt] > '9' {
			return
		}
		if again := k.position(); string(again) != strings.ToLower(text) {
			t.Errorf("%q comes back as %q", text, again)
		}
	})
}

// What the layout remembers is understood and kept, or refused with a way to mend it.
func FuzzRecall(f *testing.F) {
	for _, seed := range []string{`{"v":1}`, `{"v":1,"read":{"0000002d000000a80003":["\"dbo\"\"orders\""]}}`, `{"v":2}`, "null", "lsb", `{"v":1,"read":{"x":["\"a"]}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, memory []byte) {
		l := &Layout{options: Options{Now: func() time.Time { return time.Unix(0, 0) }}}
		if err := l.Recall(memory); err != nil && (fault.ClassOf(err) != fault.Fatal || fault.HintOf(err) == "") {
			t.Error(err)
		}
	})
}

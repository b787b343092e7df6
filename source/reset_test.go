package source

import (
	"testing"

	"ctbridge/bridge/change"
)

// What the facts about a table's low end mean. The position is 30, its row has gone unless the case says otherwise.
func TestJudge(t *testing.T) {
	t.Parallel()
	remade := Progress{After: "30", Identity: "a", Captured: &Captured{Identity: "b"}}
	same := Progress{After: "30", Identity: "a", Captured: &Captured{Identity: "a"}}
	seenPurged := same
	seenPurged.Purged = true
	for name, c := range map[string]struct {
		t                      Progress
		newest, oldest, unread change.Position
		has, away, came        bool
		want                   *Reset
	}{
		"the row is there":                          {t: same, newest: "50", oldest: "10", has: true, away: true},
		"the row had gone and is there again":       {t: same, newest: "50", oldest: "10", has: true, came: true, want: &Reset{Kind: ResetRewound, From: "10", To: "30"}},
		"empty, all published":                      {t: same, away: true},
		"empty, a row was seen":                     {t: same, unread: "40", want: &Reset{Kind: ResetPurged, From: "30", To: "40"}},
		"empty, only published ones were seen":      {t: same, unread: "30", away: true},
		"went back":                                 {t: same, newest: "20", oldest: "10", want: &Reset{Kind: ResetRewound, From: "20", To: "30"}},
		"went back and grew":                        {t: same, newest: "60", oldest: "10", away: true, want: &Reset{Kind: ResetRewound, From: "10", To: "30"}},
		"made again with higher sequences":          {t: remade, newest: "60", oldest: "40", away: true},
		"made again, empty":                         {t: remade, away: true},
		"made again with lower sequences":           {t: remade, newest: "60", oldest: "10", want: &Reset{Kind: ResetRewound, From: "10", To: "30"}},
		"made again, a row was seen":                {t: remade, newest: "60", oldest: "50", unread: "40", want: &Reset{Kind: ResetPurged, From: "30", To: "50"}},
		"a copy of the table":                       {t: remade, newest: "60", oldest: "10", has: true},
		"purged while nobody looked":                {t: same, newest: "60", oldest: "40", away: true, want: &Reset{Kind: ResetPurged, From: "30", To: "40"}},
		"purged under the reader's eyes":            {t: same, newest: "60", oldest: "40"},
		"purged before, new rows while away":        {t: seenPurged, newest: "60", oldest: "40", away: true},
		"purged before, a row was seen and is gone": {t: seenPurged, newest: "60", oldest: "40", unread: "35", want: &Reset{Kind: ResetPurged, From: "30", To: "40"}},
		"a row was seen and is there":               {t: same, newest: "60", oldest: "40", unread: "40"},
		"the first row follows directly":            {t: same, newest: "60", oldest: "31", away: true},
	} {
		got := judge(c.t, facts{newest: c.newest, oldest: c.oldest, has: c.has, had: !c.came, unread: c.unread, away: c.away})
		if (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestFollows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b change.Position
		want bool
	}{{"1999", "2000", true}, {"1999", "2001", false}, {"9", "10", false}, {"99", "00", false}, {"1x9", "1y0", false}, {"10", "10", false}, {"", "", false}} {
		if follows(c.a, c.b) != c.want {
			t.Errorf("follows(%s, %s) is %v", c.a, c.b, !c.want)
		}
	}
}

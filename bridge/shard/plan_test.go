package shard_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"ctbridge/bridge/shard"
)

func TestPlan(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		members []shard.Member
		shards  int
		want    map[string][]int
	}{
		"one takes all":                            {[]shard.Member{{ID: "a"}}, 3, map[string][]int{"a": {0, 1, 2}}},
		"one shard, one works":                     {[]shard.Member{{ID: "b"}, {ID: "a"}}, 1, map[string][]int{"a": {0}, "b": nil}},
		"who works keeps it":                       {[]shard.Member{{ID: "a"}, {ID: "b", Generation: 3, Owned: []int{0}}}, 1, map[string][]int{"a": nil, "b": {0}}},
		"a new member waits for what it is to get": {[]shard.Member{{ID: "a", Generation: 1, Owned: []int{0, 1, 2, 3}}, {ID: "b"}}, 4, map[string][]int{"a": {0, 1}, "b": nil}},
		"then it gets it":                          {[]shard.Member{{ID: "a", Generation: 2, Owned: []int{0, 1}}, {ID: "b", Generation: 2}}, 4, map[string][]int{"a": {0, 1}, "b": {2, 3}}},
		"what is being stopped is not kept":        {[]shard.Member{{ID: "a", Generation: 2, Owned: []int{1, 2, 0}}, {ID: "b", Generation: 2, Owned: []int{3}}}, 4, map[string][]int{"a": {1, 2}, "b": {3}}},
		"the dead one's are free":                  {[]shard.Member{{ID: "b", Generation: 5, Owned: []int{2, 3}}}, 4, map[string][]int{"b": {0, 1, 2, 3}}},
		"of two the older generation stops":        {[]shard.Member{{ID: "a", Owned: []int{0}}, {ID: "b", Generation: 4, Owned: []int{0}}}, 1, map[string][]int{"a": nil, "b": {0}}},
		"more members than shards":                 {[]shard.Member{{ID: "a"}, {ID: "b"}, {ID: "c"}}, 2, map[string][]int{"a": {0}, "b": {1}, "c": nil}},
		"shards that are no more":                  {[]shard.Member{{ID: "a", Owned: []int{7, 0}}}, 2, map[string][]int{"a": {0, 1}}},
	} {
		if got := shard.Plan(c.members, c.shards); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// Whatever members believe that they own: nothing is given to one while another still runs it, and when all do what they are told, soon
// everything runs once, in equal shares, and nothing moves any more.
func TestPlanSettles(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "shards")
		members := make([]shard.Member, rapid.IntRange(1, 5).Draw(t, "members"))
		for i := range members {
			members[i] = shard.Member{ID: fmt.Sprint("m", i), Generation: int32(rapid.IntRange(0, 3).Draw(t, "generation"))}
			members[i].Owned = rapid.SliceOfNDistinct(rapid.IntRange(0, n), 0, n, func(s int) int { return s }).Draw(t, "owned")
		}
		for round := 0; ; round++ {
			plan := shard.Plan(members, n)
			checkSafe(t, members, plan)
			moved := false
			for i := range members {
				moved = moved || !reflect.DeepEqual(slices.Sorted(slices.Values(members[i].Owned)), plan[members[i].ID]) && len(members[i].Owned)+len(plan[members[i].ID]) > 0
				members[i].Owned, members[i].Generation = plan[members[i].ID], int32(10+round)
			}
			if !moved {
				checkShares(t, plan, n)
				return
			}
			if round > 3 {
				t.Fatalf("still moving: %v", plan)
			}
		}
	})
}

func checkSafe(t *rapid.T, members []shard.Member, plan map[string][]int) {
	given := make(map[int]string)
	for id, shards := range plan {
		for _, s := range shards {
			if other, twice := given[s]; twice {
				t.Fatalf("shard %d is given to %s and %s", s, id, other)
			}
			given[s] = id
		}
	}
	for s, id := range given {
		mine, theirs := false, false
		for _, m := range members {
			if slices.Contains(m.Owned, s) {
				mine, theirs = mine || m.ID == id, theirs || m.ID != id
			}
		}
		if theirs && !mine {
			t.Fatalf("shard %d goes to %s while another runs it: %v", s, id, members)
		}
	}
}

func checkShares(t *rapid.T, plan map[string][]int, n int) {
	all, least, most := 0, n, 0
	for _, shards := range plan {
		all, least, most = all+len(shards), min(least, len(shards)), max(most, len(shards))
	}
	if all != n || most-least > 1 {
		t.Fatalf("%d of %d shards run, %d to %d per member", all, n, least, most)
	}
}

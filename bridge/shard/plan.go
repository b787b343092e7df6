package shard

import (
	"cmp"
	"slices"
)

// Member is a replica as the one that plans sees it.
type Member struct {
	ID         string
	Generation int32 // of the group that gave it its shards; 0 = it took them before it was a member
	Owned      []int // those that it is to keep first, those that it is stopping last
}

// Plan says which of the shards 0..n-1 each member runs. Members keep what they run as far as the shares are equal; of the rest, a shard that
// somebody still runs is given to nobody: its owner stops it, joins again, and the next plan gives it away. Of two that run the same shard
// the older generation stops.
func Plan(members []Member, n int) map[string][]int {
	owners := ownersOf(members, n)
	plan, quota := make(map[string][]int, len(members)), quotas(members, owners, n)
	for _, m := range members {
		plan[m.ID] = nil
		for _, s := range m.Owned {
			if owners[s] == m.ID && len(plan[m.ID]) < quota[m.ID] && !slices.Contains(plan[m.ID], s) {
				plan[m.ID] = append(plan[m.ID], s)
			}
		}
	}
	ids := sortedIDs(members)
	for s := range n {
		if _, taken := owners[s]; !taken && len(ids) > 0 {
			freest := slices.MaxFunc(ids, func(a, b string) int {
				return cmp.Or(cmp.Compare(quota[a]-len(plan[a]), quota[b]-len(plan[b])), cmp.Compare(b, a))
			})
			plan[freest] = append(plan[freest], s)
		}
	}
	for _, shards := range plan {
		slices.Sort(shards)
	}
	return plan
}

// ownersOf gives the one member that may keep each shard that is run.
func ownersOf(members []Member, n int) map[int]string {
	owners, generation := make(map[int]string), make(map[int]int32)
	for _, m := range members {
		for _, s := range m.Owned {
			if s < 0 || s >= n {
				continue
			}
			other, twice := owners[s]
			if !twice || m.Generation > generation[s] || m.Generation == generation[s] && m.ID < other {
				owners[s], generation[s] = m.ID, m.Generation
			}
		}
	}
	return owners
}

// quotas are the equal shares; where they cannot be equal, who runs most keeps one more.
func quotas(members []Member, owners map[int]string, n int) map[string]int {
	count := make(map[string]int)
	for _, owner := range owners {
		count[owner]++
	}
	ids := sortedIDs(members)
	slices.SortStableFunc(ids, func(a, b string) int { return cmp.Compare(count[b], count[a]) })
	quota := make(map[string]int, len(ids))
	for i, id := range ids {
		quota[id] = n / len(ids)
		if i < n%len(ids) {
			quota[id]++
		}
	}
	return quota
}

func sortedIDs(members []Member) []string {
	ids := make([]string, 0, len(members))
	for _, m := range members {
		ids = append(ids, m.ID)
	}
	slices.Sort(ids)
	return ids
}

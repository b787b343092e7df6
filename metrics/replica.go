package metrics

import (
	"fmt"
	"maps"
	"slices"
)

// The health of a replica is that of the shards that it runs; a standby is well while its group answers. Callers hold mu.

// divided tells that the health of the process is that of its shards. Of an undivided task that nobody shares, the shard is the process.
func (h *health) divided() bool { return h.replicated || len(h.shards) > 1 }

func (h *health) role() Role {
	switch {
	case !h.replicated:
		return RoleSingle
	case len(h.shards) > 0:
		return RoleActive
	}
	return RoleStandby
}

func (h *health) replicaLive() live {
	var l live
	for _, n := range slices.Sorted(maps.Keys(h.shards)) {
		for _, problem := range h.shards[n].live().Problems {
			l.Problems = append(l.Problems, fmt.Sprintf("shard %d: %s", n, problem))
		}
	}
	l.Healthy = len(l.Problems) == 0
	return l
}

func (h *health) replicaReady() ready {
	r := ready{Source: ok, Sink: ok, Start: ok, Tables: map[string]string{}, Gaps: map[string]string{}, Role: h.role()}
	if h.replicated {
		r.Group = h.redact(h.group.status())
	}
	for _, n := range slices.Sorted(maps.Keys(h.shards)) {
		shard := h.shards[n].ready()
		r.Shards = append(r.Shards, n)
		for at, status := range map[*string]string{&r.Source: shard.Source, &r.Sink: shard.Sink, &r.Start: shard.Start} {
			if *at == ok {
				*at = status
			}
		}
		maps.Copy(r.Tables, shard.Tables)
		maps.Copy(r.Gaps, shard.Gaps)
	}
	standby := len(h.shards) > 0 || h.group.asked && h.group.err == nil // who runs shards needs the group only to lose them
	r.Ready = r.Source == ok && r.Sink == ok && r.Start == ok && standby
	return r
}

// Package shard lets replicas of one task share its work. A task has one shard, or several that its tables are spread over; every replica is a
// member of one group, and the group says who runs which shards.
//
// What it guarantees: a shard is given to a replica only when no other member of the group runs it (Plan); and one that was fenced waits for the group's word before it starts the shard again (Set), so that two
// replicas never fence each other in turn. That nothing is lost or doubled whatever the replicas believe is the sink's affair: its Open fences.
package shard

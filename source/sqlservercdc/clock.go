package sqlservercdc

import (
	"time"

	"ctbridge/bridge/change"
)

// utc turns a wall clock of the server, as seconds since 1970 of the same clock, into UTC, with the zone's offset as of that date.
//
// In the hour that an autumn change repeats, a wall clock stands for two moments; the earlier one is taken, always: what is read again must get the same
// time. A clock that a spring change skips is taken with the offset before it.
func utc(zone *time.Location, wall change.Value) change.Value {
	const day = 24 * 60 * 60
	before, after := offset(zone, wall.Num-day), offset(zone, wall.Num+day)
	seconds := wall.Num - before
	if offset(zone, seconds) != before && offset(zone, wall.Num-after) == after {
		seconds = wall.Num - after
	}
	return change.InstantValue(seconds, wall.Nanos, 0)
}

// offset is the zone's distance from UTC at a moment, in seconds.
func offset(zone *time.Location, at int64) int64 {
	_, seconds := time.Unix(at, 0).In(zone).Zone()
	return int64(seconds)
}

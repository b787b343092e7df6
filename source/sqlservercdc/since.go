package sqlservercdc

import (
	"context"
	"strings"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/source"
)

// Since looks up in lsn_time_mapping where the changes of a moment begin. A moment that the capture job has not come to yet is behind everything that is
// there; one from before the table's capture instance is its beginning.
func (l *Layout) Since(ctx context.Context, t *source.Captured, at time.Time) (change.Position, error) {
	first := ""
	err := source.EachRow(ctx, l.guard.since, 1, func(row []change.Value) error {
		first = lsnText(row[0].Raw)
		return nil
	}, wallFrom(l.options.Zone, at))
	if err != nil {
		return "", err
	}
	low := startOf(lowest(t))
	switch {
	case first == "":
		l.guard.mu.Lock()
		defer l.guard.mu.Unlock()
		if l.guard.max == "" {
			return low, nil
		}
		return max(low, endOf(l.guard.max)), nil
	case startOf(first) < low:
		l.log.Warn("the change table begins later than what was asked for", "table", t.Table.ID.String(), "asked", at.UTC().Format(time.RFC3339), "lsn", lowest(t))
		return low, nil
	}
	return startOf(first), nil
}

// wallFrom is the lowest reading that the server's clock has at a moment or later: where the clock is put back behind that moment soon, what it is put back
// to.
func wallFrom(zone *time.Location, at time.Time) string {
	const form = "2006-01-02 15:04:05.000"
	wall := at.In(zone).Format(form)
	if _, end := at.In(zone).ZoneBounds(); !end.IsZero() {
		wall = min(wall, end.In(zone).Format(form))
	}
	return wall
}

// Behind is the position behind all changes of a commit LSN, which is written as 20 hex digits.
func Behind(lsn string) change.Position { return endOf(strings.ToLower(lsn)) }

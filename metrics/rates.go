package metrics

import "time"

const (
	rateStep   = 2 * time.Second
	rateSteps  = 60 // of which the newest is not over
	rateWindow = 5  // steps that the present rate is an average of
)

// rates counts events per step of time, for the last rateSteps steps.
type rates struct {
	counts [rateSteps]uint32
	newest int64 // number of the step that is counted in, since 1970
}

func stepOf(t time.Time) int64 { return t.UnixMilli() / rateStep.Milliseconds() }

// add counts n events in a step. A clock that goes back counts in the newest step.
func (r *rates) add(step int64, n int) {
	r.roll(step)
	r.counts[r.newest%rateSteps] += uint32(n)
}

// roll begins the steps up to one.
func (r *rates) roll(step int64) {
	for s := max(r.newest, step-rateSteps) + 1; s <= step; s++ {
		r.counts[s%rateSteps] = 0
	}
	r.newest = max(r.newest, step)
}

// history gives the steps that are over, oldest first; empty where nothing was counted in them.
func (r *rates) history() []uint32 {
	out := make([]uint32, 0, rateSteps-1)
	some := false
	for s := r.newest - rateSteps + 1; s < r.newest; s++ {
		n := uint32(0)
		if s >= 0 {
			n = r.counts[s%rateSteps]
		}
		out, some = append(out, n), some || n > 0
	}
	if !some {
		return []uint32{}
	}
	return out
}

// perSecond is the average over the newest steps that are over, of which there may be fewer since the beginning.
func (r *rates) perSecond(begin int64) float64 {
	steps := min(r.newest-begin, rateWindow)
	var sum float64
	for s := r.newest - steps; s < r.newest; s++ {
		sum += float64(r.counts[s%rateSteps])
	}
	if steps <= 0 {
		return 0
	}
	return sum / (float64(steps) * rateStep.Seconds())
}

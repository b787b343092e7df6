package demo

import (
	"math"
	"slices"
	"time"
)

// histogram counts durations in classes that are five percent wide, so that its size does not grow with what it counts.
type histogram struct {
	classes map[int]int
	total   int
}

const classWidth = 1.05

func (h *histogram) add(d time.Duration) {
	if h.classes == nil {
		h.classes = map[int]int{}
	}
	d = max(d, time.Microsecond)
	h.classes[int(math.Ceil(math.Log(float64(d))/math.Log(classWidth)))]++
	h.total++
}

// quantile is the upper end of the class in which share q of the durations ends; ok is false where there are none.
func (h *histogram) quantile(q float64) (d time.Duration, ok bool) {
	if h.total == 0 {
		return 0, false
	}
	var classes []int
	for class := range h.classes {
		classes = append(classes, class)
	}
	slices.Sort(classes)
	want := max(1, int(math.Ceil(q*float64(h.total))))
	for _, class := range classes {
		if want -= h.classes[class]; want <= 0 {
			return time.Duration(math.Pow(classWidth, float64(class))), true
		}
	}
	return 0, false
}

package main

import (
	"testing"
	"time"
)

func TestMedian(t *testing.T) {
	t.Parallel()
	for _, y := range []struct {
		values []float64
		want   float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{3, 1}, 2}, {[]float64{9, 1, 2}, 2}, {[]float64{4, 1, 3, 2}, 2.5}} {
		if got := median(y.values); got != y.want {
			t.Errorf("median(%v) = %v, want %v", y.values, got, y.want)
		}
	}
}

func TestPercentile(t *testing.T) {
	t.Parallel()
	var hundred []time.Duration
	for n := range 100 {
		hundred = append(hundred, time.Duration(100-n))
	}
	for _, y := range []struct {
		values []time.Duration
		p      float64
		want   time.Duration
	}{{nil, 50, 0}, {hundred, 50, 50}, {hundred, 99, 99}, {hundred, 100, 100}, {hundred, 0, 1}, {hundred[:3], 50, 99}, {hundred[:1], 99, 100}} {
		if got := percentile(y.values, y.p); got != y.want {
			t.Errorf("percentile %v of %d = %v, want %v", y.p, len(y.values), got, y.want)
		}
	}
}

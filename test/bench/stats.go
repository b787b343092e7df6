package main

import (
	"math"
	"slices"
	"time"
)

// median is the middle of the values, or the mean of the two in the middle; 0 of none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// medianOf is the median of one figure over several measurements.
func medianOf[T any](list []T, figure func(T) float64) float64 {
	values := make([]float64, len(list))
	for i, m := range list {
		values[i] = figure(m)
	}
	return median(values)
}

// percentile is the smallest value that at least p percent of the values do not exceed (nearest rank); 0 of none.
func percentile(values []time.Duration, p float64) time.Duration {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

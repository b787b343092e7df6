package kafka

import "github.com/rcrowley/go-metrics"

// noMetrics is a registry that measures nothing: the bridge counts for itself, and the client's meters would cost a ticking goroutine and a
// few kilobytes per topic.
type noMetrics struct{ metrics.Registry }

func newNoMetrics() metrics.Registry { return noMetrics{metrics.NewRegistry()} }

// GetOrRegister gives a metric that does nothing, of the kind that the constructor makes.
func (r noMetrics) GetOrRegister(name string, constructor any) any {
	switch constructor.(type) {
	case func() metrics.Meter:
		return metrics.NilMeter{}
	case func() metrics.Histogram:
		return metrics.NilHistogram{}
	case func() metrics.Counter:
		return metrics.NilCounter{}
	}
	return r.Registry.GetOrRegister(name, constructor)
}

package sinktest_test

import (
	"ctbridge/bridge"
	"ctbridge/bridge/checkpoint"
	"ctbridge/sink/kafka"
	"ctbridge/sink/sinktest"
	"ctbridge/sink/stdout"
)

// The sinks do not know the runner; here they are held against what it wants.
var (
	_ bridge.Sink        = (*kafka.Transactional)(nil)
	_ bridge.Overlapping = (*kafka.Transactional)(nil)
	_ bridge.Sink        = (*kafka.Idempotent)(nil)
	_ bridge.Sink        = (*stdout.Sink)(nil)
	_ bridge.Sink        = sinktest.Sink(nil)
	_ checkpoint.Store   = (*kafka.Store)(nil)
)

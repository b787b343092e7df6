package memory_test

import (
	"testing"

	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/checkpoint/checkpointtest"
	"ctbridge/bridge/checkpoint/memory"
)

func TestConformance(t *testing.T) {
	checkpointtest.Run(t, func(*testing.T) checkpointtest.Place {
		var s memory.Store
		return checkpointtest.Place{Open: func(*testing.T) checkpoint.Store { return &s }}
	})
}

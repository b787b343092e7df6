// Package wiring gives the names of package ctbridge/cmd/ctbridge/wiring, until everybody imports that.
package wiring

import "ctbridge/cmd/ctbridge/wiring"

// Task is wiring.Task.
type Task = wiring.Task

// The functions of package wiring.
var (
	New         = wiring.New
	NewRegistry = wiring.NewRegistry
	KafkaConfig = wiring.KafkaConfig
)

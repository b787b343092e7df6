// Package metrics shows the outside what the runner does: Prometheus metrics, /healthz and /readyz. It hears facts as a bridge.Observer and is
// the only room that imports the Prometheus client.
//
// Names of metrics and labels are API. Every label child is resolved once, when its table is first seen, never per event. Health is told from
// the facts and a clock alone: /healthz asks whether the task moves, /readyz whether its neighbours answer. An idle task is healthy.
package metrics

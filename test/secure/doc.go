// Package secure tests the bridge as a real process against real servers that are set up for people who trust nobody: TLS with certificates of
// an authority of their own, logins by every SASL mechanism, rights that are just enough. It starts these servers itself, with the programs of
// the stack that `go run ./test/stack run` names; without one its tests are skipped.
package secure

// Package servers runs the real neighbours of ctbridge for tests: Apache Kafka, a schema registry that speaks the
// Confluent API, PostgreSQL and MariaDB, each on 127.0.0.1 with a free port, its own data folder and its own log.
//
// Three processes share the work:
//
//   - the launcher (the command line, [Up] and [Run]) installs what is missing and starts a keeper;
//   - the keeper ([Keep]) is the parent of every server, writes the state file and obeys the control socket;
//   - a client ([Open], [FromEnv]) reads the state file and asks the keeper to stop or start one server, so that a
//     test can make an outage. A server keeps its port and its data across stop, crash and start.
//
// A test that makes an outage:
//
//	stack, err := servers.FromEnv()
//	if errors.Is(err, servers.ErrNone) {
//		t.Skip("no stack to control: go run ./test/stack run -- go test ./...")
//	}
//	err = stack.Stop(ctx, servers.Kafka) // or Kill, Pause
//	...
//	err = stack.Start(ctx, servers.Kafka) // or Resume; returns when it answers
//
// Packages are tested side by side, so such tests need servers of their own: run -fresh -only kafka -- go test ./that/one.
//
// Invariants:
//
//   - Nothing is left behind. Servers die with the keeper (parent-death signal); the keeper stops them when its
//     launcher goes away without detaching, when its lifetime ends, on a signal and on "down". Folders that a killed
//     keeper left are swept by the next launcher.
//   - A process is signalled only if its pid and its start time are the ones that were recorded.
//   - After the launcher's first state, the keeper is the only writer of the state file; it is replaced atomically.
//
// It needs Linux; elsewhere every entry point returns [ErrUnsupported].
package servers

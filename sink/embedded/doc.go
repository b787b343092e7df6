// Package embedded runs a demo broker and a demo schema registry inside the process: for `ctbridge demo` and for tests. Both speak the
// real protocols, so that any client works against them, and both listen on the loopback address only.
//
// The demo broker simulates replication and is meant for trying out, never for production. The demo registry does check compatibility: an
// incompatible schema is refused with 409 as a real registry would do. With a data folder both remember everything across a restart.
package embedded

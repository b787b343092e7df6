// Package live runs the built program against real servers: Kafka, a schema registry, PostgreSQL, MariaDB. Rows are committed by SQL as the
// Qlik task commits them and read back by a client that is not ours.
//
// The tests take the servers from the variables that test/stack sets (`make test`) and are skipped without them.
package live

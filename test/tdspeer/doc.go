// Package tdspeer is a small server that speaks enough of TDS 7.4 (MS-TDS, the SQL Server wire protocol) for tests: a client logs in without
// encryption, sends SQL batches and sp_executesql calls, and gets scripted answers: rows of the usual types, errors by number, silence, cut
// connections. It executes nothing itself; Database adds in-memory tables that answer real queries.
//
// Servers listen on 127.0.0.1 and end with the test that started them.
package tdspeer

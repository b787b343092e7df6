// Package e2e tests the whole line in one process and without servers: change tables in an SQLite file, a task wired from a configuration
// text, the embedded broker and registry. Messages are read back and decoded by libraries that are not ours.
//
// Tests named CaseNN hold the case of that number from the field; tests named Complaint hold what consumers of this message format report.
package e2e

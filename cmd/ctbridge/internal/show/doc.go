// Package show prints messages of topics for people (one summary line, then what changed) or as JSON lines for programs. It knows Qlik's
// messages as JSON, as Avro with a schema registry and as the binary MessageEnvelope; any other JSON is printed as it is.
//
// A message that cannot be decoded is shown as such and counted; it never ends the printing. Control characters of the content never reach
// the terminal.
package show

// Package checkpoint is what the bridge remembers between cycles and across restarts: per table its position, structure version and
// look-back window, per task its transaction counters (I2). It is a small set of keyed entries, so that one commit writes only what
// moved. Stores keep the entries; the typed state is encoded here, versioned, and migrated forward.
package checkpoint

// Package audit compares the messages that a task should have published with those that a topic holds.
//
// A message becomes an Item: where its change stands, and a hash of all of it that must be equal in every message of that change. Which members these
// are the envelope declares (envelope.Role). Both sides are multisets of items, so that nothing depends on partitions, on the order or on what came late.
//
// Compare needs memory that does not grow with the number of messages: items are counted and added up in buckets by their place. Only buckets that
// differ are looked at again, as many at a time as fit, and then every missing, doubled and different message is named.
package audit

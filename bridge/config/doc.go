// Package config turns one YAML file into a validated Task.
//
// A Task comes only from Load or Parse, so whoever holds one may rely on it: every value is in range and no combination is impossible.
// The keys, their documentation and their defaults are declared once, as struct tags beside the fields; decoding, checking and the
// reference that `ctbridge config reference` prints all read those tags:
//
//	yaml      the key
//	doc       what it means, for the reference
//	default   YAML text that is decoded onto the field before the file is
//	oneof     the allowed texts, separated by |
//	min, max  limits, written like a value of the field
//	required  "true": the file must set it
//	example   what the commented YAML shows where there is no default
//
// Invariants: all problems are reported at once, each with its path; nothing that is not in the file or its defaults has an effect; text
// from the environment never becomes YAML structure; a Secret, a value from the environment or the content of a secret file never shows in
// an error or a log.
package config

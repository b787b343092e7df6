// Package registry talks to a schema registry with Confluent's API (Confluent, Apicurio's ccompat, Karapace and others), through srclient.
//
// What that library lacks is added here: contexts and time-outs on every request, a limit of concurrent requests and of answers, retries of
// what passes by itself, and errors with a class and the registry's own reason. Its caches are off: they never expire. The cache here keeps
// only what never changes, the id of a schema text under a subject, so a known table goes on while the registry is away.
//
// A subject's compatibility level is set only where this package creates the subject and nobody has set one before.
package registry

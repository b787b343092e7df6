// Package file keeps a checkpoint in one JSON file.
//
// Every Save writes a whole new file beside the old one, brings it to disk, and renames it over the old one: a crash leaves the old state or
// the new one (I5). A second process that uses the same file is kept out by a lock on a file of its own, name plus ".lock".
package file

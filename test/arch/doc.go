// Package arch holds the rules about the shape of the whole tree and the checks for them: which room may import which, who may touch which
// library, how long functions and files may be, and a few habits that a linter does not know.
//
// A check takes a [Tree], which may come from any fs.FS, and returns its findings as lines. So every rule is itself tested on small trees
// that break it: a check that cannot fail proves nothing.
//
// The rooms and their imports are the table in rooms.go. A new room is a new line there.
package arch

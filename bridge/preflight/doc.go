// Package preflight looks at the neighbours of a task before it starts: Doctor judges what it finds, Plan tells what a start would bring. Both ask and
// change nothing: no topic is made, no schema registered, no row written, and nobody is fenced, so that they may run beside the task.
//
// It knows seams only. What an engine, a layout or a client can tell beyond its seam, it tells by a small interface of this package, in the vocabulary
// of package facts; one that cannot is not asked. Questions run at the same time, each within a limit, and one that fails hides no other.
package preflight

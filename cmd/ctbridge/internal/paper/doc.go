// Package paper writes reports for people: lines of at most so many columns, aligned, with colours where a terminal shows them. Commands and SQL stay
// in one piece each, so that they can be copied: they are only broken at blanks.
package paper

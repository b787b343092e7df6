// Package program is what the encoders have in common: a tree of fields compiled into a flat list of steps, and the loop that runs them
// over an event. A format walks the tree once, hands the fixed text between the values to a Builder as literals and names one Writer for
// each leaf; neighbouring literals and constants become one step. Running the steps allocates nothing per value.
//
// The forms whose text or number does not depend on the format are here too, so that no format writes a value differently: Text and
// IntegerOf. A value that its form cannot hold exactly is an error of class Poison that names the field (I6).
package program

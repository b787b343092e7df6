//go:build race

package change

// overwrite makes released bytes useless, so that whoever still uses them is found.
const overwrite = true

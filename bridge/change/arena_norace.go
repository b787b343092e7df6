//go:build !race

package change

const overwrite = false

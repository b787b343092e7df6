package envelope

import (
	"fmt"
	"slices"
	"strings"
)

// Refuse is an error where something is bad: for lists of checks.
func Refuse(bad bool, format string, args ...any) error {
	if !bad {
		return nil
	}
	return fmt.Errorf(format, args...)
}

// OneOf is an error where an option has none of the allowed values.
func OneOf[T ~string](option string, got T, allowed ...T) error {
	if slices.Contains(allowed, got) {
		return nil
	}
	names := make([]string, len(allowed))
	for i, a := range allowed {
		names[i] = string(a)
	}
	return fmt.Errorf("%s: %q is not one of %s", option, got, strings.Join(names, ", "))
}

// Distinct is an error where a name stands twice in a list.
func Distinct(option string, names ...string) error {
	seen := make(map[string]bool, len(names))
	for _, name := range names {
		if seen[name] {
			return fmt.Errorf("%s: %q stands there twice", option, name)
		}
		seen[name] = true
	}
	return nil
}

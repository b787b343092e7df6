package config

import (
	"fmt"
	"strings"
)

// Lookup gives the value of an environment variable and whether it is set.
type Lookup func(name string) (value string, set bool)

// expand replaces ${NAME} by the variable, ${NAME:-text} by the variable or, where that is unset or empty, the text, and $$ by one dollar
// sign. Any other dollar sign stays. The result is not expanded again and never read as YAML. used tells whether a variable was asked for.
func expand(text string, env Lookup) (result string, used bool, err error) {
	var b strings.Builder
	for {
		at := strings.IndexByte(text, '$')
		if at < 0 || at == len(text)-1 {
			b.WriteString(text)
			return b.String(), used, nil
		}
		b.WriteString(text[:at])
		switch text = text[at+1:]; text[0] {
		case '$':
			b.WriteByte('$')
			text = text[1:]
		case '{':
			inner, rest, closed := strings.Cut(text[1:], "}")
			if !closed {
				return "", used, fmt.Errorf("has a ${ without its }: close it, or write $${ for the characters themselves")
			}
			value, err := variable(inner, env)
			if err != nil {
				return "", true, err
			}
			b.WriteString(value)
			text, used = rest, true
		default:
			b.WriteByte('$')
		}
	}
}

// variable looks up NAME or NAME:-text.
func variable(inner string, env Lookup) (string, error) {
	name, fallback, hasFallback := strings.Cut(inner, ":-")
	switch value, set := env(name); {
	case !legalVariable(name):
		return "", fmt.Errorf("has ${…} around something that is not a variable's name: write ${NAME} or ${NAME:-text}")
	case strings.Contains(fallback, "${"):
		return "", fmt.Errorf("has a variable inside the text that stands for ${%s}: write plain text there", name)
	case set && (value != "" || !hasFallback):
		return value, nil
	case hasFallback:
		return fallback, nil
	}
	return "", fmt.Errorf("needs the environment variable %s, which is not set: set it, or write ${%s:-text}", name, name)
}

func legalVariable(name string) bool {
	for i := range len(name) {
		c := name[i]
		if c != '_' && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

package config

import (
	"fmt"
	"io"
	"log/slog"
)

// hidden is what a secret looks like everywhere.
const hidden = "***"

// Secret is a text that never shows: not in a log, not in an error, not through any verb of fmt. It holds a pointer because fmt prints the
// content of unexported fields without asking their methods.
type Secret struct {
	text *string
}

// NewSecret hides a text.
func NewSecret(text string) Secret { return Secret{text: &text} }

// Reveal gives the text to whoever must send it.
func (s Secret) Reveal() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

// IsSet reports whether there is a text.
func (s Secret) IsSet() bool { return s.Reveal() != "" }

// String hides the text.
func (s Secret) String() string { return hidden }

// GoString hides the text.
func (s Secret) GoString() string { return hidden }

// Format hides the text from every verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, hidden) }

// MarshalText hides the text from JSON and YAML.
func (s Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// LogValue hides the text from slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(hidden) }

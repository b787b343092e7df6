package kafka

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
)

// clientLog writes the client's lines as debug records. The client logs addresses, topics and error texts, never passwords or tokens.
type clientLog struct{ log *slog.Logger }

// Print logs its arguments.
func (c clientLog) Print(v ...any) { c.write(func() string { return fmt.Sprint(v...) }) }

// Printf logs a formatted line.
func (c clientLog) Printf(format string, v ...any) {
	c.write(func() string { return fmt.Sprintf(format, v...) })
}

// Println logs its arguments.
func (c clientLog) Println(v ...any) { c.write(func() string { return fmt.Sprintln(v...) }) }

// write formats only what is wanted: most lines are not.
func (c clientLog) write(line func() string) {
	ctx := context.Background() //nolint:forbidigo // the lines of the client library belong to no call of ours
	if c.log.Enabled(ctx, slog.LevelDebug) {
		c.log.LogAttrs(ctx, slog.LevelDebug, strings.TrimSpace(line()), slog.String("from", "kafka client"))
	}
}

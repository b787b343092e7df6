package main

import (
	"fmt"
	"io"
	"log/slog"
	"strings"

	"ctbridge/bridge/config"
	"ctbridge/cmd/ctbridge/internal/redact"
)

// newLogger writes lines of text or JSON, with what looks like a secret blacked out: the last line of defence, behind errors that hold none.
func newLogger(w io.Writer, c config.Log) *slog.Logger {
	levels := map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}
	options := &slog.HandlerOptions{Level: levels[c.Level], ReplaceAttr: redactAttr}
	if c.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

var secretNames = []string{"password", "secret", "token", "dsn", "authorization", "credential"}

// redactAttr hides attributes with a telling name and secrets inside texts and errors.
func redactAttr(_ []string, a slog.Attr) slog.Attr {
	name := strings.ToLower(a.Key)
	for _, secret := range secretNames {
		if strings.Contains(name, secret) {
			return slog.String(a.Key, redact.Hidden)
		}
	}
	switch a.Value.Kind() {
	case slog.KindString:
		return slog.String(a.Key, redact.Text(a.Value.String()))
	case slog.KindAny:
		switch v := a.Value.Any().(type) {
		case error:
			return slog.String(a.Key, redact.Text(v.Error()))
		case fmt.Stringer:
			return slog.String(a.Key, redact.Text(v.String()))
		}
	default: // numbers, times, truth values
	}
	return a
}

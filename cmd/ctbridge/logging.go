package main

import (
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"strings"

	"ctbridge/bridge/config"
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

const hidden = "***"

var secretNames = []string{"password", "secret", "token", "dsn", "authorization", "credential"}

// redactAttr hides attributes with a telling name and secrets inside texts and errors.
func redactAttr(_ []string, a slog.Attr) slog.Attr {
	name := strings.ToLower(a.Key)
	for _, secret := range secretNames {
		if strings.Contains(name, secret) {
			return slog.String(a.Key, hidden)
		}
	}
	switch a.Value.Kind() {
	case slog.KindString:
		return slog.String(a.Key, redact(a.Value.String()))
	case slog.KindAny:
		switch v := a.Value.Any().(type) {
		case error:
			return slog.String(a.Key, redact(v.Error()))
		case fmt.Stringer:
			return slog.String(a.Key, redact(v.String()))
		}
	default: // numbers, times, truth values
	}
	return a
}

var (
	userPassword = regexp.MustCompile(`([^\s:/@"']+):([^\s/@"']+)@`)                                           // user:password@ of a URL or a DSN
	namedSecret  = regexp.MustCompile(`(?i)\b(password|pwd|secret|token)(\s*=\s*)("[^"]*"|'[^']*'|[^\s;&,]+)`) // password=… of a DSN
	header       = regexp.MustCompile(`(?i)\b(authorization:\s*(?:basic|bearer)?)\s*\S+`)
)

// redact hides the passwords in a text.
func redact(s string) string {
	s = userPassword.ReplaceAllString(s, "$1:"+hidden+"@")
	s = namedSecret.ReplaceAllString(s, "$1$2"+hidden)
	return header.ReplaceAllString(s, "$1 "+hidden)
}

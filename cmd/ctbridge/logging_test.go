package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"

	"ctbridge/bridge/config"
	"ctbridge/cmd/ctbridge/internal/redact"
)

func TestSecretsDoNotReachTheLog(t *testing.T) {
	t.Parallel()
	const planted = "c0rrect-horse"
	broken := &url.URL{Scheme: "sqlserver", User: url.UserPassword("reader", planted), Host: "db"}
	for _, format := range []string{"text", "json"} {
		var b bytes.Buffer
		log := newLogger(&b, config.Log{Level: "debug", Format: format})
		log.Info("connect to postgres://reader:"+planted+"@db/shop", "dsn", "x "+planted, "Password", planted, "secret", config.NewSecret(planted))
		log.Error("failed", "error", fmt.Errorf("open: %w", errors.New("reader:"+planted+"@tcp(db)/shop refused")), "at", broken)
		log.With("kafka_token", planted).WithGroup("sasl").Warn("x", "client_secret", planted, "text", "server=db;user id=sa;password="+planted+";x=1")
		log.Debug("Authorization: Bearer "+planted, slog.Group("g", "api_token", planted), "quoted", `password="`+planted+` and more"`)
		if strings.Contains(b.String(), planted) {
			t.Errorf("%s:\n%s", format, b.String())
		}
		for _, kept := range []string{"reader:***@db/shop", "refused", "password=***;x=1"} {
			if !strings.Contains(b.String(), kept) {
				t.Errorf("%s: %q is gone:\n%s", format, kept, b.String())
			}
		}
	}
}

func TestLogFormatAndLevel(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	log := newLogger(&b, config.Log{Level: "warn", Format: "json"})
	log.Info("quiet")
	log.Warn("loud", "n", 3, "took", "5s")
	var line map[string]any
	if err := json.Unmarshal(b.Bytes(), &line); err != nil || line["msg"] != "loud" || line["n"] != 3.0 || line["level"] != "WARN" {
		t.Errorf("%v: %s", err, b.String())
	}
	for level, want := range map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError} {
		log := newLogger(&b, config.Log{Level: level})
		if !log.Enabled(context.Background(), want) || log.Enabled(context.Background(), want-1) {
			t.Error(level)
		}
	}
}

func TestRedactKeepsWhatIsNoSecret(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"dial tcp 127.0.0.1:9092: connect: connection refused", "publish to orders", "http://registry:8081/subjects",
		"2023-09-11T03:23:25.000", "table shop.parcel: no right to read (grant select)", "mail bob@example.com",
		"kafka.sasl.password: has no effect", "token: expired",
	} {
		if got := redact.Text(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

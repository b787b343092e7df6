package sqlservercdc_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"

	"ctbridge/source/sqlservercdc"
)

func options() sqlservercdc.Options { return sqlservercdc.Options{} }

// said holds log lines.
type said struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func logger() (*slog.Logger, *said) {
	s := &said{}
	return slog.New(slog.NewTextHandler(s, nil)), s
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *said) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func (s *said) count(what string) int { return strings.Count(s.text(), what) }

// Package memory keeps a checkpoint for as long as the process lives: for trying out and for tests.
package memory

import (
	"bytes"
	"context"
	"maps"
	"sync"

	"ctbridge/bridge/checkpoint"
)

// Store is a checkpoint.Store in memory. The zero value is empty and ready; it may be loaded again after Close.
type Store struct {
	mu      sync.Mutex
	entries map[string][]byte
}

// Load gives a copy of the entries.
func (s *Store) Load(context.Context) (map[string][]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string][]byte{}
	for key, value := range s.entries {
		out[key] = bytes.Clone(value)
	}
	return out, nil
}

// Save takes the entries over.
func (s *Store) Save(_ context.Context, entries []checkpoint.Entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := maps.Clone(s.entries)
	if next == nil {
		next = map[string][]byte{}
	}
	for _, e := range entries {
		if e.Value == nil {
			delete(next, e.Key)
			continue
		}
		next[e.Key] = append([]byte{}, e.Value...)
	}
	s.entries = next
	return nil
}

// Close does nothing.
func (s *Store) Close() error { return nil }

package sqlservercdc

import (
	"log/slog"
	"sync"

	"ctbridge/source"
)

// Layout reads SQL Server's change tables through an engine.
type Layout struct {
	engine   source.Engine
	options  Options
	log      *slog.Logger
	catalog  catalog
	detected source.Detection
	guard    guard
	said     said
	foreign  source.Statement

	diagnosis diagnosis
}

var (
	_ source.Layout     = (*Layout)(nil)
	_ source.Bounded    = (*Layout)(nil)
	_ source.Historian  = (*Layout)(nil)
	_ source.Rememberer = (*Layout)(nil)
	_ source.Dated      = (*Layout)(nil)
)

// New builds the layout. It does not talk to the database.
func New(engine source.Engine, options Options, log *slog.Logger) *Layout {
	l := &Layout{engine: engine, options: options.withDefaults(), log: log}
	l.catalog = newCatalog(engine, l.options.Schema)
	l.guard = newGuard(engine, l.options.Schema)
	l.foreign, l.diagnosis = foreignStatement(engine), newDiagnosis(engine)
	return l
}

// said remembers what has been logged: discovery looks at the same facts again and again.
type said struct {
	mu   sync.Mutex
	what map[string]string
}

// anew tells that something about a subject has not been said yet.
func (s *said) anew(subject, what string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.what == nil {
		s.what = make(map[string]string)
	}
	if known, before := s.what[subject]; before && known == what {
		return false
	}
	s.what[subject] = what
	return true
}

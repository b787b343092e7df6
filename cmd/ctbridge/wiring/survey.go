package wiring

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/config"
	"ctbridge/metrics"
	"ctbridge/source"
)

// Survey looks at a task from outside: at its checkpoint and at its source, beside whoever runs it.
type Survey struct {
	task   *config.Task
	Kept   *Kept
	Found  map[change.TableID]*source.Captured
	Source error // why the source could not be asked

	engine source.Engine
	poller *source.Poller
}

// NewSurvey reads the checkpoint and finds the tables. A source that does not answer is told in Source.
func NewSurvey(ctx context.Context, t *config.Task) (*Survey, error) {
	own := *t
	own.Source.Horizon.Settle = 0
	s := &Survey{task: t, Found: make(map[change.TableID]*source.Captured)}
	var err error
	if s.Kept, err = Peek(ctx, t); err != nil {
		return nil, err
	}
	if s.engine, err = openEngine(&own.Source); err != nil {
		return nil, err
	}
	log := slog.New(slog.DiscardHandler)
	s.poller = newPoller(s.engine, &own, metrics.New(metrics.Options{}), log)
	s.Source = s.discover(ctx)
	return s, nil
}

func (s *Survey) discover(ctx context.Context) error {
	if err := s.poller.Recall(s.Kept.State.Layout); err != nil {
		return err
	}
	found, err := s.poller.Discover(ctx)
	if err != nil {
		return err
	}
	for _, captured := range found.Tables {
		s.Found[captured.Table.ID] = captured
	}
	return nil
}

// Tables lists the tables of the checkpoint and of the source that patterns choose, sorted; without patterns all of the checkpoint.
func (s *Survey) Tables(patterns config.TablePatterns) []change.TableID {
	known := make(map[change.TableID]bool)
	for id := range s.Kept.State.Tables {
		known[id] = len(patterns) == 0 || patterns.Match(id)
	}
	for id := range s.Found {
		known[id] = known[id] || patterns.Match(id)
	}
	maps.DeleteFunc(known, func(_ change.TableID, chosen bool) bool { return !chosen })
	return slices.SortedFunc(maps.Keys(known), func(a, b change.TableID) int { return strings.Compare(a.String(), b.String()) })
}

// table gives what the checkpoint knows of a table, without adding to it.
func (s *Survey) table(id change.TableID) *checkpoint.Table {
	if t := s.Kept.State.Tables[id]; t != nil {
		return t
	}
	return &checkpoint.Table{ID: id}
}

// Close lets go of the source.
func (s *Survey) Close() error {
	return s.engine.Close()
}

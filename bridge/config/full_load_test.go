package config

import (
	"strings"
	"testing"
	"time"
)

func TestStartAt(t *testing.T) {
	t.Parallel()
	const sequence = "20310510160001000000000000000000042"
	for text, want := range map[string]Start{
		"earliest":                  {},
		"now":                       {Now: true},
		sequence:                    {After: sequence},
		"2031-05-10T16:00:00+02:00": {Time: time.Date(2031, 5, 10, 14, 0, 0, 0, time.UTC)},
	} {
		for _, quote := range []string{"", `"`} {
			task, err := parse([]byte("task: a\nsource: {engine: sqlite, dsn: x, start_at: "+quote+text+quote+"}\nkafka: {brokers: [b:1]}\n"), testEnv, noFiles)
			if err != nil {
				t.Errorf("%s: %v", text, err)
				continue
			}
			if got := task.Source.StartAt.Start(); got.Now != want.Now || got.After != want.After || !got.Time.Equal(want.Time) {
				t.Errorf("%s gave %+v", text, got)
			}
		}
	}
	for _, text := range []string{"latest", sequence[1:], "2031-05-10", "yesterday"} {
		_, err := parse([]byte("task: a\nsource: {engine: sqlite, dsn: x, start_at: "+text+"}\nkafka: {brokers: [b:1]}\n"), testEnv, noFiles)
		if err == nil || !strings.Contains(err.Error(), "source.start_at") {
			t.Errorf("%s gave %v", text, err)
		}
	}
}

func TestStartAtNeedsATableThatIsNotLoaded(t *testing.T) {
	t.Parallel()
	_, err := parse([]byte("task: a\nsource: {engine: sqlite, dsn: x, start_at: now}\nkafka: {brokers: [b:1]}\nfull_load: {mode: initial}\n"), testEnv, noFiles)
	if err == nil || !strings.Contains(err.Error(), "source.start_at") || !strings.Contains(err.Error(), "has no effect") {
		t.Error(err)
	}
}

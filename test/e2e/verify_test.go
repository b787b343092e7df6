package e2e

import (
	"log/slog"
	"os"
	"strings"
	"testing"

	"ctbridge/bridge/audit"
	"ctbridge/bridge/config"
	"ctbridge/cmd/ctbridge/wiring"
	"ctbridge/test/cdcwriter"
)

// verified compares the task's topics and gives what is named, by topic.
func (s *stand) verified(changes ...set) map[string]*wiring.TopicReport {
	s.Helper()
	task, err := config.Parse([]byte(s.text(changes...)), os.LookupEnv)
	if err != nil {
		s.Fatal(err)
	}
	survey, err := wiring.NewSurvey(s.Context(), task)
	if err != nil || survey.Source != nil {
		s.Fatal(err, survey)
	}
	defer func() { _ = survey.Close() }()
	v, err := wiring.NewVerify(survey, wiring.VerifyOptions{Max: 20, Memory: 1 << 20}, slog.New(slog.DiscardHandler))
	if err != nil {
		s.Fatal(err)
	}
	out := make(map[string]*wiring.TopicReport)
	if err := v.Run(s.Context(), func(r *wiring.TopicReport) error { out[strings.TrimPrefix(r.Topic, s.task+".")] = r; return nil }); err != nil {
		s.Fatal(err)
	}
	return out
}

// SQL Server's own change tables have no change sequences: what the runner gave is no part of the comparison, in every envelope, and the log tells where
// changes stand. A row that was changed behind the task's back is named.
func TestVerifyOfSQLServerCDC(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"json", "avro"} {
		s := newStand(t)
		commit, changes := s.captured()
		outputs := set{"envelopes": "[qlik, debezium, datastream]", "format": format, "kafka.topics.data.partitions": "3"}
		if format == "avro" {
			outputs["schema_registry.url"] = s.RegistryURL()
		}
		topics := []string{"parcel.qlik", "parcel.debezium", "parcel.datastream"}
		outputs["kafka.topic"] = `"{task}.{table}.{envelope}"`
		r := s.start(changes, outputs)
		for _, topic := range topics {
			s.read(2, topic)
		}
		r.drain()
		commit(3, cdcwriter.Row{Cmd: 1, Seq: 1, Op: 1, Values: []any{1, "sent", "1.50"}}, cdcwriter.Row{Cmd: 2, Seq: 1, Op: 2, Values: []any{1, "again", "1.50"}})
		r = s.start(changes, outputs)
		for _, topic := range topics {
			s.read(4, topic)
		}
		r.drain()
		commit(4, cdcwriter.Row{Cmd: 1, Seq: 1, Op: 1, Values: []any{1, "again", "1.50"}}) // not published yet
		got := s.verified(changes, outputs)
		for _, topic := range topics {
			if r := got[topic]; r == nil || !r.Equal || r.Expected.Messages < 4 || r.Expected.Messages != r.Found.Messages || r.Alike != 0 {
				t.Errorf("%s %s: %+v", format, topic, r)
			}
		}
		if _, err := s.cdc.Exec("UPDATE cdc.dbo_parcel_CT SET status = 'harmed' WHERE status = 'again' AND __$operation = 2"); err != nil {
			t.Fatal(err)
		}
		got = s.verified(changes, outputs)
		for _, topic := range topics {
			if r := got[topic]; r == nil || r.Equal || r.Counts[audit.Different] != 1 || len(r.Differences) != 1 || !strings.HasSuffix(r.Differences[0].Member, "status") {
				t.Errorf("%s %s: %+v", format, topic, r)
			}
		}
	}
}

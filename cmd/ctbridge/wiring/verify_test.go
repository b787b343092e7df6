package wiring

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ctbridge/bridge/audit"
	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint/memory"
	"ctbridge/bridge/config"
	"ctbridge/sink/embedded"
	"ctbridge/sink/kafka"
	"ctbridge/test/qlikwriter"
)

// verifyWorld is a task over SQLite and an embedded broker, with a random history.
type verifyWorld struct {
	*testing.T
	random *rand.Rand
	writer *qlikwriter.Writer
	task   *config.Task
	kafka  kafka.Config
	rows   map[string][]int // sequences of each table that are in its change table, without before-images
	last   int
	wide   bool
}

const verifyConfig = `
task: %s
source: {engine: sqlite, dsn: "%s", poll_interval: 10ms, horizon: {settle: 0s, lookback: 1s}}
envelopes:
  - {name: qj, envelope: qlik, topic: "%[1]s.qj.{table}"}
  - {name: dj, envelope: debezium, topic: "%[1]s.dj.{table}"}
  - {name: sj, envelope: datastream, topic: "%[1]s.shared"}
kafka: {brokers: "%[3]s", topics: {data: {partitions: 3}}}
metrics: {listen: ""}
`

func newVerifyWorld(t *testing.T, servers *embedded.Servers, seed uint64) *verifyWorld {
	folder := t.TempDir()
	path := filepath.Join(folder, "shop.db")
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)&_pragma=journal_mode(wal)&_pragma=synchronous(0)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	brokers := strings.Join(servers.Brokers(), ",")
	file := filepath.Join(folder, "task.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, verifyConfig, fmt.Sprint("t", seed), path, brokers), 0o600); err != nil {
		t.Fatal(err)
	}
	task, err := config.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	w := &verifyWorld{T: t, random: rand.New(rand.NewPCG(seed, 1)), task: task, rows: map[string][]int{}, kafka: kafka.Config{Brokers: servers.Brokers()}}
	w.writer = &qlikwriter.Writer{DB: db, Dialect: qlikwriter.SQLite}
	for _, table := range []string{"parcel", "depot"} {
		w.writer.Create(t, qlikwriter.Parcel(table))
	}
	return w
}

// write adds a batch of random changes.
func (w *verifyWorld) write() {
	tx, err := w.writer.DB.Begin()
	if err != nil {
		w.Fatal(err)
	}
	for range 1 + w.random.IntN(30) {
		table := []string{"parcel", "depot"}[w.random.IntN(2)]
		w.last += 2
		id := w.random.IntN(9)
		row := qlikwriter.Row{Seq: qlikwriter.Seq(w.last), Tx: fmt.Sprint("T", w.last/10), Values: []any{id, fmt.Sprint("s", w.random.IntN(4)), nil}}
		wide := w.wide && table == "parcel"
		if wide {
			row.Values = append(row.Values, "note")
		}
		before := row
		switch row.Oper = []string{"I", "U", "D"}[w.random.IntN(3)]; row.Oper {
		case "U":
			before.Oper = "B"
			before.Values = []any{w.random.IntN(9), "old", "1.50"}
			if wide {
				before.Values = append(before.Values, nil)
			}
			w.writer.Add(w, tx, qlikwriter.Parcel(table), before)
		}
		w.writer.Add(w, tx, qlikwriter.Parcel(table), row)
		w.rows[table] = append(w.rows[table], w.last)
	}
	if err := tx.Commit(); err != nil {
		w.Fatal(err)
	}
}

// alter adds a column to a table, as a DDL that the writer passes on does.
func (w *verifyWorld) alter() {
	w.wide = true
	w.writer.Exec(w, "ALTER TABLE parcel ADD COLUMN note varchar(9)")
	w.writer.Exec(w, "ALTER TABLE parcel__ct ADD COLUMN note varchar(9)")
}

// run lets the task publish what is there, and stops it.
func (w *verifyWorld) run() {
	task, err := New(w.task, "test", slog.New(slog.DiscardHandler))
	if err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(w.Context(), 60*time.Second)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- task.Run(ctx) }()
	w.until(ctx, func(s *Survey) bool {
		for table, rows := range w.rows {
			if s.Kept.State.Table(change.TableID{Name: table}).Position < change.Position(qlikwriter.Seq(rows[len(rows)-1])) {
				return false
			}
		}
		return true
	})
	cancel()
	if err := <-done; err != nil {
		w.Fatal(err)
	}
}

func (w *verifyWorld) until(ctx context.Context, reached func(*Survey) bool) {
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		kept, err := Peek(ctx, w.task)
		if err == nil && reached(&Survey{Kept: kept}) {
			return
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			w.Fatal("the rows are not published in time: ", err)
		}
	}
}

// verify gives what is named in each topic, as "kind position".
func (w *verifyWorld) verify() map[string][]string {
	survey, err := NewSurvey(w.Context(), w.task)
	if err != nil || survey.Source != nil {
		w.Fatal(err, survey.Source)
	}
	defer func() { _ = survey.Close() }()
	v, err := NewVerify(survey, VerifyOptions{Max: 100, Memory: 1 << (8 + w.random.IntN(16))}, slog.New(slog.DiscardHandler))
	if err != nil {
		w.Fatal(err)
	}
	out := make(map[string][]string)
	err = v.Run(w.Context(), func(r *TopicReport) error {
		var named []string
		for _, d := range r.Differences {
			if d.Member != "tombstone" {
				named = append(named, d.Kind+" "+d.Place)
			}
		}
		slices.Sort(named)
		out[r.Topic] = slices.Compact(named)
		if r.Equal != (len(r.Differences) == 0) || r.Undecoded > 0 {
			w.Errorf("report %+v", r)
		}
		return nil
	})
	if err != nil {
		w.Fatal(err)
	}
	return out
}

// copyRecord publishes a record of a topic once more, and gives the sequence in it.
func (w *verifyWorld) copyRecord(topic string) string {
	var all []*kafka.Message
	err := kafka.Tail(w.Context(), w.kafka, kafka.TailOptions{Topics: []string{topic}, From: kafka.FromStart, Exit: true}, func(m *kafka.Message) error {
		if m.Value != nil {
			all = append(all, m)
		}
		return nil
	})
	if err != nil {
		w.Fatal(err)
	}
	m := all[w.random.IntN(len(all))]
	sink, err := kafka.NewIdempotent(w.kafka, new(memory.Store))
	if err != nil {
		w.Fatal(err)
	}
	defer func() { _ = sink.Close() }()
	if _, err = sink.Open(w.Context()); err == nil {
		err = sink.Publish(w.Context(), &change.Record{Topic: topic, Key: m.Key, Value: m.Value, Headers: m.Headers})
	}
	if err == nil {
		err = sink.Commit(w.Context(), nil)
	}
	if err != nil {
		w.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(m.Value), qlikwriter.Seq(0)[:16])
	return qlikwriter.Seq(0)[:16] + rest[:19]
}

// Random histories, restarts and a DDL: nothing is reported. Then each corruption is named in every topic that shows it, and nothing else.
func TestVerifyNamesEachCorruption(t *testing.T) {
	t.Parallel()
	servers, err := embedded.Start(embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = servers.Close() })
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			w := newVerifyWorld(t, servers, seed)
			w.write()
			for range 1 + w.random.IntN(3) {
				w.run()
				if w.random.IntN(3) == 0 && !w.wide {
					w.alter()
				}
				w.write()
			}
			w.run()
			for topic, named := range w.verify() {
				if len(named) > 0 {
					t.Fatalf("topic %s of a good task: %v", topic, named)
				}
			}
			w.corrupt()
		})
	}
}

// corrupt does one of each kind of harm, to rows that are not the ends of their table.
func (w *verifyWorld) corrupt() {
	name := w.task.Name
	want := map[string][]string{}
	harm := func(kind, table string, sequence int) {
		for _, topic := range []string{name + ".qj." + table, name + ".dj." + table, name + ".shared"} {
			want[topic] = append(want[topic], kind+" "+qlikwriter.Seq(sequence))
		}
	}
	rows := w.rows["parcel"]
	places := w.random.Perm(len(rows) - 2)
	if len(places) < 2 {
		w.Skip("the history is too short to be harmed")
	}
	gone, changed := rows[places[0]+1], rows[places[1]+1]
	w.writer.Exec(w, "DELETE FROM parcel__ct WHERE header__change_seq = '%s'", qlikwriter.Seq(gone))
	harm(audit.Unknown, "parcel", gone)
	w.writer.Exec(w, "UPDATE parcel__ct SET status = 'harmed' WHERE header__change_seq = '%s' AND header__change_oper <> 'B'", qlikwriter.Seq(changed))
	harm(audit.Different, "parcel", changed)
	late := w.rows["depot"][0] + 1
	w.writer.Add(w, w.writer.DB, qlikwriter.Parcel("depot"), qlikwriter.Row{Seq: qlikwriter.Seq(late), Oper: "I", Tx: "late", Values: []any{1, "late", nil}})
	if len(w.rows["depot"]) > 1 {
		harm(audit.Missing, "depot", late)
	}
	topic := name + ".dj.depot"
	want[topic] = append(want[topic], audit.Doubled+" "+w.copyRecord(topic))
	got := w.verify()
	for _, table := range []string{"parcel", "depot"} {
		for _, output := range []string{".qj.", ".dj."} {
			w.compare(name+output+table, got, want)
		}
	}
	w.compare(name+".shared", got, want)
}

func (w *verifyWorld) compare(topic string, got, want map[string][]string) {
	named, expected := got[topic], want[topic]
	slices.Sort(expected)
	if topic != w.task.Name+".shared" && !slices.Equal(named, slices.Compact(expected)) {
		w.Errorf("topic %s: named %v, want %v", topic, named, expected)
	}
	for _, one := range named { // a shared topic has the window that its tables have in common
		if !slices.Contains(expected, one) {
			w.Errorf("topic %s: %s was no harm", topic, one)
		}
	}
}

package live

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"ctbridge/test/qlikwriter"
)

// Kill -9 at random moments while transactions of 20 rows are published in commits of 7: each transaction has one BEGIN and one END, and what the END
// counts is what there is.
func TestTransactionTopicUnderKills(t *testing.T) {
	t.Parallel()
	const rows, size = 2000, 20
	db := postgres(t)
	tables := []string{"one", "two", "three"}
	for _, table := range tables {
		db.Create(t, qlikwriter.Parcel(table))
	}
	b := newBridge(t, db, "envelope: debezium\ncommit: {max_records: 7}\ndebezium: {transaction_topic: \"{task}.transactions\"}\n")
	loaded := make(chan int, 1)
	go func() { loaded <- load(t, db, tables, rows) }()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	for kills, total := 0, 0; total == 0 || kills < 6; kills++ {
		b.start()
		select {
		case total = <-loaded:
		case <-time.After(time.Duration(100+random.IntN(900)) * time.Millisecond):
		}
		b.kill()
	}
	b.start()
	data := b.until(rows, tables...)
	bounds := b.until(2*rows/size, "transactions")
	b.stop()
	checkBounds(t, countByTransaction(t, data), bounds, rows/size, size)
}

// countByTransaction counts data messages by transaction and table, and refuses a number that comes twice.
func countByTransaction(t *testing.T, data []message) map[string]map[string]int {
	t.Helper()
	counts, seen := make(map[string]map[string]int), make(map[string]bool)
	for _, m := range data {
		var value struct {
			Transaction struct {
				ID    string `json:"id"`
				Total int    `json:"total_order"`
			} `json:"transaction"`
		}
		if err := json.Unmarshal(m.Value, &value); err != nil {
			t.Fatalf("%v: %s", err, m.Value)
		}
		place := fmt.Sprint(value.Transaction.ID, "#", value.Transaction.Total)
		if seen[place] {
			t.Fatalf("%s is there twice", place)
		}
		seen[place] = true
		if counts[value.Transaction.ID] == nil {
			counts[value.Transaction.ID] = make(map[string]int)
		}
		counts[value.Transaction.ID]["public."+m.Topic]++
	}
	return counts
}

func checkBounds(t *testing.T, counts map[string]map[string]int, bounds []message, transactions, size int) {
	t.Helper()
	if len(bounds) != 2*transactions || len(counts) != transactions {
		t.Fatalf("%d messages about transactions and %d transactions, want %d and %d", len(bounds), len(counts), 2*transactions, transactions)
	}
	begun := make(map[string]bool)
	for _, m := range bounds {
		var value struct {
			Status      string `json:"status"`
			ID          string `json:"id"`
			EventCount  int    `json:"event_count"`
			Collections []struct {
				Name  string `json:"data_collection"`
				Count int    `json:"event_count"`
			} `json:"data_collections"`
		}
		if err := json.Unmarshal(m.Value, &value); err != nil {
			t.Fatalf("%v: %s", err, m.Value)
		}
		if value.Status == "BEGIN" != !begun[value.ID] {
			t.Fatalf("out of turn: %s", m.Value)
		}
		begun[value.ID] = true
		if value.Status == "BEGIN" {
			continue
		}
		for _, c := range value.Collections {
			if counts[value.ID][c.Name] != c.Count {
				t.Errorf("%s, but %v", m.Value, counts[value.ID])
			}
		}
		if value.EventCount != size || len(value.Collections) != len(counts[value.ID]) {
			t.Errorf("%s, but %v", m.Value, counts[value.ID])
		}
	}
}

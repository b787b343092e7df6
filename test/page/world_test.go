package page

import (
	"errors"
	"fmt"
	"math"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"ctbridge/bridge"
	"ctbridge/bridge/change"
	"ctbridge/bridge/checkpoint"
	"ctbridge/bridge/fault"
	"ctbridge/metrics"
)

// clock is ahead of or behind the real one, and runs as fast: worlds live for minutes before anybody looks.
type clock struct {
	mu    sync.Mutex
	ahead time.Duration
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead)
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
}

// world is a task as its metrics tell of it.
type world struct {
	*metrics.Metrics
	clock  *clock
	server *httptest.Server
	tables []change.TableID
	seq    int
}

func newWorld(t *testing.T, task string, names ...string) *world {
	t.Helper()
	c := &clock{ahead: -4 * time.Minute}
	w := &world{clock: c, Metrics: metrics.New(metrics.Options{
		Version: "v1.4.0", Task: task, Replica: "ctbridge-orders-0", Source: "sqlserver", Registry: true, StallTimeout: 2 * time.Minute, Now: c.now,
	})}
	w.server = httptest.NewServer(w.Handler())
	t.Cleanup(w.server.Close)
	for _, name := range names {
		w.tables = append(w.tables, change.TableID{Schema: "dbo", Name: name})
	}
	w.SourceReachable(nil)
	w.SinkReachable(nil)
	w.RegistryReachable(nil)
	for i, id := range w.tables {
		w.TableChanged(id, bridge.TableStreaming, 1+i%3, nil)
		w.Lag(id, 0)
		w.Reached(id, w.position(i))
	}
	w.Polled(3 * time.Millisecond)
	return w
}

func (w *world) position(n int) change.Position {
	return change.Position(fmt.Sprintf("%s%02d%019d", w.clock.now().UTC().Format("20060102150405"), n%100, w.seq*1000+n))
}

// tick lets two seconds of changes pass: table i gets about rate(i) rows per second, in waves.
func (w *world) tick(rate func(i int) float64) {
	counts := make(map[bridge.CommitKey]int)
	for i, id := range w.tables {
		wave := 1 + 0.5*math.Sin(float64(w.seq)/5+float64(i)) + 0.25*math.Sin(float64(w.seq)*1.7+3*float64(i))
		if n := int(2 * rate(i) * wave); n > 0 {
			counts[bridge.CommitKey{Table: id, Op: change.OpUpdate}] = n
			w.Reached(id, w.position(i))
		}
	}
	w.seq++
	w.Horizon(w.position(99))
	w.Polled(3 * time.Millisecond)
	w.Committed(bridge.Commit{Counts: counts, Records: 1, Took: 20 * time.Millisecond})
}

// live lets two minutes pass.
func (w *world) live(rate func(i int) float64) {
	for range 62 {
		w.tick(rate)
		w.clock.advance(2 * time.Second)
	}
	w.tick(rate)
}

var (
	errColumn = fault.New(fault.Poison, "change sequence 20310510160000000000000000000004711 of dbo.Invoices",
		errors.New("column Amount: the text 12,50 is not a number"), "repair the row in the change table, and the table goes on with it; or leave the column out with source.qlik.ignore_columns")
	errRights = fault.New(fault.Table, "read dbo.Payroll__ct", errors.New("the SELECT permission was denied on the object 'Payroll__ct'"), "GRANT SELECT ON dbo.Payroll__ct TO ctbridge")
	errKafka  = fault.New(fault.Retry, "connect to kafka-1.internal:9093", errors.New("dial tcp 10.20.0.7:9093: connection refused"), "are the brokers up, and does kafka.brokers name their listener?")
)

// few is an ordinary task, all well.
func few(t *testing.T) *world {
	w := newWorld(t, "orders", "Orders", "OrderLines", "Customers")
	w.live(func(i int) float64 { return []float64{42, 130, 0.8}[i] })
	w.Lag(w.tables[1], 340*time.Millisecond)
	return w
}

// troubled has failed and missing tables, a load, a table that recovered, and a neighbour that is away.
func troubled(t *testing.T) *world {
	w := newWorld(t, "orders", "Orders", "OrderLines", "Customers", "Invoices", "Payroll", "Audit", "StockMovementsOfAllWarehouses", "Shipments")
	w.load(6, 0, 4_800_000)
	w.live(func(i int) float64 { return []float64{42, 130, 0.8, 0, 0, 0, 900, 3}[i] })
	w.clock.advance(time.Second)
	w.TableChanged(w.tables[3], bridge.TableFailed, 1, errColumn)
	w.Failed(bridge.StageRender, fault.Poison, errColumn)
	w.TableChanged(w.tables[4], bridge.TableFailed, 1, errRights)
	w.TableChanged(w.tables[5], bridge.TableMissing, 0, errors.New("no change table dbo.Audit__ct"))
	w.TableChanged(w.tables[7], bridge.TableFailed, 1, errKafka)
	w.TableChanged(w.tables[7], bridge.TableStreaming, 1, nil)
	w.load(6, 1_234_567, 4_800_000)
	w.RetentionMargin(w.tables[0], 50*time.Hour)
	w.RetentionMargin(w.tables[1], 40*time.Minute)
	w.Lag(w.tables[1], 95*time.Second)
	w.Late(w.tables[1], 2)
	w.SinkReachable(errKafka)
	w.Pending(true)
	w.clock.advance(41 * time.Second)
	w.Polled(time.Millisecond)
	w.SinkReachable(errKafka)
	return w
}

func (w *world) load(i int, done, total int64) {
	id := w.tables[i]
	w.TableChanged(id, bridge.TableLoading, 1, nil)
	w.Loaded(id, bridge.LoadProgress{State: checkpoint.LoadRunning, Rows: int(done), Done: done, Total: total})
}

// many has a thousand tables; some have failed for one reason, some are loading.
func many(t *testing.T) *world {
	var names []string
	for i := range 1000 {
		names = append(names, fmt.Sprintf("%s_%03d", []string{"Ledger", "Journal", "Booking", "Contract", "Reading"}[i%5], i))
	}
	w := newWorld(t, "warehouse-estate", names...)
	w.load(10, 0, 9_000_000)
	w.load(500, 0, 800_000)
	w.live(func(i int) float64 { return float64(i*7919%97) / float64(1+i%11) })
	for i := 3; i < 1000; i += 111 {
		w.TableChanged(w.tables[i], bridge.TableFailed, 1, fault.New(fault.Table, "read dbo."+names[i]+"__ct",
			errors.New("the SELECT permission was denied"), "GRANT SELECT ON SCHEMA :: dbo TO ctbridge"))
	}
	w.load(10, 3_000_000, 9_000_000)
	w.load(500, 200_000, 800_000)
	w.SinkReachable(nil)
	w.Committed(bridge.Commit{})
	return w
}

// shards is a task that three replicas share, of which one stands by.
func shards(t *testing.T) *world {
	w := few(t)
	w.Membership(func() metrics.Membership {
		return metrics.Membership{
			Shards: []metrics.ShardStatus{
				{Number: 0, State: "active", Replica: "ctbridge-orders-0"}, {Number: 1, State: "active", Replica: "ctbridge-orders-1"},
				{Number: 2, State: "waiting"},
			},
			Replicas: []metrics.ReplicaStatus{{ID: "ctbridge-orders-0", Self: true, Shards: []int{0}}, {ID: "ctbridge-orders-1", Shards: []int{1}}, {ID: "ctbridge-orders-2", Shards: []int{}}},
			ShardOf:  func(id change.TableID) int { return len(id.Name) % 2 },
		}
	})
	return w
}

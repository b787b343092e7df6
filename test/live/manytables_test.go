package live

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"
)

// A first start: topics, schemas and a row of each table; then nothing twice after the next one. LIVE_TABLES sets how many tables; the log of the
// test tells what it took, with the default settle time for a single table.
func TestFirstStart(t *testing.T) {
	many := 60
	if n, err := strconv.Atoi(os.Getenv("LIVE_TABLES")); err == nil {
		many = n
	}
	for _, tables := range []int{1, many} {
		db := postgres(t)
		fillTables(t, db, tables)
		for name, format := range map[string]string{"json": "format: json\n", "avro": registry(t)} {
			t.Run(fmt.Sprintf("%d tables in %s", tables, name), func(t *testing.T) {
				if tables == 1 {
					t.Setenv("LIVE_SETTLE", "1s")
				}
				measureStart(t, newBridge(t, db, format+"log: {format: text}\n"), tables)
			})
		}
	}
}

func measureStart(t *testing.T, b *bridge, tables int) {
	published := func() float64 { return b.metric("ctbridge_events_published_total") }
	begin := time.Now()
	b.start()
	started := b.waited(begin, func() bool { return b.hasLogged("msg=started") })
	first := b.waited(begin, func() bool { return published() > 0 })
	all := b.waited(begin, func() bool { return published() >= float64(tables) })
	t.Logf("started after %v, the first record after %v, all after %v", started, first, all)
	cpu, polls, begin := b.metric("process_cpu_seconds_total"), b.metric("ctbridge_poll_duration_seconds_count"), time.Now()
	b.waited(begin, func() bool {
		return time.Since(begin) > time.Second && b.metric("ctbridge_poll_duration_seconds_count") > polls
	})
	cpu, polls = b.metric("process_cpu_seconds_total")-cpu, b.metric("ctbridge_poll_duration_seconds_count")-polls
	t.Logf("idle: %.2f ms of CPU for each of %v polls, %.0f MiB resident", cpu/polls*1000, polls, b.metric("process_resident_memory_bytes")/(1<<20))
	b.kill()
	b.log.reset()
	begin = time.Now()
	b.start()
	t.Logf("started again after %v", b.waited(begin, func() bool { return b.hasLogged("msg=started") }))
	if again := published(); again != 0 {
		t.Errorf("%v rows were published again", again)
	}
	b.stop()
}

// fillTables makes tables with one change each.
func fillTables(t testing.TB, db database, tables int) {
	t.Helper()
	execute(t, db.DB, fmt.Sprintf(`DO $$ BEGIN FOR i IN 1..%d LOOP
		EXECUTE format('CREATE TABLE public.many%%s (id int PRIMARY KEY, status varchar(20), fee decimal(10,2))', i);
		EXECUTE format('CREATE TABLE public.many%%s__ct (header__change_seq varchar(35) PRIMARY KEY, header__change_oper varchar(1),
			header__change_mask bytea, header__stream_position varchar(128), header__operation varchar(12), header__transaction_id varchar(32),
			header__timestamp timestamp, id int, status varchar(20), fee decimal(10,2))', i);
		EXECUTE format('INSERT INTO public.many%%s__ct VALUES (''2023091103232500'' || lpad(%%L, 19, ''0''), ''I'', ''\x8003''::bytea,
			''00000027'', ''INSERT'', lpad(%%L, 32, ''0''), ''2023-09-11 03:23:25'', %%s, ''new'', 1.50)', i, i, i, i);
		IF i %% 100 = 0 THEN COMMIT; END IF;
	END LOOP; END $$`, tables))
}

// waited waits for a fact and tells how long it took since begin.
func (b *bridge) waited(begin time.Time, fact func() bool) time.Duration {
	b.Helper()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for !fact() {
		b.checkAlive()
		if time.Since(begin) > 3*time.Minute {
			b.Fatal("not within three minutes")
		}
		<-look.C
	}
	return time.Since(begin).Round(time.Millisecond)
}

package live

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"
)

// A first start with many tables: topics, schemas and one row of each. LIVE_TABLES sets how many; the log of the test tells what it took.
func TestFirstStartOfManyTables(t *testing.T) {
	tables := 100
	if n, err := strconv.Atoi(os.Getenv("LIVE_TABLES")); err == nil {
		tables = n
	}
	db := postgres(t)
	fillTables(t, db, tables)
	for name, format := range map[string]string{"json": "format: json\n", "avro": registry(t)} {
		t.Run(name, func(t *testing.T) {
			b := newBridge(t, db, format+"log: {format: text}\n")
			begin := time.Now()
			b.start()
			started := b.waited(begin, func() bool { return b.hasLogged("msg=started") })
			first := b.waited(begin, func() bool { return b.metric("ctbridge_events_published_total") > 0 })
			all := b.waited(begin, func() bool { return b.metric("ctbridge_events_published_total") >= float64(tables) })
			t.Logf("%d tables: started after %v, the first record after %v, all after %v", tables, started, first, all)
			b.kill()
			b.log.reset()
			begin = time.Now()
			b.start()
			t.Logf("%d tables: started again after %v", tables, b.waited(begin, func() bool { return b.hasLogged("msg=started") }))
			b.stop()
		})
	}
}

// fillTables makes tables with one change each.
func fillTables(t testing.TB, db database, tables int) {
	t.Helper()
	execute(t, db.DB, fmt.Sprintf(`DO $$ BEGIN FOR i IN 1..%d LOOP
		EXECUTE format('CREATE TABLE public.many%%s (id int PRIMARY KEY, status varchar(20), fee decimal(10,2))', i);
		EXECUTE format('CREATE TABLE public.many%%s__ct (header__change_seq varchar(35) NOT NULL, header__change_oper varchar(1), header__change_mask bytea, header__stream_position varchar(128), header__operation varchar(12), header__transaction_id varchar(32), header__timestamp timestamp, id int, status varchar(20), fee decimal(10,2))', i);
		EXECUTE format('INSERT INTO public.many%%s__ct VALUES (''2023091103232500'' || lpad(%%L, 19, ''0''), ''I'', ''\x8003''::bytea, ''00000027'', ''INSERT'', lpad(%%L, 32, ''0''), ''2023-09-11 03:23:25'', %%s, ''new'', 1.50)', i, i, i, i);
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
		if time.Since(begin) > 10*time.Minute {
			b.Fatal("not within three minutes")
		}
		<-look.C
	}
	return time.Since(begin).Round(time.Millisecond)
}

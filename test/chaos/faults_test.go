package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"ctbridge/test/chaos/proxy"
	"ctbridge/test/stack/servers"
)

// kills ends the process a few times at random moments.
func kills(st *stage) {
	for range 4 {
		<-time.After(time.Duration(50+st.random.IntN(800)) * time.Millisecond)
		st.kill()
		st.start()
	}
	st.lift()
}

// secondInstance starts the same task once more: it must wait and change nothing.
func secondInstance(st *stage) {
	second := &process{TB: st.TB, program: st.program, config: st.process.config, env: st.process.env}
	defer second.abandon()
	second.start()
	eventually(st, time.Minute, func() bool { return strings.Contains(second.log.String(), "this replica is a member") }, second.log.tail)
	st.flows(100)
	second.drain()
}

// crash ends a server as a power cut does, for a while.
func (st *stage) crash(server string, long time.Duration) {
	st.Helper()
	st.control((*servers.Stack).Kill, server)
	st.endures(time.Second, long)
	st.control((*servers.Stack).Start, server)
}

// freeze makes a server silent, its connections stay.
func (st *stage) freeze(server string) {
	st.Helper()
	st.control((*servers.Stack).Pause, server)
	st.endures(2*time.Second, 20*time.Second)
	st.control((*servers.Stack).Resume, server)
}

// terminate ends all sessions of the database.
func terminate(st *stage) {
	text := "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = '" + st.task + "'"
	if _, err := st.admin.Exec(text); err != nil {
		st.Fatal(err)
	}
}

// notEnoughReplicas asks for more replicas of a topic than there are brokers, for a while.
func notEnoughReplicas(st *stage) {
	st.needReplicas("2")
	st.endures(2*time.Second, time.Minute)
	st.needReplicas("1")
}

func (st *stage) needReplicas(n string) {
	st.Helper()
	request := kmsg.NewPtrIncrementalAlterConfigsRequest()
	resource := kmsg.NewIncrementalAlterConfigsRequestResource()
	resource.ResourceType, resource.ResourceName = kmsg.ConfigResourceTypeTopic, st.task+".one"
	config := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	config.Name, config.Value = "min.insync.replicas", kmsg.StringPtr(n)
	resource.Configs = append(resource.Configs, config)
	request.Resources = append(request.Resources, resource)
	response, err := request.RequestWith(context.Background(), st.read.client)
	if err == nil {
		err = kerr.ErrorForCode(response.Resources[0].ErrorCode)
	}
	if err != nil {
		st.Fatalf("min.insync.replicas of %s: %v", resource.ResourceName, err)
	}
}

// fence opens the task's transactional id from outside, as a process would that knows nothing of the group.
func fence(st *stage) {
	request := kmsg.NewPtrInitProducerIDRequest()
	request.TransactionalID = kmsg.StringPtr("ctbridge." + st.task + ".0")
	request.TransactionTimeoutMillis, request.ProducerID, request.ProducerEpoch = 60000, -1, -1
	eventually(st, 20*time.Second, func() bool {
		response, err := request.RequestWith(context.Background(), st.read.client)
		if err == nil {
			err = kerr.ErrorForCode(response.ErrorCode)
		}
		if err != nil && !kerr.IsRetriable(err) && !errors.Is(err, kerr.ConcurrentTransactions) {
			st.Fatal(err)
		}
		return err == nil
	}, func() string { return "the fencing" })
}

// registryFault lets a table come whose schema cannot be registered. The others go on; it follows when the registry is well.
func registryFault(mood proxy.Mood) func(*stage) {
	return func(st *stage) {
		st.registry.Set(mood)
		st.create("late")
		st.work.lateShare.Store(5)
		eventually(st, time.Minute, func() bool { st.mustLive(); return st.registry.Struck() > 0 }, func() string { return "a request to the registry" })
		st.flows(200)
		st.endures(time.Second, 10*time.Second)
		st.registry.Set(proxy.Well)
	}
}

// largeTransaction commits one transaction that is far larger than what the bridge holds at a time, beside the others.
func largeTransaction(st *stage) {
	rows := 200_000
	if full() {
		rows = 5_000_000
	}
	tx, err := st.work.db.DB.Begin()
	if err == nil {
		_, err = tx.Exec("SELECT pg_current_xact_id()") // before it takes sequences: who takes them first is seen by the settle time alone
	}
	if err != nil {
		st.Fatal(err)
	}
	index, t := st.work.begin(rows, false)
	if err = st.work.write(context.Background(), tx, t); err == nil {
		err = tx.Commit()
	}
	if err != nil {
		st.Fatal(err)
	}
	st.work.end(index, committed)
}

// fullDisk fills the disk of the checkpoint, for a while.
func fullDisk(st *stage) {
	filler := filepath.Join(st.dir, "filler")
	file, err := os.Create(filler)
	for err == nil {
		_, err = file.Write(make([]byte, 512))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		st.Fatal(err)
	}
	_ = file.Close()
	eventually(st, 30*time.Second, func() bool { st.mustLive(); return strings.Contains(st.log.String(), "no space left") }, func() string { return "the log to tell of it" })
	st.endures(time.Second, 10*time.Second)
	if err := os.Remove(filler); err != nil {
		st.Fatal(err)
	}
}

// idleTables makes a thousand tables in which nothing happens.
func idleTables(st *stage) {
	_, err := st.work.db.DB.Exec(`DO $$ BEGIN FOR i IN 1..1000 LOOP
		EXECUTE format('CREATE TABLE public.idle%s (id int PRIMARY KEY, status varchar(20), fee decimal(10,2))', i);
		EXECUTE format('CREATE TABLE public.idle%s__ct (LIKE public.one__ct INCLUDING INDEXES)', i);
	END LOOP; END $$`)
	if err != nil {
		st.Fatal(err)
	}
}

// crookedStamp is the time of an event on a host whose clock jumps to and fro; the sequence goes on.
func crookedStamp(n int) string {
	at := time.Date(2023, 9, 11, 3, 23, 25, 0, time.UTC)
	return at.Add(time.Duration(n/50%3-1) * 25 * time.Hour).Format("2006-01-02 15:04:05")
}

// crookedClock runs the bridge on a clock that jumps by itself. The kernel's is not ours to set, so the program is built with a time.Now of its own:
// three seconds after the start it is two hours ahead, six seconds after it two hours behind, nine seconds after it right again.
func crookedClock(st *stage) {
	source := filepath.Join(goroot(st), "src", "time", "time.go")
	text, err := os.ReadFile(source)
	if err != nil {
		st.Fatal(err)
	}
	now := regexp.MustCompile(`(?m)^func Now\(\) Time \{\n\tsec, nsec, mono := runtimeNow\(\)\n`)
	if len(now.FindAll(text, -1)) != 1 {
		st.Fatalf("%s does not have the time.Now that this scenario changes", source)
	}
	jump := "\tif since := mono - startNano; since > 3e9 && since < 6e9 {\n\t\tsec += 7200\n\t} else if since >= 6e9 && since < 9e9 {\n\t\tsec -= 7200\n\t}\n"
	text = now.ReplaceAllFunc(text, func(head []byte) []byte { return slices.Concat(head, []byte(jump)) })
	changed, overlay := filepath.Join(st.TempDir(), "time.go"), filepath.Join(st.TempDir(), "overlay.json")
	if err := os.WriteFile(changed, text, 0o600); err != nil {
		st.Fatal(err)
	}
	if err := os.WriteFile(overlay, fmt.Appendf(nil, `{"Replace": {%q: %q}}`, source, changed), 0o600); err != nil {
		st.Fatal(err)
	}
	st.program = filepath.Join(st.TempDir(), "crooked")
	if err := build(st.program, "-overlay", overlay); err != nil {
		st.Fatal(err)
	}
}

package enginetest

import (
	"context"
	"strings"
	"testing"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/source"
)

// patience is the limit that the network checks give an engine for a connect or an answer.
const patience = time.Second

// many is how many rows of about 250 bytes the table of the network checks has.
const many = 2000

func checkNetwork(t *testing.T, h Harness) {
	if h.Server == nil {
		t.Skip("the product is embedded")
	}
	f := newFixture(t, h)
	id, columns := f.sequences("network", many)
	t.Run("Connect", func(t *testing.T) { checkConnect(t, h) })
	t.Run("WrongPassword", func(t *testing.T) { checkWrongPassword(t, h) })
	t.Run("Denied", func(t *testing.T) { checkDenied(t, h, id, columns) })
	for _, b := range breaks {
		for _, p := range phases {
			t.Run("Case82_"+b.name+"_"+p.name, func(t *testing.T) { checkBroken(t, h, b, p, id, columns) })
		}
	}
	t.Run("CancelWhileSilent", func(t *testing.T) { checkCancelSilent(t, h, id, columns) })
}

// reach opens an engine by another way and pings it; either may fail.
func reach(t *testing.T, h Harness, way Way) error {
	t.Helper()
	engine, err := h.Server.OpenAt(t, way)
	if err != nil {
		return err
	}
	defer engine.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return engine.Ping(ctx)
}

// checkConnect: nobody listens, and somebody who never answers. The context has no say in it: the engine's own limit ends it.
func checkConnect(t *testing.T, h Harness) {
	for name, addr := range map[string]string{"refused": Refused(t), "silent": Silent(t)} {
		start := time.Now()
		err := reach(t, h, Way{Addr: addr, Password: h.Server.Password, Patience: patience})
		wantClass(t, err, fault.Retry)
		if took := time.Since(start); took > patience+prompt {
			t.Errorf("%s: took %v", name, took)
		}
		wantNoSecret(t, err, h.Server.Password)
	}
}

func checkWrongPassword(t *testing.T, h Harness) {
	const wrong = "wr0ng-pa55word"
	err := reach(t, h, Way{Addr: h.Server.Addr, Password: wrong, Patience: 20 * patience})
	wantClass(t, err, fault.Fatal)
	wantNoSecret(t, err, wrong)
}

func wantNoSecret(t *testing.T, err error, secret string) {
	t.Helper()
	if secret != "" && strings.Contains(err.Error(), secret) {
		t.Errorf("the error shows the password: %v", err)
	}
}

func checkDenied(t *testing.T, h Harness, id change.TableID, columns []change.Column) {
	if h.Server.Denied == nil {
		t.Skip("the harness has no login without rights")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	engine := h.Server.Denied(t, id)
	defer engine.Close()
	_, err := read(ctx, engine.Prepare(selectText(engine, id, columns, ""), columns), len(columns))
	wantClass(t, err, fault.Table)
	checkGrant(t, h, engine, id, columns)
}

type breakage struct {
	name string
	do   func(p *Proxy, bytes int64)
}

// breaks are the ways in which a connection fails: at once, or after some bytes of an answer.
var breaks = []breakage{
	{"Cut", (*Proxy).CutAfter},
	{"Stall", (*Proxy).StallAfter},
	{"Refuse", func(p *Proxy, _ int64) { p.Refuse() }},
}

type phase struct {
	name  string
	bytes int64 // that still pass
	run   func(ctx context.Context, e source.Engine, page source.Statement, id change.TableID) error
}

// phases are the moments at which it fails.
var phases = []phase{
	{"Ping", 0, func(ctx context.Context, e source.Engine, _ source.Statement, _ change.TableID) error {
		return e.Ping(ctx)
	}},
	{"Tables", 0, func(ctx context.Context, e source.Engine, _ source.Statement, _ change.TableID) error {
		_, err := e.Tables(ctx)
		return err
	}},
	{"Describe", 0, func(ctx context.Context, e source.Engine, _ source.Statement, id change.TableID) error {
		_, err := e.Describe(ctx, []change.TableID{id})
		return err
	}},
	{"FirstFetch", 0, fetch},
	{"MidFetch", 100_000, fetch},
}

func fetch(ctx context.Context, _ source.Engine, page source.Statement, _ change.TableID) error {
	_, err := read(ctx, page, 3)
	return err
}

// checkBroken breaks a connection that has worked: the error is there, it may be tried again, and no short result passes for a whole
// one (case 80). Once the way is free the same engine and statement work again.
func checkBroken(t *testing.T, h Harness, b breakage, p phase, id change.TableID, columns []change.Column) {
	f, proxy := throughProxy(t, h)
	page := f.selectAll(id, columns, "ORDER BY t.seq")
	if got := f.rows(page, 3); len(got) != many {
		t.Fatalf("%d rows, want %d", len(got), many)
	}
	b.do(proxy, p.bytes)
	start := time.Now()
	err := p.run(f.ctx, f.engine, page, id)
	wantClass(t, err, fault.Retry)
	if took := time.Since(start); took > 2*patience+prompt {
		t.Errorf("took %v", took)
	}
	proxy.Pass()
	f.recovers(page)
}

// throughProxy opens an engine behind a proxy.
func throughProxy(t *testing.T, h Harness) (*fixture, *Proxy) {
	t.Helper()
	proxy := NewProxy(t, h.Server.Addr)
	direct := h.Open
	h.Open = func(t *testing.T) source.Engine {
		engine, err := h.Server.OpenAt(t, Way{Addr: proxy.Addr(), Password: h.Server.Password, Patience: patience})
		if err != nil {
			t.Fatal(err)
		}
		return engine
	}
	f := newFixture(t, h)
	f.h.Open = direct
	return f, proxy
}

// recovers allows as many failures as there may be dead connections in the pool.
func (f *fixture) recovers(page source.Statement) {
	f.Helper()
	var err error
	for range 4 {
		var got [][]change.Value
		if got, err = read(f.ctx, page, 3); err == nil {
			if len(got) != many {
				f.Errorf("%d rows after recovery, want %d", len(got), many)
			}
			return
		}
	}
	f.Errorf("does not recover: %v", err)
}

// checkCancelSilent ends the context while the server is silent in the middle of a result.
func checkCancelSilent(t *testing.T, h Harness, id change.TableID, columns []change.Column) {
	f, proxy := throughProxy(t, h)
	page := f.selectAll(id, columns, "ORDER BY t.seq")
	f.rows(page, 3)
	proxy.StallAfter(100_000)
	ctx, cancel := context.WithTimeout(f.ctx, 200*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := read(ctx, page, 3)
	wantClass(t, err, fault.Retry)
	wantPrompt(t, start)
}

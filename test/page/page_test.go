package page

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ctbridge/bridge/fault"
	"ctbridge/test/stack/servers"
)

var screenshots = flag.String("screenshots", "", "write what the browser shows into this folder, to be looked at")

// browser starts Chromium for a test.
func browser(t *testing.T) *Browser {
	t.Helper()
	program := os.Getenv(servers.ChromiumVariable)
	if program == "" {
		t.Skipf("%s is not set: go run ./test/stack run -only chromium -- go test ./test/page", servers.ChromiumVariable)
	}
	b, err := Start(program, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

var (
	desktop = Screen{Width: 1360, Height: 900}
	phone   = Screen{Width: 390, Height: 844, Scale: 2, Phone: true}
)

func (s Screen) dark() Screen { s.Dark = true; return s }

// look is a tab with what tests ask of it; every failure ends the test.
type look struct {
	*testing.T
	ctx context.Context
	tab *Tab
}

func open(t *testing.T, b *Browser, address string, s Screen) *look {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // of a busy machine
	t.Cleanup(cancel)
	tab, err := b.Open(ctx, address, s)
	if err != nil {
		t.Fatal(err)
	}
	return &look{t, ctx, tab}
}

func (l *look) until(expression string) {
	l.Helper()
	if err := l.tab.Until(l.ctx, expression); err != nil {
		l.Fatalf("%v; complaints: %s", err, l.tab.Complaints())
	}
}

func (l *look) eval(expression string, into any) {
	l.Helper()
	value, err := l.tab.Eval(l.ctx, expression)
	if err == nil {
		err = json.Unmarshal(value, into)
	}
	if err != nil {
		l.Fatalf("%s: %v", expression, err)
	}
}

func (l *look) text(expression string) (out string) {
	l.Helper()
	l.eval(expression, &out)
	return out
}

func (l *look) number(expression string) (out float64) {
	l.Helper()
	l.eval(expression, &out)
	return out
}

func (l *look) do(expression string) {
	l.Helper()
	if _, err := l.tab.Eval(l.ctx, expression+";0"); err != nil {
		l.Fatal(err)
	}
}

func (l *look) quiet() {
	l.Helper()
	for _, complaint := range l.tab.Complaints() {
		l.Errorf("the page complains: %s", complaint)
	}
}

func (l *look) shoot(name string, whole bool) {
	l.Helper()
	if *screenshots == "" {
		return
	}
	png, err := l.tab.Screenshot(l.ctx, whole)
	if err == nil {
		err = os.WriteFile(filepath.Join(*screenshots, name+".png"), png, 0o644)
	}
	if err != nil {
		l.Fatal(err)
	}
}

const rows = `document.querySelectorAll("#body tr:not(.why)").length`

// The page shows every table, changes by itself, asks nobody but its server, and complains of nothing.
func TestPageIsLive(t *testing.T) {
	b, w := browser(t), few(t)
	l := open(t, b, w.server.URL, desktop)
	l.until(rows + " === 3")
	if got := l.text(`document.querySelector("#verdict-text").textContent`); got != "All fine" {
		t.Error(got)
	}
	if got := l.text(`document.querySelector("#body tr").children[0].textContent`); !strings.HasPrefix(got, "dbo.Customers") {
		t.Errorf("first row %q", got)
	}
	l.do(`window.kept = document.querySelector("#body tr")`)
	w.TableChanged(w.tables[2], "failed", 1, errColumn)
	w.tick(func(int) float64 { return 1000 })
	l.until(`document.querySelector("#verdict-text").textContent === "1 table failed"`)
	l.until(`document.querySelector(".problem .hint")?.textContent.includes("repair the row")`)
	l.until(`window.kept.isConnected && window.kept.className === "failed explained" && document.title.startsWith("1 table failed")`)
	w.TableChanged(w.tables[2], "streaming", 1, nil)
	l.until(`document.querySelector("#problems").hidden && window.kept.nextSibling.textContent.includes("Recovered")`)
	for _, address := range l.tab.Requests() {
		if !strings.HasPrefix(address, w.server.URL) && !strings.HasPrefix(address, "data:") {
			t.Errorf("the page asks %s", address)
		}
	}
	l.quiet()
	w.server.CloseClientConnections()
	w.server.Close()
	l.until(`!document.querySelector("#lost").hidden && document.querySelector("#lost").textContent.startsWith("No answer since")`)
	l.shoot("lost", false)
}

// Whatever a table or an error is called, it is text.
func TestMarkupIsText(t *testing.T) {
	b := browser(t)
	w := newWorld(t, `<img src=x onerror="window.hit=1">`, `<script>window.hit=1</script>`, `a"b'c&d`)
	hostile := fault.New(fault.Table, "<img src=x onerror=window.hit=1>", errors.New("<b>bold</b>"), "<script>window.hit=1</script>")
	w.TableChanged(w.tables[0], "failed", 1, hostile)
	w.TableChanged(w.tables[1], "failed", 1, hostile)
	w.TableChanged(w.tables[1], "streaming", 1, nil)
	w.SourceReachable(hostile)
	w.Failed("poll", fault.Table, hostile)
	l := open(t, b, w.server.URL, desktop)
	l.until(rows + " === 2")
	if n := l.number(`document.querySelectorAll("main img, main script, #body b b").length`); n != 0 {
		t.Errorf("%v elements were made of texts", n)
	}
	if got := l.text(`document.querySelector("#body").textContent`); !strings.Contains(got, `dbo.<script>window.hit=1</script>`) || !strings.Contains(got, `dbo.a"b'c&d`) {
		t.Error(got)
	}
	if got := l.text(`String(window.hit)`); got != "undefined" {
		t.Error("a name was executed")
	}
	l.quiet()
}

// A thousand tables: failed ones first, found by name, by state, in any order, quickly.
func TestManyTables(t *testing.T) {
	b, w := browser(t), many(t)
	l := open(t, b, w.server.URL, desktop)
	l.until(rows + " === 250")
	if got := l.text(`[...document.querySelectorAll("#body tr:not(.why)")].slice(0, 12).map(r => r.className.split(" ")[0]).join()`); got != strings.Repeat("failed,", 9)+"loading,loading,streaming" {
		t.Error(got)
	}
	if got := l.text(`document.querySelector(".problem h3 span").textContent`); got != "dbo.Booking_447 and 8 more tables stopped" {
		t.Error(got)
	}
	l.do(`document.dispatchEvent(new KeyboardEvent("keydown", {key: "/", bubbles: true}))`)
	if err := l.tab.Type(l.ctx, "ledger_99"); err != nil {
		t.Fatal(err)
	}
	l.until(rows + " === 2")
	l.do(`const f = document.getElementById("filter"); f.value = ""; f.dispatchEvent(new Event("input"))`)
	l.do(`document.querySelector("#chips [data-state=failed]").click()`)
	l.until(rows + " === 9")
	l.do(`document.querySelector("#chips [data-state=all]").click(); document.querySelector("th[data-sort=rate] button").click()`)
	l.until(`document.querySelector("th[data-sort=rate]").getAttribute("aria-sort") === "descending"`)
	if top := l.number(`parseFloat(document.querySelector("#body tr .rate").textContent)`); top < 50 {
		t.Errorf("the first of the fastest has %v rows/s", top)
	}
	l.do(`document.getElementById("more").click()`)
	l.until(rows + " === 1000")
	took := l.number(`Math.min(...[1, 2, 3, 4, 5].map(() => { const begin = performance.now(); for (const t of last.tables) t.events++; show(); document.body.offsetHeight; return performance.now() - begin }))`)
	t.Logf("one round over 1000 shown tables: %.0f ms", took)
	if took > 500 {
		t.Errorf("one round takes %.0f ms", took)
	}
	l.quiet()
}

// contrast gives the texts whose contrast with their ground is below WCAG AA, as lines.
const contrast = `(() => {
  const rgb = c => c.match(/[\d.]+/g).map(Number);
  const lum = ([r, g, b]) => [r, g, b].map(v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4).reduce((s, v, i) => s + v * [.2126, .7152, .0722][i], 0);
  const ground = e => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > 0) return c } return [255, 255, 255] };
  const bad = new Set();
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let n; n = walk.nextNode();) {
    const e = n.parentElement;
    if (!n.textContent.trim() || !e.checkVisibility()) continue;
    const style = getComputedStyle(e), a = lum(rgb(style.color)), b = lum(ground(e));
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05), large = parseFloat(style.fontSize) >= 24;
    if (ratio < (large ? 3 : 4.5)) bad.add(ratio.toFixed(2) + " " + e.className + " " + n.textContent.trim().slice(0, 40));
  }
  return [...bad].join("\n");
})()`

// The page can be read in both themes, and by those who listen.
func TestAccessible(t *testing.T) {
	b, w := browser(t), troubled(t)
	for _, screen := range []Screen{desktop, desktop.dark(), phone, phone.dark()} {
		l := open(t, b, w.server.URL, screen)
		l.until(rows + " === 8")
		if bad := l.text(contrast); bad != "" {
			t.Errorf("dark %v, phone %v: too little contrast:\n%s", screen.Dark, screen.Phone, bad)
		}
		var nodes struct {
			Nodes []struct {
				Role struct {
					Value string `json:"value"`
				} `json:"role"`
				Name struct {
					Value string `json:"value"`
				} `json:"name"`
			} `json:"nodes"`
		}
		result, err := b.call(l.ctx, l.tab.session, "Accessibility.getFullAXTree", nil)
		if err == nil {
			err = json.Unmarshal(result, &nodes)
		}
		if err != nil {
			t.Fatal(err)
		}
		count := map[string]int{}
		for _, n := range nodes.Nodes {
			count[n.Role.Value]++
			if (n.Role.Value == "button" || n.Role.Value == "searchbox" || n.Role.Value == "progressIndicator") && n.Name.Value == "" {
				t.Errorf("a %s without name", n.Role.Value)
			}
		}
		if count["table"] != 2 || count["row"] < 10 || count["rowheader"] != 8 || count["main"] != 1 || count["heading"] < 5 {
			t.Errorf("dark %v, phone %v: %v", screen.Dark, screen.Phone, count)
		}
		l.quiet()
	}
}

// Every kind of task on every kind of screen: nothing runs out of it, what is touched is large enough, and nothing is complained of. People look
// at them with -args -screenshots DIR.
func TestEveryScreen(t *testing.T) {
	b := browser(t)
	for name, w := range map[string]*world{"few": few(t), "troubled": troubled(t), "many": many(t), "empty": newWorld(t, "orders"), "shards": shards(t)} {
		for kind, screen := range map[string]Screen{"desktop-light": desktop, "desktop-dark": desktop.dark(), "phone-light": phone, "phone-dark": phone.dark()} {
			l := open(t, b, w.server.URL, screen)
			l.until(`typeof last !== "undefined" && last`)
			l.until(rows + " === Math.min(250, last.tables.length)")
			l.shoot(name+"-"+kind, name != "many")
			l.do(`document.getElementById("tables").scrollIntoView()`)
			l.shoot(name+"-"+kind+"-tables", false)
			if wide := l.number(`document.documentElement.scrollWidth`); wide > float64(screen.Width) {
				t.Errorf("%s, %s: the page is %v wide", name, kind, wide)
			}
			if low := l.number(`Math.min(...[...document.querySelectorAll("#chips button")].map(b => b.offsetHeight))`); screen.Phone && low < 32 {
				t.Errorf("%s, %s: buttons are %v high", name, kind, low)
			}
			l.quiet()
			if err := l.tab.Close(l.ctx); err != nil {
				t.Error(err)
			}
		}
	}
}

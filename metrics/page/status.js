// The status page: asks api/status once a second and changes what has changed. Texts of others only ever become text, never markup.
"use strict";

const every = 1000; // ms between two questions
const most = 250; // rows that are shown before somebody asks for more
const $ = (id) => document.getElementById(id);

// How things are said.

const plural = (n, what) => `${count(n)} ${what}${n === 1 ? "" : "s"}`;
const count = (n) => (n >= 1e9 ? (n / 1e9).toFixed(2) + " G" : n >= 1e7 ? (n / 1e6).toFixed(1) + " M" : n.toLocaleString("en"));
const perSecond = (r) => (r === 0 ? "0" : r < 10 ? r.toFixed(1) : count(Math.round(r)));

function duration(s) {
  if (s < 0.0005) return "0 s";
  if (s < 1) return `${Math.max(1, Math.round(s * 1000))} ms`;
  if (s < 10) return `${s.toFixed(1)} s`;
  s = Math.round(s);
  const unit = (big, small, n, left) => `${n} ${big}` + (left ? ` ${left} ${small}` : "");
  if (s < 60) return `${s} s`;
  if (s < 3600) return unit("min", "s", Math.floor(s / 60), s < 600 ? s % 60 : 0);
  if (s < 86400) return unit("h", "min", Math.floor(s / 3600), Math.floor((s % 3600) / 60));
  return unit("d", "h", Math.floor(s / 86400), Math.floor((s % 86400) / 3600));
}

const clock = (t) => new Date(t).toLocaleTimeString([], { hour12: false });
const date = (t) => new Date(t).toLocaleString("sv"); // that is 2031-05-10 16:00:00
function ago(t, now) {
  if (!t) return "never";
  const s = Math.round((new Date(now) - new Date(t)) / 1000);
  return s < 1 ? "just now" : `${span(s).split(" ").slice(0, 2).join(" ")} ago`;
}
// span is a duration in whole seconds, since or for which something is so.
const span = (s) => (s < 9.5 ? `${Math.round(Math.max(0, s))} s` : duration(s));
const between = (from, to) => span((new Date(to) - new Date(from)) / 1000);

// How the document is changed: only where it differs, so that a selection, the focus and the scroll position stay.

function set(node, text) {
  if (node.textContent !== text) node.textContent = text;
}
function attribute(node, name, value) {
  if (node.getAttribute(name) !== value) node.setAttribute(name, value);
}
function make(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) node.setAttribute(name, value);
  node.append(...children);
  return node;
}
// keyed makes the children of a parent those of the list, reusing nodes by key.
function keyed(parent, list, keyOf, create, update) {
  const have = new Map([...parent.children].map((c) => [c.dataset.key, c]));
  let at = parent.firstElementChild;
  for (const item of list) {
    const key = String(keyOf(item));
    let node = have.get(key);
    if (!node) {
      node = create(item);
      node.dataset.key = key;
    }
    have.delete(key);
    update(node, item);
    if (node === at) at = at.nextElementSibling;
    else parent.insertBefore(node, at);
  }
  for (const node of have.values()) node.remove();
}

// A curve over the last steps, as two paths: the area and its upper edge.
function draw(svg, history, width, height) {
  const drawn = history.join();
  if (svg.drawn === drawn) return;
  svg.drawn = drawn;
  const top = Math.max(1, ...history);
  const x = (i) => ((i * width) / Math.max(1, history.length - 1)).toFixed(1);
  const y = (v) => (height - 1 - ((height - 3) * v) / top).toFixed(1);
  const line = history.map((v, i) => `${i ? "L" : "M"}${x(i)} ${y(v)}`).join("");
  svg.children[0].setAttribute("d", line && `${line}L${width} ${height}L0 ${height}Z`);
  svg.children[1].setAttribute("d", line);
}
function spark() {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  for (const [name, value] of Object.entries({ viewBox: "0 0 100 20", preserveAspectRatio: "none", "aria-hidden": "true" })) svg.setAttribute(name, value);
  for (const kind of ["area", "line"]) {
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    path.setAttribute("class", kind);
    svg.append(path);
  }
  return svg;
}

// The head.

const verdicts = { ok: "All fine", starting: "Starting", standby: "Standing by" };
const colours = { ok: "#1f9d57", standby: "#1f9d57", starting: "#c98a1b", unknown: "#888888" };

function verdictOf(s) {
  const { failed, missing } = s.totals;
  const away = s.neighbours.filter((n) => n.state === "away").map((n) => neighbourNames[n.name] || n.name);
  const parts = [s.state === "stuck" && "Stuck", away.length && `${away.join(", ")} away`, failed && `${plural(failed, "table")} failed`, missing && `${plural(missing, "table")} missing`];
  return parts.filter(Boolean).join(", ") || (s.state === "ok" && !s.totals.tables ? "No tables" : verdicts[s.state]) || s.state;
}

function head(s) {
  set($("task"), s.task || "task");
  say(s.state, verdictOf(s));
  set($("live"), `Live, ${clock(s.now)}, up ${duration(s.uptime_seconds)}`);
  document.title = (s.state === "ok" || s.state === "standby" ? "" : verdictOf(s) + " · ") + (s.task || "ctbridge");
}

function say(state, text) {
  attribute($("verdict"), "data-state", state);
  set($("verdict-text"), text);
  const icon = `data:image/svg+xml,` + encodeURIComponent(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><circle cx="8" cy="8" r="7" fill="${colours[state] || "#d0342c"}"/></svg>`);
  attribute($("icon"), "href", icon);
}

// What is wrong, and what to do. Tables that stopped for the same reason are one problem.

function problemsOf(s) {
  const out = s.neighbours.filter((n) => n.state === "away").map((n) => ({ key: "n " + n.name, title: `${neighbourNames[n.name] || n.name} does not answer`, error: n.error }));
  if (s.state === "stuck") {
    out.unshift({ key: "stuck", title: "The task does not move", error: { message: s.problems.join("; "), hint: "look at the log and at the neighbours; Kubernetes restarts it by /healthz" } });
  }
  const groups = new Map();
  for (const t of s.tables) {
    if (!["failed", "missing", "source_rewound", "capture_stopped"].includes(t.state)) continue;
    const e = t.error || { message: "", hint: "" };
    const key = `${t.state} ${e.class} ${e.hint || e.message}`;
    if (groups.has(key)) groups.get(key).names.push(t.table);
    else groups.set(key, { key, state: t.state, names: [t.table], error: e });
  }
  for (const g of [...groups.values()].sort((a, b) => order[a.state] - order[b.state])) {
    const rest = g.names.length - 1;
    out.push({ ...g, title: g.names[0] + (rest ? ` and ${plural(rest, "more table")}` : "") + (g.state === "missing" ? ": no change table" : " stopped") });
  }
  return out;
}

function problems(s) {
  const all = problemsOf(s);
  $("problems").hidden = all.length === 0;
  const shown = all.slice(0, 6);
  if (all.length > 6) shown.push({ key: "rest", title: `${plural(all.length - 6, "more problem")} below`, error: { message: "", hint: "" } });
  keyed($("problems"), shown, (p) => p.key, () => make("article", { class: "problem" }, make("h3", {}, make("span"), make("small")), make("p"), make("p", { class: "hint" }, make("b"), make("span"))), (node, p) => {
    const [title, message, hint] = node.children;
    set(title.children[0], p.title);
    set(title.children[1], p.error && p.error.since ? `for ${between(p.error.since, s.now)}` : "");
    set(message, p.error ? p.error.message : "");
    hint.hidden = !(p.error && p.error.hint);
    set(hint.children[0], "What helps: ");
    set(hint.children[1], p.error ? p.error.hint : "");
  });
}

// The totals.

const neighbourNames = { source: "Source", kafka: "Kafka", registry: "Registry" };

function totals(s) {
  const t = s.totals;
  set($("rate"), perSecond(t.rows_per_second));
  set($("events"), `${plural(t.events, "event")} since the start`);
  draw($("chart"), t.history, 100, 30);
  const lag = t.lag_seconds;
  set($("lag"), lag === null ? "–" : lag === 0 ? "None" : duration(lag));
  set($("lag-note"), lag === null ? "not known yet" : lag === 0 ? "every table is caught up" : t.lag_table);
  const c = s.checkpoint;
  const waiting = c.age_seconds > 5; // less is a commit that is under way
  set($("age"), waiting ? duration(c.age_seconds) : "Current");
  $("age").classList.toggle("bad", c.age_seconds > 60);
  set($("age-note"), waiting ? `changes are waiting; last commit ${ago(c.committed_at, s.now)}` : c.committed_at ? `last commit ${ago(c.committed_at, s.now)}` : "nothing to commit so far");
  loads(s);
  keyed($("neighbours"), s.neighbours, (n) => n.name, () => make("li", {}, make("span", { class: "mark", "aria-hidden": "true" }), make("span"), make("small")), (node, n) => {
    attribute(node, "class", n.state);
    set(node.children[1], neighbourNames[n.name] || n.name);
    set(node.children[2], n.state === "away" ? `away ${between(n.since, s.now)}` : n.state === "unknown" ? "not asked yet" : n.name === "registry" ? `asked ${ago(n.asked_at, s.now)}` : n.name === "source" ? n.kind : "reachable");
  });
}

const underWay = (l) => l && (l.state === "running" || l.state === "paused" || l.state === "waiting");

function loads(s) {
  const running = s.tables.filter((t) => underWay(t.load)).map((t) => t.load);
  $("load-tile").hidden = running.length === 0;
  if (!running.length) return;
  const sum = (f) => running.reduce((n, l) => n + (f(l) || 0), 0);
  const done = sum((l) => l.rows_done), all = sum((l) => Math.max(l.rows_expected, l.rows_done));
  set($("load-share"), all ? `${Math.floor((100 * done) / all)} %` : "–");
  attribute($("load-bar"), "value", String(all ? done / all : 0));
  const left = Math.max(0, ...running.map((l) => l.seconds_left || 0));
  set($("load-note"), `${plural(running.length, "table")}, ${count(done)} of ${count(all)} rows` + (left ? `, ${duration(left)} left` : ""));
}

// The tables.

const order = { failed: 0, missing: 1, source_rewound: 0, capture_stopped: 1, loading: 2, streaming: 3 };
const sorts = {
  state: (a, b) => (order[a.state] ?? 9) - (order[b.state] ?? 9),
  table: () => 0,
  rate: (a, b) => a.rows_per_second - b.rows_per_second,
  lag: (a, b) => (a.lag_seconds ?? -1) - (b.lag_seconds ?? -1),
  margin: (a, b) => (a.retention_margin_seconds ?? Infinity) - (b.retention_margin_seconds ?? Infinity),
  events: (a, b) => a.events - b.events,
  version: (a, b) => a.version - b.version,
  position: (a, b) => (a.position < b.position ? -1 : a.position > b.position ? 1 : 0),
};
const largestFirst = new Set(["rate", "lag", "events", "version"]);
const moving = new Set(["rate", "lag", "events", "position", "margin"]); // by these, rows would dance: they keep their places for a while
const view = { sort: "state", down: false, state: "all", filter: "", all: false, ranked: 0, rank: new Map() };

function visible(s) {
  const words = view.filter.toLowerCase().split(/\s+/).filter(Boolean);
  const wanted = s.tables.filter((t) => {
    if (view.state !== "all" && t.state !== view.state) return false;
    if (!words.length) return true;
    const text = `${t.table} ${t.position} ${t.state} ${t.error ? t.error.message : ""}`.toLowerCase();
    return words.every((w) => text.includes(w));
  });
  const by = sorts[view.sort], sign = view.down ? -1 : 1;
  if (!moving.has(view.sort) || Date.now() - view.ranked > 5000) {
    view.ranked = Date.now();
    const sorted = [...s.tables].sort((a, b) => sign * by(a, b) || (a.table < b.table ? -1 : 1));
    view.rank = new Map(sorted.map((t, i) => [t.table, i]));
  }
  return wanted.sort((a, b) => (view.rank.get(a.table) ?? 1e9) - (view.rank.get(b.table) ?? 1e9));
}

function newRow(t) {
  const cell = (kind, label) => make("td", { role: "cell", class: kind, ...(label ? { "data-label": label } : {}) });
  const name = make("th", { role: "rowheader", scope: "row", class: "name" });
  if (t.schema) name.append(make("span", { class: "schema" }, t.schema + "."));
  name.append(t.name);
  const state = cell("state");
  state.append(make("span", { class: "tag" }, make("span", { class: "mark", "aria-hidden": "true" }), make("span")), make("div", { class: "load" }));
  const curve = cell("spark");
  curve.append(spark());
  const position = cell("position");
  position.append(make("b"), make("span"));
  const row = make("tr", { role: "row" }, name, state, cell("number rate", "Rows/s"), curve, cell("number lag", "Lag"), cell("number margin", "Retention"), cell("number events", "Events"), cell("number version", "Version"), position);
  return row;
}

function updateRow(row, t) {
  const [, state, rate, curve, lag, margin, events, version, position] = row.children;
  attribute(row, "class", t.state + (t.error ? " explained" : ""));
  set(state.firstElementChild.lastElementChild, t.state);
  load(state, t);
  number(rate, perSecond(t.rows_per_second), t.rows_per_second === 0);
  draw(curve.firstElementChild, t.history, 100, 20);
  number(lag, t.lag_seconds === null ? "–" : duration(t.lag_seconds), !t.lag_seconds);
  lag.classList.toggle("late", t.lag_seconds > 60);
  number(margin, t.retention_margin_seconds === null ? "–" : duration(t.retention_margin_seconds), t.retention_margin_seconds === null);
  margin.classList.toggle("known", t.retention_margin_seconds !== null);
  margin.classList.toggle("late", t.retention_margin_seconds !== null && t.retention_margin_seconds < 3600);
  number(events, count(t.events), t.events === 0);
  number(version, t.version ? "v" + t.version : "–", !t.version);
  const cut = /^\d{35}$/.test(t.position) ? 16 : t.position.length; // a change sequence begins with its time
  set(position.children[0], t.position ? t.position.slice(0, cut) : "–");
  set(position.children[1], t.position.slice(cut));
}

function number(cell, text, dull) {
  set(cell, text);
  cell.classList.toggle("zero", dull);
}

// An error has a row of its own below its table.
const newWhy = () => make("tr", { role: "row", class: "why" }, make("td", { role: "cell", colspan: "9" }, make("span"), make("span", { class: "hint" })));

function updateWhy(row, t, now) {
  const e = t.error, [message, hint] = row.firstElementChild.children;
  row.classList.toggle("past", !!e.resolved_at);
  set(message, e.resolved_at ? `Recovered ${ago(e.resolved_at, now)}: ${e.message}` : e.message);
  set(hint, e.hint && !e.resolved_at ? ` (${e.hint})` : "");
}

function load(cell, t) {
  const l = t.load, node = cell.lastElementChild;
  cell.classList.toggle("loads", !!underWay(l));
  if (!underWay(l)) {
    if (node.firstChild) node.replaceChildren();
    return;
  }
  if (!node.firstChild) node.append(make("progress", { max: "1", "aria-label": `Full load of ${t.table}` }), make("span"));
  const all = Math.max(l.rows_expected, l.rows_done), share = all ? l.rows_done / all : 0;
  attribute(node.firstChild, "value", String(share));
  const how = l.state === "running" ? "" : ` load ${l.state},`;
  set(node.lastChild, `${Math.floor(100 * share)} %,${how} ${count(l.rows_done)} of ${count(all)}` + (l.seconds_left !== null ? `, ${duration(l.seconds_left)} left` : ""));
}

function chips(s) {
  const t = s.totals;
  const list = [["all", "All", t.tables], ["failed", "Failed", t.failed], ["missing", "Missing", t.missing], ["loading", "Loading", t.loading], ["streaming", "Streaming", t.streaming]];
  const shown = list.filter(([state, , n]) => state === "all" || n > 0 || view.state === state);
  keyed($("chips"), shown, (c) => c[0], ([state]) => make("button", { type: "button", "data-state": state, "aria-pressed": "false" }), (node, [state, label, n]) => {
    set(node, `${label} ${count(n)}`);
    attribute(node, "aria-pressed", String(view.state === state));
    node.classList.toggle("bad", n > 0 && (state === "failed" || state === "missing"));
  });
}

function tables(s) {
  chips(s);
  const list = visible(s), shown = view.all ? list : list.slice(0, most);
  const lines = shown.flatMap((t) => (t.error ? [{ t, key: "t " + t.table }, { t, key: "e " + t.table, why: true }] : [{ t, key: "t " + t.table }]));
  keyed($("body"), lines, (x) => x.key, (x) => (x.why ? newWhy() : newRow(x.t)), (row, x) => (x.why ? updateWhy(row, x.t, s.now) : updateRow(row, x.t)));
  $("more").hidden = shown.length === list.length;
  set($("more"), `Show ${plural(list.length - shown.length, "more table")}`);
  $("empty").hidden = list.length > 0;
  set($("empty"), s.tables.length ? "No table matches." : s.state === "standby" ? "Other replicas stream the tables: look at their pages." : "No table has been found yet. Check source.tables, and that the login may see the change tables.");
  $("rows").classList.toggle("no-margin", s.tables.every((t) => t.retention_margin_seconds === null));
  $("sorter").value = view.sort;
  for (const th of document.querySelectorAll("th[data-sort]")) {
    attribute(th, "aria-sort", th.dataset.sort !== view.sort ? "none" : view.down ? "descending" : "ascending");
  }
}

// Who serves it, and this instance.

function members(s) {
  const self = new Set(s.replicas.filter((r) => r.self).map((r) => r.id));
  keyed($("shards"), s.shards, (x) => x.number, () => make("tr", { role: "row" }, make("td", { role: "cell" }), make("td", { role: "cell", class: "state" }, make("span", { class: "tag" }, make("span", { class: "mark", "aria-hidden": "true" }), make("span"))), make("td", { role: "cell" }), make("td", { role: "cell", class: "number" })), (row, x) => {
    attribute(row, "class", x.state);
    set(row.children[0], String(x.number));
    set(row.children[1].firstChild.lastChild, x.state);
    set(row.children[2], x.replica ? x.replica + (self.has(x.replica) && s.replicas.length > 1 ? " (this one)" : "") : "–");
    set(row.children[3], x.tables === null ? "–" : count(x.tables));
  });
  const idle = s.replicas.filter((r) => r.shards.length === 0).map((r) => r.id + (r.self ? " (this one)" : ""));
  set($("standby"), idle.length ? `Standing by: ${idle.join(", ")}` : "");
}

function facts(s) {
  const t = s.totals, e = s.last_error;
  const list = [
    ["Build", s.build.version], ["Go", s.build.go], ["Started", s.started_at ? date(s.started_at) : "–"],
    ["Last poll", ago(s.last_poll_at, s.now)], ["Changes waiting", s.pending ? "yes" : "no"], ["Horizon", s.horizon || "–"],
    ["Late rows", count(t.late_rows)], ["Dropped rows", count(t.dropped_rows)], ["Gaps", count(t.gaps)], ["Errors since the start", count(t.errors)],
  ];
  if (e) list.push(["Last error", `${ago(e.at, s.now)}, while in stage ${e.stage}: ${e.message}` + (e.hint ? ` (${e.hint})` : "")]);
  keyed($("facts"), list, (f) => f[0], ([title]) => make("div", { class: { Horizon: "wide", "Last error": "whole" }[title] || "" }, make("dt", {}, title), make("dd")), (node, f) => set(node.lastChild, f[1]));
}

// The round.

let last = null, asking = false, timer = 0;

function show() {
  if (!last) return;
  head(last);
  problems(last);
  totals(last);
  tables(last);
  members(last);
  facts(last);
}

function lost(reason) {
  const text = last ? `No answer since ${clock(last.now)}: what you see is from then. ${reason}` : `No answer. ${reason}`;
  document.body.classList.add("lost");
  $("lost").hidden = false;
  set($("lost"), text);
  set($("live"), "Not live");
  say("lost", "No connection");
  document.title = "No connection · " + (last ? last.task : "ctbridge");
}

async function ask() {
  try {
    const answer = await fetch("api/status", { cache: "no-store", signal: AbortSignal.timeout(8000) });
    if (!answer.ok) throw new Error(`It says ${answer.status}.`);
    return await answer.json();
  } catch (error) {
    lost(error instanceof TypeError || error.name === "TimeoutError" ? "Is the process running?" : error.message);
    return null;
  }
}

async function round() {
  clearTimeout(timer);
  if (asking) return;
  asking = true;
  const begin = performance.now();
  try {
    const answer = await ask();
    if (!answer) return;
    last = answer;
    document.body.classList.remove("lost");
    $("lost").hidden = true;
    show();
  } finally {
    asking = false;
    const pause = Math.max(every, 4 * (performance.now() - begin)); // a slow phone or line is not kept busy
    if (!document.hidden) timer = setTimeout(round, pause);
  }
}

document.addEventListener("visibilitychange", () => document.hidden || round());
$("chips").addEventListener("click", (e) => {
  const chip = e.target.closest("button");
  if (!chip) return;
  view.state = chip.dataset.state;
  view.all = false;
  show();
});
$("filter").addEventListener("input", (e) => {
  view.filter = e.target.value;
  view.all = false;
  show();
});
$("more").addEventListener("click", () => {
  view.all = true;
  show();
});
function sortBy(by) {
  view.down = by === view.sort ? !view.down : largestFirst.has(by);
  view.sort = by;
  view.ranked = 0;
  show();
}
document.querySelector("#rows thead").addEventListener("click", (e) => {
  const th = e.target.closest("th[data-sort]");
  if (th) sortBy(th.dataset.sort);
});
$("sorter").addEventListener("change", (e) => sortBy(e.target.value));
document.addEventListener("keydown", (e) => {
  if (e.key !== "/" || e.ctrlKey || e.metaKey || e.altKey || e.target === $("filter")) return;
  e.preventDefault();
  $("filter").focus();
});
round();

package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"ctbridge/bridge/change"
)

func (r *rules) checkSource() {
	r.checkTLS("source.tls", r.Source.TLS, r.Source.TLS.Enabled, "set source.tls.enabled: true")
	if r.Source.Engine == EngineSQLite {
		r.noEffect("with engine sqlite, which is a file", "remove it", "source.tls.enabled")
	}
	if r.Source.Engine == EngineSQLite {
		r.noEffect("with SQLite, which has no schemas", "remove it", "source.qlik.schema", "source.qlik.control_schema")
	}
	if r.Source.Qlik.Suffix == "" {
		r.wrong("source.qlik.suffix", "it is part of the task's Store Changes settings", "is empty")
	}
	if r.Source.Qlik.Prefix == "" {
		r.wrong("source.qlik.prefix", "it is part of the task's Store Changes settings", "is empty")
	}
	r.checkSQLServerCDC()
	r.checkTables()
	r.checkKeys()
	r.checkMarkers()
}

// checkMarkers wants a metadata topic in JSON for messages that are neither data nor metadata.
func (r *rules) checkMarkers() {
	if r.Source.Deduplicate > 0 && r.Source.Horizon.LookbackRows == 0 {
		r.wrong("source.deduplicate", "raise source.horizon.lookback_rows", "has no effect with source.horizon.lookback_rows 0: published sequences are not remembered")
	}
	const fix = "set format: json and qlik.metadata: topic, or remove it"
	topic := r.hasMarkerTopic()
	if r.Source.GapMarker && !topic {
		r.wrong("source.gap_marker", fix, "needs a metadata topic in JSON")
	}
	if r.Source.GapMarker && r.Source.OnReset == "fail" {
		r.wrong("source.gap_marker", "set source.on_reset, or remove it", "has no effect with source.on_reset fail")
	}
	if r.Source.Qlik.Truncate == "marker" && !topic {
		r.wrong("source.qlik.truncate", fix, "needs a metadata topic in JSON")
	}
}

// hasMarkerTopic tells that markers have somewhere to go, and that every metadata topic can take them.
func (r *rules) hasMarkerTopic() (some bool) {
	for i := range r.Envelopes {
		if o := &r.Envelopes[i]; o.HasMetadataTopic() {
			if some = o.Format == FormatJSON; !some {
				return false
			}
		}
	}
	return some
}

func (r *rules) checkTables() {
	included := 0
	for _, p := range r.Source.Tables {
		if len(p.parts) == 0 || !p.exclude { // malformed ones are reported while decoding
			included++
		}
	}
	r.checkPatterns("source.tables", r.Source.Tables)
	if included == 0 {
		r.wrong("source.tables", `add "*" or names`, "chooses no table")
	}
}

// checkPatterns compares names of tables with what the engine's names look like.
func (r *rules) checkPatterns(path string, patterns TablePatterns) {
	for i, p := range patterns {
		if len(p.parts) == 0 {
			continue
		}
		if problem, fix := r.misfit(len(p.parts), len(p.parts) == 1 && p.parts[0].any()); problem != "" {
			r.wrong(fmt.Sprintf("%s[%d]", path, i), fix, "%s", problem)
		}
	}
}

func (r *rules) checkKeys() {
	spelled := map[change.TableID]string{}
	names := slices.SortedFunc(maps.Keys(r.Source.Keys), func(a, b TableName) int { return strings.Compare(a.text, b.text) })
	for _, name := range names {
		path := "source.keys." + name.text
		if problem, fix := r.misfit(name.parts(), false); problem != "" {
			r.wrong(path, fix, "%s", problem)
		}
		if other, twice := spelled[name.id]; twice {
			r.wrong(path, "keep one", "is the table of source.keys.%s", other)
		}
		spelled[name.id] = name.text
		columns := r.Source.Keys[name]
		if len(columns) == 0 {
			r.wrong(path, "list the key columns", "has no columns")
		}
		if sorted := slices.Sorted(slices.Values(columns)); len(slices.Compact(sorted)) < len(columns) {
			r.wrong(path, "", "has a column twice")
		}
	}
}

// misfit tells when a name has a schema and the engine does not, or the other way round.
func (r *rules) misfit(parts int, everything bool) (problem, fix string) {
	switch {
	case r.Source.Engine == "" || everything:
		return "", ""
	case r.Source.Engine == EngineSQLite && parts == 2:
		return "names a schema, but SQLite has none", "write the table alone; quote a dot that belongs to its name"
	case r.Source.Engine != EngineSQLite && parts == 1:
		return "names no schema", "write schema.table, or *.table for every schema"
	}
	return "", ""
}

func (r *rules) checkHorizon() {
	h := r.Source.Horizon
	snapshots := r.Source.Engine == EnginePostgres || r.Source.Engine == EngineSQLite
	if h.Policy == HorizonSnapshot && !snapshots && r.Source.Engine != "" {
		r.wrong("source.horizon.policy", "use auto", "needs engine postgres or sqlite: %s does not tell when a writer has ended", r.Source.Engine)
	}
	if h.Settle > h.MaxWait {
		r.wrong("source.horizon.settle", "", "is longer than source.horizon.max_wait (%s)", Duration(h.MaxWait))
	}
	if r.Source.Horizon.Policy == HorizonSettle && h.Settle == 0 && h.Lookback == 0 {
		r.wrong("source.horizon.lookback", "set settle or lookback", "is 0s and so is settle: rows that become visible late would be lost")
	}
}

package config

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"ctbridge/bridge/change"
)

// SQLServerCDC are the options of layout sqlserver-cdc.
type SQLServerCDC struct {
	TimeZone         string        `yaml:"time_zone" default:"UTC" doc:"Zone of the server's clock as the IANA names it, such as America/Chicago: the change tables know commit times as local time only. In the hour that an autumn change repeats, the earlier moment is taken."`
	CaptureTimeout   time.Duration `yaml:"capture_timeout" default:"15m" min:"1m" max:"24h" doc:"The capture job moves the newest LSN every five minutes even when nothing happens; when it has stood still for so long, the task is not ready."`
	UnsupportedTypes string        `yaml:"unsupported_types" default:"fail" oneof:"fail|string|skip" doc:"Columns of types that no message can hold: stop their table; carry the server's own text of sql_variant, geometry and geography; or leave the columns out. Types and columns may have their own."`

	UnsupportedByType   map[string]UnsupportedPolicy        `yaml:"unsupported_by_type" example:"{geography: string, sql_variant: skip}" doc:"The same for single types, by the server's name of the type."`
	UnsupportedByColumn map[ColumnPattern]UnsupportedPolicy `yaml:"unsupported_by_column" example:"{dbo.orders.route: skip, \"dbo.*.spot\": string}" doc:"The same for single columns, before those of types: schema.table.column, where * stands for any run of characters inside its part. Of several entries that name a column the one with the most characters beside stars counts."`
}

// UnsupportedPolicy is fail, string or skip.
type UnsupportedPolicy string

// UnmarshalText checks the text.
func (p *UnsupportedPolicy) UnmarshalText(text []byte) error {
	*p = UnsupportedPolicy(text)
	if !slices.Contains([]string{"fail", "string", "skip"}, string(text)) {
		return errors.New("is not one of fail, string, skip")
	}
	return nil
}

// ColumnPattern is schema.table.column with stars, quoted as TablePattern is.
type ColumnPattern string

// UnmarshalText checks the text.
func (p *ColumnPattern) UnmarshalText(text []byte) error {
	*p = ColumnPattern(text)
	parts, err := parseParts(string(text))
	if err == nil && len(parts) != 3 {
		err = errors.New(`is not schema.table.column: quote a dot that belongs to a name, like dbo."a.b".c`)
	}
	return err
}

// columnRule is an entry of UnsupportedByColumn.
type columnRule struct {
	parts  []glob
	exact  int // characters beside stars
	text   ColumnPattern
	policy UnsupportedPolicy
}

// ByColumn gives the policy of a column that has one of its own.
func (c *SQLServerCDC) ByColumn() func(table change.TableID, column string) (policy string, own bool) {
	var rules []columnRule
	for text, policy := range c.UnsupportedByColumn {
		rule := columnRule{text: text, policy: policy}
		rule.parts, _ = parseParts(string(text)) // UnmarshalText has checked it
		for _, part := range rule.parts {
			rule.exact += len(strings.Join(part, ""))
		}
		rules = append(rules, rule)
	}
	slices.SortFunc(rules, func(a, b columnRule) int { return cmp.Or(b.exact-a.exact, cmp.Compare(a.text, b.text)) })
	return func(table change.TableID, column string) (string, bool) {
		for _, rule := range rules {
			if rule.parts[0].match(table.Schema) && rule.parts[1].match(table.Name) && rule.parts[2].match(column) {
				return string(rule.policy), true
			}
		}
		return "", false
	}
}

// Location is TimeZone; the rules have checked it.
func (c *SQLServerCDC) Location() *time.Location {
	zone, err := time.LoadLocation(c.TimeZone)
	if err != nil {
		return time.UTC
	}
	return zone
}

func (r *rules) checkSQLServerCDC() {
	const section = "source.sqlserver_cdc."
	r.checkStartAt()
	if r.Source.Layout != LayoutSQLServerCDC {
		r.noEffect("with layout "+r.Source.Layout, "remove it", section+"time_zone", section+"capture_timeout", section+"unsupported_types",
			section+"unsupported_by_type", section+"unsupported_by_column")
		return
	}
	if r.Source.Engine != EngineSQLServer && r.Source.Engine != "" {
		r.wrong("source.layout", "use engine sqlserver, or layout qlik", "needs engine sqlserver: %s has no such tables", r.Source.Engine)
	}
	if _, err := time.LoadLocation(r.Source.SQLServerCDC.TimeZone); err != nil || strings.EqualFold(r.Source.SQLServerCDC.TimeZone, "local") || r.Source.SQLServerCDC.TimeZone == "" {
		r.wrong(section+"time_zone", "write a name such as Europe/Berlin or UTC", "is no zone of the IANA database")
	}
	for _, name := range slices.Sorted(maps.Keys(r.Source.SQLServerCDC.UnsupportedByType)) {
		switch policy := r.Source.SQLServerCDC.UnsupportedByType[name]; {
		case name != strings.ToLower(name):
			r.wrong(section+"unsupported_by_type."+name, "write "+strings.ToLower(name), "is not in lower case")
		case policy == "string" && name != "sql_variant" && name != "geometry" && name != "geography":
			r.wrong(section+"unsupported_by_type."+name, "use skip or fail", "cannot be string: the server's text is known of sql_variant, geometry and geography")
		}
	}
	const horizon = "source.horizon."
	r.noEffect("with layout sqlserver-cdc, which has a horizon of its own", "remove it", horizon+"policy", horizon+"settle", horizon+"max_wait", horizon+"lookback",
		horizon+"lookback_rows")
	r.noEffect("with layout sqlserver-cdc: nobody replays its rows by hand", "remove it", "source.deduplicate")
}

// checkStartAt wants the kind of position that the layout has.
func (r *rules) checkStartAt() {
	switch start := r.Source.StartAt.Start(); {
	case start.After != "" && r.Source.Layout == LayoutSQLServerCDC:
		r.wrong("source.start_at", "write an LSN like 0x0000002A000001C80003, or a time", "is a change sequence of layout qlik")
	case start.LSN != "" && r.Source.Layout != LayoutSQLServerCDC:
		r.wrong("source.start_at", "write a change sequence of 35 digits, or a time", "is an LSN of layout sqlserver-cdc")
	}
}

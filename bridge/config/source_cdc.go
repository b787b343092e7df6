package config

import (
	"strings"
	"time"
)

// SQLServerCDC are the options of layout sqlserver-cdc.
type SQLServerCDC struct {
	TimeZone         string        `yaml:"time_zone" default:"UTC" doc:"Zone of the server's clock as the IANA names it, such as America/Chicago: the change tables know commit times as local time only. In the hour that an autumn change repeats, the earlier moment is taken."`
	CaptureTimeout   time.Duration `yaml:"capture_timeout" default:"15m" min:"1m" max:"24h" doc:"The capture job moves the newest LSN every five minutes even when nothing happens; when it has stood still for so long, the task is not ready."`
	UnsupportedTypes string        `yaml:"unsupported_types" default:"fail" oneof:"fail|string|skip" doc:"Columns of types that no message can hold: stop their table; carry the server's own text of sql_variant, geometry and geography; or leave the columns out."`
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
	if r.Source.Layout != LayoutSQLServerCDC {
		r.noEffect("with layout "+r.Source.Layout, "remove it", section+"time_zone", section+"capture_timeout", section+"unsupported_types")
		return
	}
	if r.Source.Engine != EngineSQLServer && r.Source.Engine != "" {
		r.wrong("source.layout", "use engine sqlserver, or layout qlik", "needs engine sqlserver: %s has no such tables", r.Source.Engine)
	}
	if _, err := time.LoadLocation(r.Source.SQLServerCDC.TimeZone); err != nil || strings.EqualFold(r.Source.SQLServerCDC.TimeZone, "local") || r.Source.SQLServerCDC.TimeZone == "" {
		r.wrong(section+"time_zone", "write a name such as Europe/Berlin or UTC", "is no zone of the IANA database")
	}
	const horizon = "source.horizon."
	r.noEffect("with layout sqlserver-cdc, which has a horizon of its own", "remove it", horizon+"policy", horizon+"settle", horizon+"max_wait", horizon+"lookback",
		horizon+"lookback_rows")
	r.noEffect("with layout sqlserver-cdc: nobody replays its rows by hand", "remove it", "source.deduplicate")
}

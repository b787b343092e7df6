package config

import (
	"time"

	"ctbridge/bridge/change"
)

// Engines.
const (
	EngineSQLServer = "sqlserver"
	EnginePostgres  = "postgres"
	EngineMySQL     = "mysql"
	EngineSQLite    = "sqlite"
)

// Layouts.
const (
	LayoutQlik         = "qlik"
	LayoutSQLServerCDC = "sqlserver-cdc"
)

// Horizon policies.
const (
	HorizonAuto      = "auto"
	HorizonSettle    = "settle"
	HorizonStatus    = "status"
	HorizonPartition = "partition"
	HorizonSnapshot  = "snapshot"
)

// Source is the database that holds the change tables.
type Source struct {
	Engine string `yaml:"engine" required:"true" oneof:"sqlserver|postgres|mysql|sqlite" example:"sqlserver" doc:"Database product; mysql is MariaDB, too."`
	DSN    Secret `yaml:"dsn" required:"true" example:"${SOURCE_DSN}" doc:"Connection string in the form of the engine's driver: sqlserver://user:password@host?database=name, postgres://user:password@host/name, user:password@tcp(host)/name, or the path of an SQLite file (where a leading file: is part of SQLite's own syntax)."`
	TLS    TLS    `yaml:"tls" doc:"Encryption of the connection to the database, instead of what source.dsn says about it. Where neither says anything, a server that is not on this machine must speak TLS with a certificate of the system's authorities."`
	Layout string `yaml:"layout" default:"qlik" oneof:"qlik|sqlserver-cdc" doc:"Kind of change tables: qlik is Qlik's Store Changes; sqlserver-cdc is SQL Server's own change data capture."`

	Database string `yaml:"database" example:"shop" doc:"Name of the database where messages and topics tell it; empty = as the connection string names it, main for SQLite."`

	Tables TablePatterns          `yaml:"tables" default:"[\"*\"]" doc:"Base tables to stream: exact names, patterns with *, exclusions with a leading !. A name is schema.table, in SQLite the table alone. A dot, a star or a leading ! that belongs to a name is quoted: dbo.\"a.b\" or dbo.[a.b]."`
	Keys   map[TableName][]string `yaml:"keys" example:"{dbo.orders: [id]}" doc:"Key columns, in key order, of tables whose key the catalog does not tell."`

	Filters Filters `yaml:"filters" example:"{dbo.orders: \"status <> 'draft'\", \"sales.*\": \"region = 7\"}" doc:"SQL predicates by table, put into the queries as they are: only rows of the change table that meet theirs are published. Tables are named as in source.tables; an exact name goes before a pattern and a longer pattern before a shorter one. An update is judged by its new row. See docs/values-and-filters.md."`

	StartAt StartAt `yaml:"start_at" default:"earliest" doc:"Where a table begins that the task knows nothing of and that is not loaded: earliest row of its change table, now, behind a change sequence of 35 digits (layout qlik) or an LSN like 0x0000002A000001C80003 (sqlserver-cdc), or with the changes of a time like 2031-05-10T16:00:00Z. What lies before is never published."`

	PollInterval       time.Duration `yaml:"poll_interval" default:"200ms" min:"10ms" max:"1h" doc:"Pause between two looks for new rows."`
	PageRows           int           `yaml:"page_rows" default:"5000" min:"1" max:"1000000" doc:"Rows that one query reads at most."`
	MaxConnections     int           `yaml:"max_connections" default:"4" min:"1" max:"1000" doc:"Connections to the database at a time."`
	RediscoverInterval time.Duration `yaml:"rediscover_interval" default:"60s" min:"1s" max:"24h" doc:"How often new, changed and returned tables are looked for."`
	StartupTimeout     time.Duration `yaml:"startup_timeout" default:"60s" min:"1s" max:"1h" doc:"How long a start waits for the database, the brokers and the schema registry before it gives up."`

	OnReset     string        `yaml:"on_reset" default:"fail" oneof:"fail|resnapshot|continue" doc:"A change table that no longer holds what it held (emptied, restored, made again with lower sequences, purged of rows that were not read): stop the table; load its base table again; or publish what is there and tell the hole in the log, the metric and the status."`
	GapMarker   bool          `yaml:"gap_marker" default:"false" doc:"With on_reset continue or resnapshot: also publish the hole as a message of type GAP on kafka.metadata_topic. Needs format json."`
	Deduplicate time.Duration `yaml:"deduplicate" default:"0s" min:"0s" max:"24h" doc:"Rows whose change sequence was published within this time are left out and counted: for changes that are replayed by hand. 0s publishes them again. Keeps source.horizon.lookback at least as long; lookback_rows bounds it, too."`

	Qlik         QlikTables   `yaml:"qlik" doc:"Options of layout qlik."`
	SQLServerCDC SQLServerCDC `yaml:"sqlserver_cdc" doc:"Options of layout sqlserver-cdc."`
	Horizon      Horizon      `yaml:"horizon" doc:"Up to where it is safe to read: rows may become visible after rows with higher positions. Layout sqlserver-cdc has a horizon of its own, the newest LSN."`
}

// KeyColumns is Keys by table.
func (s *Source) KeyColumns() map[change.TableID][]string {
	keys := make(map[change.TableID][]string, len(s.Keys))
	for name, columns := range s.Keys {
		keys[name.id] = columns
	}
	return keys
}

// QlikTables are the options of layout qlik.
type QlikTables struct {
	Suffix            string   `yaml:"suffix" default:"__ct" doc:"Suffix of change tables, as in the task's Store Changes settings."`
	Prefix            string   `yaml:"prefix" default:"header__" doc:"Prefix of the header columns."`
	Schema            string   `yaml:"schema" doc:"Schema of the change tables; empty = beside their base tables."`
	ControlSchema     string   `yaml:"control_schema" doc:"Schema of the control tables (attrep_status and others); empty = wherever they are found."`
	ControlTask       string   `yaml:"control_task" doc:"Name of the Qlik task in the control tables; empty = every task."`
	MaskByteOrder     string   `yaml:"mask_byte_order" default:"auto" oneof:"auto|lsb|msb" doc:"Byte order of change masks; auto decides from the data."`
	OrphanBeforeImage string   `yaml:"orphan_before_image" default:"fail" oneof:"fail|skip" doc:"A before-image without its update: stop the table, or leave it out and count it."`
	Truncate          string   `yaml:"truncate" default:"skip" oneof:"skip|fail|marker" doc:"A TRUNCATE row, which data messages cannot carry: leave it out and count it, stop the table, or publish a message of type TRUNCATE on kafka.metadata_topic (format json)."`
	IgnoreColumns     []string `yaml:"ignore_columns" example:"[load_date]" doc:"Columns of change tables that are not data."`
}

// Horizon says how long rows are held back.
type Horizon struct {
	Policy       string        `yaml:"policy" default:"auto" oneof:"auto|settle|status|partition|snapshot" doc:"auto takes the control table attrep_status where it is there and moves, else the engine's snapshot (postgres, sqlite) together with settle, else settle."`
	Settle       time.Duration `yaml:"settle" default:"1s" min:"0s" max:"1h" doc:"Rows are held back for so long after they were first seen. 0s suits tables that triggers fill inside the source transaction."`
	MaxWait      time.Duration `yaml:"max_wait" default:"1m" min:"1s" max:"24h" doc:"A hole in the sequence, or a control table that stands still, holds rows back no longer than this."`
	Lookback     time.Duration `yaml:"lookback" default:"10m" min:"0s" max:"24h" doc:"For so long after a row was published, rows that turn up below it are looked for; they are published and counted as late. Longer than the longest transaction of the writer, whose rows appear when it commits."`
	LookbackRows int           `yaml:"lookback_rows" default:"200000" min:"0" max:"10000000" doc:"The same in rows, over all tables; the smaller window counts. Each row takes about 15 bytes of memory and 10 of the checkpoint."`
}

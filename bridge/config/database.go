package config

import (
	"net/url"
	"regexp"
	"strings"
)

var databaseWord = regexp.MustCompile(`(?i)(?:^|[\s;])(?:dbname|database|initial catalog)\s*=\s*('[^']*'|[^\s;]+)`)

// databaseName is Database, or else the name in the connection string; empty where that does not tell it.
func (s *Source) databaseName() string {
	if s.Database != "" {
		return s.Database
	}
	dsn := s.DSN.Reveal()
	switch s.Engine {
	case EngineSQLite:
		return "main"
	case EngineMySQL: // user:password@net(address)/name?options
		at := strings.LastIndexByte(dsn, '/')
		if at < 0 {
			return ""
		}
		name, _, _ := strings.Cut(dsn[at+1:], "?")
		return name
	}
	if u, err := url.Parse(dsn); err == nil && u.Host != "" {
		if name := strings.Trim(u.Path, "/"); s.Engine == EnginePostgres && name != "" {
			return name
		}
		return u.Query().Get(map[string]string{EnginePostgres: "dbname", EngineSQLServer: "database"}[s.Engine])
	}
	if m := databaseWord.FindStringSubmatch(dsn); m != nil {
		return strings.Trim(m[1], "'")
	}
	return ""
}

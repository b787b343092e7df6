package enginetest

import (
	"database/sql"
	"testing"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/source"
)

// Harness is one engine under test.
type Harness struct {
	// Schema is the scratch schema or database as the catalog spells it, "" where the product has none. Give it an awkward
	// name where the product has one ("ops-main-…", case 61).
	Schema string
	// Open opens an engine on the scratch database with the room's defaults.
	Open func(t *testing.T) source.Engine
	// Admin is a pool on the scratch database with all rights, for set-up SQL and writer transactions.
	Admin *sql.DB
	// Computed is the DDL type of a generated column with the value of integer column a plus 1, e.g. "int GENERATED ALWAYS AS (a + 1)
	// STORED"; "" where the product has none.
	Computed string
	// Rename is SQL that renames a column, with the quoted names of table, column, and column to be, for fmt.Sprintf; "" where the product has no
	// ids of columns that outlive it.
	Rename string
	// Slow is a query with one integer column that runs for 20 seconds or more before its first row.
	Slow string
	// Types are all types that the engine decodes, with their extremes, and some that it does not (Want.Kind Unsupported).
	Types []Type
	// Keysets are more types of keys than Types has, with literals in which the product's order is not that of the bytes.
	Keysets []Keyset
	// Indexed reports whether the product's plan of the query looks up an index rather than scans the table; nil = cannot tell.
	Indexed func(t *testing.T, query string, args ...any) bool
	// Server says how to reach the product over the network; nil for an embedded one.
	Server *Server
	// Skip names checks that a stand-in for the product cannot pass, each with the reason.
	Skip map[string]string
}

// Type is one column type.
type Type struct {
	DDL    string      // of a nullable column: "decimal(10,2)"
	Want   change.Type // as Describe must give it
	Values []Value     // NULL is always checked too
	Poison []string    // literals that the product stores and the kind cannot hold; the error shows the text of a quoted one
}

// Keyset is a type of key columns.
type Keyset struct {
	DDL      string
	Literals []string
}

// Value is a literal of that type and what it must decode to.
type Value struct {
	Literal string
	Want    change.Value
}

// Server is a product behind a TCP port.
type Server struct {
	Addr     string // host:port
	Password string // the right one
	// OpenAt opens an engine on the scratch database by another way. Opening may fail at once or at first use.
	OpenAt func(t *testing.T, way Way) (source.Engine, error)
	// Denied makes a login without any right on the named table and opens an engine as that login; nil = not checked.
	Denied func(t *testing.T, id change.TableID) source.Engine
}

// Way is how to reach a server.
type Way struct {
	Addr     string        // instead of Server.Addr
	Password string        // instead of Server.Password
	Patience time.Duration // the engine's own limit for a connect or an answer
}

// Run runs every check as a subtest, one after the other. The caller must not be parallel: the suite counts goroutines.
func Run(t *testing.T, h Harness) {
	checks := []struct {
		name string
		run  func(t *testing.T, h Harness)
	}{
		{"Case61_Names", checkNames},
		{"Keys", checkKeys},
		{"Identity", checkIdentity},
		{"Case38_ColumnIDs", checkColumnIDs},
		{"Computed", checkComputed},
		{"Types", checkTypes},
		{"NullAndEmptyText", checkNullAndEmpty},
		{"Case91_Poison", checkPoison},
		{"ParamLimit", checkParamLimit},
		{"Union", checkUnion},
		{"Case55_Keyset", checkKeyset},
		{"FreshSnapshot", checkFreshSnapshot},
		{"MissingTable", checkMissingTable},
		{"Cancel", checkCancel},
		{"Facts", checkFacts},
		{"PingClose", checkPingClose},
		{"Network", checkNetwork},
	}
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			if reason, skip := h.Skip[c.name]; skip {
				t.Skip(reason)
			}
			c.run(t, h)
		})
	}
}

package arch

import (
	"fmt"
	"slices"
	"strings"
)

// Room says what the packages of a folder may import beside the standard library. Imports point one way: cmd to bridge to the leaves, and
// adapters to their seam to the leaves; adapters know neither each other nor the runner.
type Room struct {
	Path    string   // the folder; with "/..." at its end also everything below that has no line of its own
	Own     []string // folders of this module
	Foreign []string // modules of others, or packages in them
	// Support rooms help tests: they may import package testing and any library, and production code must not import them.
	Support bool
}

// Leaves are the vocabulary that everybody may use.
var leaves = []string{"bridge/change", "bridge/fault"}

func also(base []string, more ...string) []string { return slices.Concat(base, more) }

// Rooms is the table of the module. The names of implementations (engines, layouts, envelopes, formats, sinks, stores) stand in no line but
// that of cmd: only cmd maps names to implementations.
func Rooms() []Room {
	tree := also(leaves, "bridge/envelope")
	engine := also(leaves, "source", "source/sqldb", "source/patience", "bridge/preflight/facts")
	return append(sinks(), []Room{
		// The vocabulary. change stands on the standard library alone.
		{Path: "bridge/change"},
		{Path: "bridge/fault"},

		// The runner and what it asks for. It knows seams, never implementations.
		{Path: "bridge", Own: also(tree, "bridge/checkpoint", "bridge/deadletter", "bridge/values", "source")},
		{Path: "bridge/deadletter", Own: leaves},
		{Path: "bridge/shard"}, // who runs which part of a task
		{Path: "bridge/audit", Own: tree},
		{Path: "bridge/config", Own: tree, Foreign: []string{"gopkg.in/yaml.v3"}},

		{Path: "bridge/values", Own: leaves}, // what users decide about columns, between the source and the envelopes
		// Checks before a start know seams, too; what adapters tell beyond these, they tell in the words of facts.
		{Path: "bridge/preflight", Own: also(tree, "bridge", "bridge/checkpoint", "bridge/preflight/facts", "bridge/values", "source")},
		{Path: "bridge/preflight/facts", Own: leaves},

		// Envelopes declare trees of fields; they know no format.
		{Path: "bridge/envelope", Own: leaves},
		{Path: "bridge/envelope/qlik", Own: tree},
		{Path: "bridge/envelope/datastream", Own: tree},
		{Path: "bridge/envelope/debezium", Own: tree},

		// Stores keep entries. The one on a Kafka topic is in sink/kafka, with the client that it needs.
		{Path: "bridge/checkpoint", Own: leaves},
		{Path: "bridge/checkpoint/file", Own: also(leaves, "bridge/checkpoint")},
		{Path: "bridge/checkpoint/memory", Own: also(leaves, "bridge/checkpoint")},
		{Path: "bridge/checkpoint/sql", Own: also(leaves, "bridge/checkpoint")},
		{Path: "bridge/checkpoint/checkpointtest", Own: also(leaves, "bridge/checkpoint"), Support: true},

		// The source seams, what engines share, and the rooms behind the seams: an engine knows its own driver only, a layout none.
		{Path: "source", Own: leaves},
		{Path: "source/patience"},
		{Path: "source/sqldb", Own: also(leaves, "source")},
		{Path: "source/qlikct", Own: also(leaves, "source", "bridge/preflight/facts")},
		{Path: "source/sqlservercdc", Own: also(leaves, "source", "bridge/preflight/facts")},
		{Path: "source/postgres", Own: engine, Foreign: []string{"github.com/jackc/pgx/v5"}},
		{Path: "source/mysql", Own: engine, Foreign: []string{"github.com/go-sql-driver/mysql"}},
		{Path: "source/mssql", Own: engine, Foreign: []string{"github.com/microsoft/go-mssqldb"}},
		{Path: "source/sqlite", Own: engine, Foreign: []string{"modernc.org/sqlite", "modernc.org/libc"}},
		{Path: "source/enginetest", Own: also(leaves, "bridge/preflight/facts", "source"), Support: true},
		{Path: "source/layouttest", Own: also(leaves, "source", "source/qlikct", "test/qlikwriter"), Support: true},

		// Formats compile trees into encoders.
		{Path: "schema/internal/program", Own: tree},
		{Path: "schema/internal/treetest", Own: tree, Support: true},
		{Path: "schema/avro", Own: also(tree, "schema/internal/program"), Foreign: []string{"github.com/twmb/avro"}}, // decodes for people
		{Path: "schema/jsonenc", Own: also(tree, "schema/internal/program")},

		{Path: "schema/registry", Own: leaves, Foreign: []string{"github.com/riferrei/srclient"}},
		{Path: "schema", Own: also(tree, "schema/avro", "schema/jsonenc")}, // the formats; the registry behind an interface

		// The observer of the runner: the only room that knows the Prometheus client, and the only adapter that sees the runner's types.
		{Path: "metrics", Own: also(leaves, "bridge", "bridge/checkpoint"), Foreign: []string{"github.com/prometheus/client_golang"}},

		// The verbs and the wiring: the only rooms that know every implementation.
		{Path: "cmd/...", Own: []string{"bridge/...", "source/...", "schema/...", "sink/...", "metrics", "cmd/..."}, Foreign: []string{
			"github.com/spf13/cobra", "golang.org/x/sync",
		}},

		// Only tests: they keep what the files there promise.
		{Path: "deploy/..."},

		// The servers and writers of tests, and the tests of the whole.
		{Path: "test/...", Own: []string{"bridge/...", "source/...", "schema/...", "sink/...", "metrics/...", "test/..."}, Support: true},
	}...)
}

// sinks are the rooms behind the seam of the sink.
func sinks() []Room {
	return []Room{
		// Sinks. Only sink/kafka knows the Kafka client; go-metrics and scram are parts of the client's own interface.
		{Path: "sink/kafka", Own: also(leaves, "bridge/checkpoint", "bridge/preflight/facts", "bridge/shard", "sink/kafka/records"), Foreign: []string{"github.com/IBM/sarama", "github.com/rcrowley/go-metrics", "github.com/xdg-go/scram"}},
		// How records go over the wire. The compressor of the default codec is our own, the others and all decompression are libraries.
		{Path: "sink/kafka/records", Own: also(leaves, "sink/kafka/lz4"), Foreign: []string{"github.com/klauspost/compress", "github.com/pierrec/lz4/v4"}},
		{Path: "sink/kafka/lz4"},
		{Path: "sink/stdout", Own: also(leaves, "bridge/checkpoint")},
		{Path: "sink/sinktest", Own: also(leaves, "bridge", "bridge/checkpoint"), Support: true},
		// A broker and a registry inside the process, for the demo and for tests.
		{Path: "sink/embedded", Foreign: []string{
			"github.com/twmb/franz-go/pkg/kfake", "github.com/twmb/franz-go/pkg/sr", "github.com/twmb/avro",
		}},
	}
}

// CheckImports finds imports that the table does not allow, packages without a room, and rooms without a package. Test files may import
// everything: their dependencies do not reach the binary.
func CheckImports(t *Tree, rooms []Room) []string {
	var findings []string
	used, homeless := make(map[string]bool), make(map[string]bool)
	for _, f := range t.Files {
		room := roomOf(rooms, f.Folder)
		if room == nil {
			if !homeless[f.Folder] {
				homeless[f.Folder] = true
				findings = append(findings, f.Folder+": no room yet: give it a line in test/arch/rooms.go")
			}
			continue
		}
		used[room.Path] = true
		for _, imported := range f.Imports {
			if reason := refused(t, rooms, room, f, imported); reason != "" {
				findings = append(findings, fmt.Sprintf("%s: imports %s: %s", f.Path, imported, reason))
			}
		}
	}
	for _, room := range rooms {
		if !used[room.Path] {
			findings = append(findings, fmt.Sprintf("room %s has no Go file: take its line out of test/arch/rooms.go", room.Path))
		}
	}
	return findings
}

// roomOf finds the line of a folder: the one that names it, else the longest that takes it in.
func roomOf(rooms []Room, folder string) *Room {
	var best *Room
	for i := range rooms {
		r := &rooms[i]
		if within(folder, r.Path) && (best == nil || len(r.Path) > len(best.Path) || r.Path == folder) {
			best = r
		}
		if r.Path == folder {
			return r
		}
	}
	return best
}

// refused says why a file of a room must not import something, "" if it may.
func refused(t *Tree, rooms []Room, room *Room, f *File, imported string) string {
	folder, own := t.own(imported)
	switch {
	case f.Test:
	case own:
		return refusedOwn(rooms, room, f.Folder, folder)
	case room.Support:
	case t.foreign(imported):
		if !slices.ContainsFunc(room.Foreign, func(m string) bool { return within(imported, m+"/...") }) {
			return "room " + room.Path + " does not know this library"
		}
	case imported == "testing" || strings.HasPrefix(imported, "testing/") || imported == "net/http/httptest":
		return "production code does not import test helpers"
	}
	return ""
}

func refusedOwn(rooms []Room, room *Room, from, to string) string {
	target := roomOf(rooms, to)
	switch {
	case target != nil && target.Support && !room.Support:
		return "production code does not import test helpers"
	case !withinAny(to, room.Own) && from != to:
		return "room " + room.Path + " may import " + list(room.Own)
	}
	return ""
}

func list(names []string) string {
	if len(names) == 0 {
		return "none of our packages"
	}
	return "only " + strings.Join(names, ", ")
}

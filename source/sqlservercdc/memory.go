package sqlservercdc

import (
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/source"
)

// mark says: with its position in the LSN at, a table had been read up to the LSN upto.
type mark struct{ upto, at string }

// readUpto is the LSN up to which a table has been read. A position that somebody has moved back makes its mark void.
func (g *guard) readUpto(t source.Progress) string {
	if held(t.After) {
		return ""
	}
	after := lsnOf(t.After)
	if m := g.read[t.Captured.Table.ID]; after >= m.at {
		return max(after, m.upto)
	}
	return after
}

// held tells that a position is none that rows are read behind: the table waits for a load. The empty one lies before every row.
func held(p change.Position) bool { return p != "" && len(p) <= opAt }

// memory is what outlives a restart: up to which LSN tables have been read, by that LSN. A table's position only tells its last row. A table is written
// as its schema and name, quoted, and the LSN of its position.
type memory struct {
	V    int                 `json:"v"`
	Read map[string][]string `json:"read"`
}

// memoryEvery is how often what is remembered may change: retention is counted in days.
const memoryEvery = 10 * time.Second

// Memory keeps up to where tables have been read.
func (l *Layout) Memory() []byte {
	g := &l.guard
	g.mu.Lock()
	defer g.mu.Unlock()
	now := l.options.Now()
	if len(g.read) == 0 && g.saved == nil || !g.savedAt.IsZero() && now.Sub(g.savedAt) < memoryEvery {
		return g.saved
	}
	m := memory{V: 1, Read: make(map[string][]string)}
	for id, r := range g.read {
		m.Read[r.upto] = append(m.Read[r.upto], strconv.Quote(id.Schema)+strconv.Quote(id.Name)+r.at)
	}
	for _, tables := range m.Read {
		sort.Strings(tables)
	}
	g.saved, _ = json.Marshal(m)
	g.savedAt = now
	return g.saved
}

// Recall takes back what Memory gave.
func (l *Layout) Recall(saved []byte) error {
	var m memory
	err := json.Unmarshal(saved, &m)
	if err == nil && m.V != 1 {
		err = fmt.Errorf("format version %d, this program reads 1", m.V)
	}
	read := make(map[change.TableID]mark)
	for upto, tables := range m.Read {
		for _, text := range tables {
			id, at, bad := parseTable(text)
			err = errors.Join(err, bad)
			if upto >= read[id].upto { // shards that were joined may each have one
				read[id] = mark{upto: upto, at: at}
			}
		}
	}
	if err != nil {
		return fault.New(fault.Fatal, `checkpoint record "layout"`, err, "restore the checkpoint from a copy")
	}
	g := &l.guard
	g.mu.Lock()
	defer g.mu.Unlock()
	g.read, g.saved, g.savedAt = read, saved, l.options.Now()
	g.proven = make(map[change.TableID]bool) // whatever came between, the log is looked at again
	return nil
}

func parseTable(text string) (id change.TableID, at string, err error) {
	for _, name := range []*string{&id.Schema, &id.Name} {
		quoted, err := strconv.QuotedPrefix(text)
		if err != nil {
			return id, "", fmt.Errorf("%q names no table", text)
		}
		text = strings.TrimPrefix(text, quoted)
		*name, _ = strconv.Unquote(quoted)
	}
	return id, text, nil
}

package facts

import (
	"strings"
	"unicode/utf8"

	"ctbridge/bridge/change"
)

// Indexes collects the indexes of tables.
type Indexes map[change.TableID][]Index

// Add takes the next column of an index, in order. An expression, told as "", and what follows it lead nowhere.
func (m Indexes) Add(table change.TableID, name, column string) {
	list := m[table]
	if n := len(list); n == 0 || list[n-1].Name != name {
		list = append(list, Index{Name: name})
	}
	last := &list[len(list)-1]
	last.ended = last.ended || column == ""
	if !last.ended {
		last.Columns = append(last.Columns, column)
	}
	m[table] = list
}

// indexName is the longest that every product takes.
const indexName = 60

// MakeIndex writes a CREATE INDEX; table is quoted, name its bare name.
func MakeIndex(create string, quote func(string) string, table, name string, columns []string) string {
	quoted := make([]string, len(columns))
	for i, c := range columns {
		quoted[i] = quote(c)
	}
	index := name + "_by_seq"
	for len(index) > indexName {
		_, size := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-size]
		index = name + "_by_seq"
	}
	return create + quote(index) + " ON " + table + " (" + strings.Join(quoted, ", ") + ");"
}

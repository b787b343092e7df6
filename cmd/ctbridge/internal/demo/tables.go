package demo

// table declares a base table. Its change table and its triggers follow from the columns.
type table struct {
	name    string
	columns []column
	key     []string
}

// column is one column of a base table. The checks keep values out that the declared type cannot hold: SQLite itself takes anything, and the
// bridge stops a table rather than guess (I6).
type column struct {
	name     string
	declared string
	rules    string // what follows the type in the base table
}

// Money and moments as the bridge's SQLite engine expects them.
const (
	isMoney  = " CHECK (typeof(@) <> 'text' AND abs(@) < 1e8 AND @ = round(@, 2))"
	isMoment = " CHECK ((@ IS datetime(@) OR @ IS strftime('%Y-%m-%d %H:%M:%f', @)) AND @ > '0001')"
	isDate   = " CHECK (@ IS date(@) AND @ > '0001')"
	isFlag   = " CHECK (@ IN (0, 1))"
	isWhole  = " CHECK (typeof(@) IN ('integer', 'null'))"
)

// isText bounds a text column; the bound is that of its declared type.
func isText(most string) string {
	return " CHECK (typeof(@) IN ('text', 'null') AND length(@) <= " + most + ")"
}

// tables are the base tables of the shop. Their names are the topics, too.
func tables() []table {
	return []table{
		{name: "customers", key: []string{"id"}, columns: []column{
			{"id", "INTEGER", "PRIMARY KEY AUTOINCREMENT"},
			{"name", "VARCHAR(40)", "NOT NULL" + isText("40")},
			{"email", "VARCHAR(60)", isText("60")},
			{"born", "DATE", isDate},
			{"active", "BOOLEAN", "NOT NULL DEFAULT 1" + isFlag},
			{"credit", "DECIMAL(10,2)", "NOT NULL DEFAULT 0" + isMoney},
			{"since", "DATETIME(3)", "NOT NULL DEFAULT CURRENT_TIMESTAMP" + isMoment},
		}},
		{name: "orders", key: []string{"id"}, columns: []column{
			{"id", "INTEGER", "PRIMARY KEY AUTOINCREMENT"},
			{"customer_id", "INTEGER", "NOT NULL REFERENCES customers(id)" + isWhole},
			{"status", "VARCHAR(10)", "NOT NULL DEFAULT 'new'" + isText("10")},
			{"total", "DECIMAL(10,2)", isMoney},
			{"gift", "BOOLEAN", "NOT NULL DEFAULT 0" + isFlag},
			{"placed_at", "DATETIME(3)", "NOT NULL DEFAULT CURRENT_TIMESTAMP" + isMoment},
			{"shipped_on", "DATE", isDate},
			{"note", "TEXT", isText("500")},
		}},
		{name: "order_lines", key: []string{"order_id", "line"}, columns: []column{
			{"order_id", "INTEGER", "NOT NULL REFERENCES orders(id)" + isWhole},
			{"line", "INTEGER", "NOT NULL" + isWhole},
			{"product", "VARCHAR(40)", "NOT NULL" + isText("40")},
			{"quantity", "INT", "NOT NULL DEFAULT 1" + isWhole},
			{"price", "DECIMAL(8,2)", "NOT NULL" + isMoney},
		}},
	}
}

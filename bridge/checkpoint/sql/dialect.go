package sql

import "fmt"

// Dialect is what differs between databases: six statements, with the table's name put in.
type Dialect struct {
	create string // makes the table where it is missing
	load   string // task → name, value
	upsert string // task, id, name, value
	remove string // task, id
	renew  string // new value, task, id, old value
}

// SQLite speaks to SQLite 3.24 or later.
func SQLite() Dialect {
	d := standard(func(n int) string { return fmt.Sprintf("?%d", n) })
	d.create = `CREATE TABLE IF NOT EXISTS %[1]s (task TEXT NOT NULL, id TEXT NOT NULL, name TEXT NOT NULL, value BLOB NOT NULL, PRIMARY KEY (task, id))`
	return d
}

// PostgreSQL speaks to PostgreSQL 9.5 or later.
func PostgreSQL() Dialect {
	d := standard(func(n int) string { return fmt.Sprintf("$%d", n) })
	d.create = `CREATE TABLE IF NOT EXISTS %[1]s (task varchar(128) NOT NULL, id char(64) NOT NULL, name text NOT NULL, value bytea NOT NULL, PRIMARY KEY (task, id))`
	return d
}

// MySQL speaks to MySQL 5.7 or later and to MariaDB.
func MySQL() Dialect {
	d := standard(func(int) string { return "?" })
	d.create = `CREATE TABLE IF NOT EXISTS %[1]s (task varchar(128) NOT NULL, id char(64) NOT NULL, name longtext NOT NULL, value longblob NOT NULL, PRIMARY KEY (task, id))` +
		` ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`
	d.upsert = `INSERT INTO %[1]s (task, id, name, value) VALUES (?, ?, ?, ?) ON DUPLICATE KEY UPDATE value = VALUES(value)`
	return d
}

// SQLServer speaks to SQL Server 2016 or later.
func SQLServer() Dialect {
	d := standard(func(n int) string { return fmt.Sprintf("@p%d", n) })
	d.create = `IF OBJECT_ID(N'%[1]s', N'U') IS NULL CREATE TABLE %[1]s (task nvarchar(128) COLLATE Latin1_General_100_BIN2 NOT NULL, id char(64) NOT NULL,` +
		` name nvarchar(max) NOT NULL, value varbinary(max) NOT NULL, PRIMARY KEY (task, id))`
	d.upsert = `MERGE %[1]s WITH (HOLDLOCK) AS t USING (SELECT @p1 AS task, @p2 AS id, @p3 AS name, @p4 AS value) AS s ON t.task = s.task AND t.id = s.id` +
		` WHEN MATCHED THEN UPDATE SET value = s.value WHEN NOT MATCHED THEN INSERT (task, id, name, value) VALUES (s.task, s.id, s.name, s.value);`
	return d
}

// standard holds the statements that most databases share; p spells the n-th parameter.
func standard(p func(n int) string) Dialect {
	return Dialect{
		load:   `SELECT name, value FROM %[1]s WHERE task = ` + p(1),
		upsert: `INSERT INTO %[1]s (task, id, name, value) VALUES (` + p(1) + `, ` + p(2) + `, ` + p(3) + `, ` + p(4) + `) ON CONFLICT (task, id) DO UPDATE SET value = excluded.value`,
		remove: `DELETE FROM %[1]s WHERE task = ` + p(1) + ` AND id = ` + p(2),
		renew:  `UPDATE %[1]s SET value = ` + p(1) + ` WHERE task = ` + p(2) + ` AND id = ` + p(3) + ` AND value = ` + p(4),
	}
}

// on puts the table's name in.
func (d Dialect) on(table string) Dialect {
	for _, statement := range []*string{&d.create, &d.load, &d.upsert, &d.remove, &d.renew} {
		*statement = fmt.Sprintf(*statement, table)
	}
	return d
}

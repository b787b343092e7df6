// Package mysql is the engine for MySQL and MariaDB (go-sql-driver/mysql).
//
// Whatever the DSN says, a session reads committed rows with autocommit (a fresh snapshot per statement), speaks utf8mb4 and UTC, may not
// write, and leaves dates as text: the driver's own parsing turns 2026-00-00 into another day. All queries are prepared, because the text
// protocol shows fewer digits than a FLOAT has.
//
//	TINYINT (also TINYINT(1), BOOLEAN) … BIGINT  Int1 … Int8, UNSIGNED Uint1 … Uint8; YEAR Int2
//	DECIMAL, FLOAT, DOUBLE                       Numeric, Real4, Real8
//	BIT(1)                                       Bool
//	BIT(2) … BIT(64)                             Bytes, most significant byte first
//	CHAR VARCHAR ENUM SET, INET4 INET6           String; Length is in bytes
//	TINYTEXT … LONGTEXT                          Clob (MariaDB's JSON is a LONGTEXT)
//	BINARY VARBINARY                             Bytes
//	TINYBLOB … LONGBLOB                          Blob
//	DATE, DATETIME                               Date, DateTime
//	TIMESTAMP                                    DateTimeTZ, in UTC
//	TIME                                         Time, -838:59:59 to 838:59:59
//	JSON, UUID                                   JSON, UUID
//
// Zero and impossible dates (0000-00-00, 2026-00-00) are a fault.Poison (I6). Spatial and vector types are Unsupported.
//
// The catalog has no identity that a drop and create changes and that ALTER TABLE or OPTIMIZE TABLE keep (creation times and InnoDB table
// ids change with a rebuild), so Relation.Identity is empty: a layout sees a reset by the rows that are gone. There is no fence either:
// writers' numbers are not visible without the PROCESS right.
package mysql

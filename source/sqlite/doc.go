// Package sqlite is the engine for SQLite files (modernc.org/sqlite, no cgo).
//
// Connections are read-only (mode=ro and query_only), wait busy_timeout for a writer, and read a fresh snapshot with every query, in
// rollback-journal and in WAL mode alike. A cancelled context ends the wait for a lock and the search for a row at once. Statements are read
// by the library that the driver wraps, on connections of their own, as many as the pool has; control queries go through the driver.
//
// SQLite types its values row by row. Here a column has the kind of its declared type, and a value that this kind cannot hold exactly is
// a fault.Poison that names column and value (I6):
//
//	INTEGER INT BIGINT INT8        Int8        (UNSIGNED in the name: Uint8)
//	MEDIUMINT INT4 / SMALLINT INT2 Int4 / Int2 (UNSIGNED: Uint4, Uint2)
//	TINYINT INT1                   Int2, because products differ on its sign (UNSIGNED: Uint1)
//	BOOLEAN BOOL                   Bool; stored 0 or 1
//	REAL DOUBLE FLOAT              Real8
//	DECIMAL NUMERIC NUMBER MONEY   Numeric; stored as text, integer or double, see below
//	TEXT CHAR VARCHAR              String; NCHAR NVARCHAR: WString; CLOB: Clob; NCLOB NTEXT: NClob
//	BLOB                           Blob; BINARY VARBINARY BYTEA: Bytes
//	DATE TIME                      Date, Time; stored as ISO text
//	DATETIME TIMESTAMP             DateTime; ISO text without zone, 6 digits of a second unless declared: DATETIME(3)
//	TIMESTAMPTZ DATETIMEOFFSET     DateTimeTZ; ISO text with zone, UTC without
//	JSON JSONB, UUID GUID          JSON, UUID; stored as text
//
// Any other name that SQLite's affinity rules take for INTEGER, TEXT, BLOB or REAL has the kind of that affinity; the rest, and a column
// without a type, is Unsupported.
//
// A column declared DECIMAL has NUMERIC affinity: SQLite itself turns '12.30' into the double 12.3 when it stores it, and keeps about 15
// digits. A double is taken for the shortest decimal text that reads back as the same double, which is the number that was written; if
// the column's scale cannot hold that text it is refused. Writers that need more than 15 digits declare the column TEXT.
//
// The catalog has no identity that a drop and create changes and that VACUUM keeps (root pages and row numbers of sqlite_schema do neither),
// so Relation.Identity is empty: a layout sees a reset by the rows that are gone.
package sqlite

// Package mssql is the SQL Server engine (2016 and newer, Azure SQL, Babelfish), over go-mssqldb and package sqldb.
//
// Reads are READ COMMITTED, never NOLOCK. Sessions have low deadlock priority and a lock time-out, so that a reader neither kills a
// writer nor waits for one for ever (case 79).
//
// Encryption: a DSN without "encrypt" is read as encrypt=true with the server's certificate checked. The driver's own default would
// encrypt without checking whom it talks to. encrypt=disable or TrustServerCertificate=true must be asked for.
//
// Types that need a word:
//   - char(n) and varchar(n) are String, nchar(n) and nvarchar(n) WString with 2 × n bytes; the (max) types, text, ntext and xml are Clob or
//     NClob, varbinary(max) and image Blob.
//   - money is Numeric(19,4), smallmoney Numeric(10,4), rowversion 8 Bytes (case 56), tinyint Uint1 (case 57).
//   - uniqueidentifier is the canonical text that the server shows, in lower case (case 54); the server sorts such a column otherwise, so keys
//     are compared by the server only.
//   - datetime counts three-hundredths of a second and is shown with three digits, as the server does.
//   - datetimeoffset keeps its offset.
//   - hierarchyid is read as its text, json as its document. sql_variant, geometry, geography and other CLR types are Unsupported.
//   - The driver turns an unpaired surrogate in national text into U+FFFD; nothing tells it from a stored U+FFFD.
//
// Text arguments of ASCII characters are bound as varchar, others as nvarchar: an nvarchar argument would make the server convert a
// varchar column and scan its index.
//
// Ends of waiting: connecting ends with Config.ConnectTimeout or its context, whatever the server does; a silent server is given up after
// Config.ReadTimeout; a cancelled query waits cancelGrace for the server to confirm, then the connection is dropped.
package mssql

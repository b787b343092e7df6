package mysql

import (
	"errors"

	vendor "github.com/go-sql-driver/mysql"

	"ctbridge/bridge/fault"
)

type verdict struct {
	class fault.Class
	hint  string
}

var (
	login   = verdict{fault.Fatal, "check user, password and from which hosts the user may connect"}
	missing = verdict{fault.Table, "was the table or column dropped or renamed?"}
	denied  = verdict{fault.Table, "GRANT SELECT on the table to the user"}
	refused = verdict{fault.Table, ""} // the server does not take an expression, or cannot compute it for a row
	busy    = verdict{fault.Retry, "the server or the user has no connection left"}
)

// verdicts are the server's errors that do not simply pass (https://mariadb.com/kb/en/mariadb-error-code-reference/,
// https://dev.mysql.com/doc/mysql-errors/8.4/en/server-error-reference.html). Every other number is a retry: deadlock (1213), lock wait
// time-out (1205), shutdown (1053), killed connection (1927) and the like.
var verdicts = map[uint16]verdict{
	1044: {fault.Fatal, "GRANT SELECT on the database to the user"},
	1045: login, 1130: login, 1698: login,
	1049: {fault.Fatal, "the database of the DSN does not exist"},
	1251: login, 1275: login, // authentication protocols that do not meet
	1820: login, 1862: login, // expired passwords
	3118: login, 4151: login, // locked accounts
	1142: denied, 1143: denied,
	1227: {fault.Table, "the user lacks an administrative right that the text names"},
	1051: missing, 1054: missing, 1109: missing, 1146: missing, 1932: missing,
	1064: refused, // syntax
	1139: refused, 1210: refused, 1241: refused, 1305: refused, 1582: refused, 1583: refused, 1630: refused, 1690: refused, 4078: refused, 4079: refused,
	1356: {fault.Table, "the view refers to something that is not there or not allowed"},
	1267: {fault.Table, "the change sequence column has an unusual collation"},
	1194: {fault.Table, "REPAIR TABLE"}, 1195: {fault.Table, "REPAIR TABLE"},
	1040: busy, 1203: busy, 1226: busy,
	1461: {fault.Retry, "raise max_prepared_stmt_count"},
}

// classifier maps errors by number. Without a database in the DSN, a database that is not there or not allowed concerns only its tables.
func classifier(oneDatabase bool) func(err error) (fault.Class, string) {
	return func(err error) (fault.Class, string) {
		var server *vendor.MySQLError
		if !errors.As(err, &server) {
			return local(err)
		}
		v := verdicts[server.Number] // the zero verdict is a retry
		if !oneDatabase && (server.Number == 1044 || server.Number == 1049) {
			v.class = fault.Table
		}
		return v.class, v.hint
	}
}

// lost: the driver says so little of a read or write that failed or took too long.
func lost(err error) bool { return errors.Is(err, vendor.ErrInvalidConn) }

// impossible are the driver's errors about how to log in.
var impossible = []error{
	vendor.ErrNoTLS, vendor.ErrCleartextPassword, vendor.ErrNativePassword, vendor.ErrOldPassword, vendor.ErrUnknownPlugin,
	vendor.ErrOldProtocol,
}

// local classifies errors that no server sent. Everything about the connection passes by itself.
func local(err error) (fault.Class, string) {
	for _, e := range impossible {
		if errors.Is(err, e) {
			return fault.Fatal, "server and DSN must agree on how to log in; a server without TLS needs tls=false in source.dsn, where nobody can listen"
		}
	}
	class, hint, _ := fault.Handshake(err, "the database")
	return class, hint
}

package mssql

import (
	"context"
	"errors"
	"net"
	"os"

	mssql "github.com/microsoft/go-mssqldb"

	"ctbridge/bridge/fault"
)

type verdict struct {
	class fault.Class
	hint  string
}

var (
	login    = verdict{fault.Fatal, "check user and password of the DSN, and that the login is enabled"}
	database = verdict{fault.Fatal, "check the database of the DSN and the login's access to it"}
	missing  = verdict{fault.Table, "was the table or column dropped or renamed?"}
	denied   = verdict{fault.Table, "GRANT SELECT on the table to the login"}
	refused  = verdict{fault.Table, ""} // the server does not take the statement or cannot convert a value
	victim   = verdict{fault.Retry, ""}
	full     = verdict{fault.Retry, "the server is at a limit of its service tier"}
	away     = verdict{fault.Retry, "the database is starting, recovering, restored or failing over"}
)

// verdicts are the server's errors by number (SQL Server, "Database engine events and errors"). Every other number is a retry: there are
// thousands, and one that lasts shows in the metrics while one that passes must not stop a task.
var verdicts = map[int32]verdict{
	18452: login, 18456: login, 18470: login, 18486: login, 18487: login, 18488: login,
	4060: database, 4064: database,
	208: missing, 207: missing, 4104: missing, 4413: missing, 4502: missing, 2812: missing, 33557097: missing, // the last is Babelfish's
	229: denied, 230: denied, 300: denied, 916: denied,
	102: refused, 156: refused, 170: refused, 195: refused, 206: refused, 220: refused, 232: refused, 241: refused, 242: refused, 244: refused, 245: refused,
	248: refused, 295: refused, 8114: refused, 8115: refused, 8169: refused,
	// In an expression of the user's: see source.filters.
	105: refused, 147: refused, 174: refused, 189: refused, 305: refused, 306: refused, 402: refused, 403: refused, 468: refused, 535: refused, 537: refused,
	4121: refused, 4145: refused, 8116: refused, 8117: refused, 8134: refused,
	1205: victim, 1222: {fault.Retry, "a writer holds a lock for long; see Config.LockTimeout"}, 3960: victim, 601: victim,
	-2: victim, 596: victim, 6005: away, 10053: victim, 10054: victim, 10060: victim,
	921: away, 922: away, 924: away, 927: away, 942: away, 945: away, 952: away, 976: away, 978: away, 979: away, 983: away,
	17142: away, 17187: away, 18401: away, 40197: away, 40613: away,
	40501: full, 10928: full, 10929: full, 49918: full, 49919: full, 49920: full,
}

// lost: nothing came within ReadTimeout; see patience.Conn.
func lost(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }

// classify goes by the server's number, that of the first known error among those of one answer; what is no server error is trouble with the
// network or the driver: it passes.
func classify(err error) (fault.Class, string) {
	var server mssql.Error
	if !errors.As(err, &server) {
		if class, hint, known := fault.Handshake(err, "the database"); known {
			return class, hint
		}
		return fault.Retry, networkHint(err)
	}
	for _, e := range append(server.All, server) {
		if v, ok := verdicts[e.Number]; ok {
			return v.class, v.hint
		}
	}
	return fault.Retry, ""
}

// networkHint tells a failed handshake, which the driver reports as bare text, from trouble with the network.
func networkHint(err error) string {
	var connecting *connectError
	var network net.Error
	if errors.As(err, &connecting) && !errors.As(err, &network) && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
		return "if the certificate is the trouble, see encrypt, certificate, hostNameInCertificate and TrustServerCertificate in the DSN, or source.tls"
	}
	return ""
}

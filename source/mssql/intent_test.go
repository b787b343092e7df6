package mssql

import (
	"strings"
	"testing"

	"ctbridge/bridge/change"
	"ctbridge/bridge/fault"
	"ctbridge/test/tdspeer"
)

// Case 29: the intent to read only passes through, in whatever case it is written, and a login that the primary sends on to a replica ends there.
func TestCase29_ReadOnlyIntent(t *testing.T) {
	t.Parallel()
	for option, readOnly := range map[string]bool{
		"ApplicationIntent=ReadOnly": true, "applicationintent=readonly": true, "ApplicationIntent=READONLY": true, "ApplicationIntent=ReadWrite": false, "app+name=x": false,
	} {
		answer := func(name string) tdspeer.Handler {
			return func(string, []any) tdspeer.Result {
				return tdspeer.Result{Columns: []tdspeer.Column{{Name: "name", Type: "nvarchar(20)"}}, Rows: [][]any{{name}}}
			}
		}
		primary, replica := tdspeer.Start(t, answer("primary")), tdspeer.Start(t, answer("replica"))
		primary.RouteReaders(replica)
		e := openPeer(t, primary, Config{DSN: primary.DSN(option)})
		rows, err := readAll(t.Context(), e.Prepare("SELECT name", []change.Column{{Name: "name", Type: change.Type{Kind: change.WString, Length: 40}}}), 1)
		if err != nil || len(rows) != 1 {
			t.Fatalf("%s: %v, %v", option, rows, err)
		}
		want := map[bool]string{true: "replica", false: "primary"}[readOnly]
		if got := string(rows[0][0].Raw); got != want || primary.Logins()[0].ReadOnly != readOnly || (len(replica.Logins()) > 0) != readOnly {
			t.Errorf("%s: answered by the %s, logins %+v and %+v", option, got, primary.Logins(), replica.Logins())
		}
	}
}

// A replica that cannot be read yet, or whose primary does not let it be read, is away: reading goes on by itself.
func TestCase29_ReplicaNotReadable(t *testing.T) {
	t.Parallel()
	for _, number := range []int32{976, 978, 979, 983} {
		peer := tdspeer.Start(t, nil)
		peer.RefuseLogins(&tdspeer.Error{Number: number, Class: 14, Message: "The target database is participating in an availability group."})
		e := openPeer(t, peer, Config{DSN: peer.DSN("ApplicationIntent=ReadOnly")})
		if err := e.Ping(t.Context()); fault.ClassOf(err) != fault.Retry || err == nil {
			t.Errorf("%d: %v of class %s, want retry", number, err, fault.ClassOf(err))
		}
	}
}

func TestIntentThatMeansNothing(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string]string{
		"sqlserver://u:s3cret@localhost?ApplicationIntent=ReadOnly":             "needs a database",
		"sqlserver://u:s3cret@localhost?ApplicationIntent=readonly":             "needs a database",
		"server=localhost;user id=u;password=s3cret;ApplicationIntent=ReadOnly": "needs a database",
		"sqlserver://u:s3cret@localhost?database=d&ApplicationIntent=Read":      "neither ReadOnly nor ReadWrite",
	} {
		_, err := Open(Config{DSN: dsn})
		if err == nil || fault.ClassOf(err) != fault.Config || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

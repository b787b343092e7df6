package postgres

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"ctbridge/bridge/fault"
)

// fail classifies err at the adapter's edge; nil stays nil and an error that has a class keeps it.
func fail(ctx context.Context, where string, err error) error {
	if err == nil {
		return nil
	}
	var known *fault.Error
	if errors.As(err, &known) {
		return err
	}
	if end := ctx.Err(); end != nil {
		if !errors.Is(err, end) {
			err = fmt.Errorf("%w: %w", end, err)
		}
		return fault.New(fault.Retry, where, err, "")
	}
	class, hint := classify(err)
	return fault.New(class, where, err, hint)
}

// classify goes by SQLSTATE (PostgreSQL manual, appendix A). What is no server error is trouble with the network or the driver: it passes.
func classify(err error) (fault.Class, string) {
	var server *pgconn.PgError
	if !errors.As(err, &server) {
		return handshake(err)
	}
	switch code := server.Code; code {
	case "42501":
		return fault.Table, "GRANT SELECT on the table, and USAGE on its schema, to the login"
	case "42P01", "42703", "3F000":
		return fault.Table, "the table, column or schema is not there any more"
	case "3D000":
		return fault.Fatal, "the database of the DSN does not exist"
	case "08P01", "26000", "42P05":
		return fault.Retry, "behind a connection pooler add default_query_exec_mode=simple_protocol to the DSN"
	case "0A000":
		if server.Routine == "RevalidateCachedQuery" {
			return fault.Retry, "" // the table changed under a prepared statement; pgx prepares it anew
		}
		return fault.Table, ""
	case "57014":
		return fault.Retry, "the server ended the statement; see statement_timeout and who cancels"
	case "22021":
		return fault.Table, "the database has encoding SQL_ASCII and holds text that is not UTF-8: mend the text or leave the column out"
	case "53300":
		return fault.Retry, "the server has no connection left: lower the pool or raise max_connections"
	}
	return classOfGroup(server.Code)
}

// noTLS is what pgx says of a server without TLS; it has no type.
const noTLS = "server refused TLS connection"

// handshake tells trouble with certificates, which does not pass, from trouble with the network.
func handshake(err error) (fault.Class, string) {
	if lacksTLS(err) {
		return fault.Fatal, "set ssl = on at the server; where nobody can listen, sslmode=disable in source.dsn does without"
	}
	class, hint, _ := fault.Handshake(err, "the database")
	return class, hint
}

// lacksTLS looks for the bare error in the chain, at any depth.
func lacksTLS(err error) bool {
	switch e := err.(type) { //nolint:errorlint // each error of the chain is looked at by itself
	case nil:
		return false
	case interface{ Unwrap() []error }:
		return slices.ContainsFunc(e.Unwrap(), lacksTLS)
	case interface{ Unwrap() error }:
		return lacksTLS(e.Unwrap())
	}
	return err.Error() == noTLS
}

// classOfGroup goes by the first two characters of SQLSTATE.
func classOfGroup(code string) (fault.Class, string) {
	switch code[:min(2, len(code))] {
	case "28":
		return fault.Fatal, "check user and password of the DSN and the server's pg_hba.conf"
	case "22", "42", "54":
		return fault.Table, ""
	}
	return fault.Retry, ""
}

// dsnFault reports a DSN that cannot be used, without quoting it: a malformed DSN may show its password anywhere.
func dsnFault(dsn string, err error) error {
	const where = "open postgres source"
	if strings.Contains(dsn, "://") {
		if _, bad := url.Parse(dsn); bad != nil {
			return fault.New(fault.Config, where, errors.New("the DSN is not a URL"),
				"write postgres://user:password@host:5432/database and percent-encode special characters of the password")
		}
	}
	if !strings.Contains(dsn, "://") && !keywordList.MatchString(dsn) {
		// The driver's own words would quote what it stumbled over, which may be a piece of the password.
		return fault.New(fault.Config, where, errors.New("the DSN is not a list of keyword=value"), "write host=… user=… password='…' dbname=…, with quotes around values that hold blanks")
	}
	return fault.New(fault.Config, where, errors.New("the DSN is not usable: "+parseReason(err)), "")
}

// keywordList is the form of a DSN that is no URL: blanks around the equals sign are allowed, values with blanks are quoted.
var keywordList = regexp.MustCompile(`^\s*([A-Za-z_]+\s*=\s*('(\\.|[^'\\])*'|(\\.|[^'\\\s])*)(\s+|$))*$`)

// parseReason is the part of pgx's message that follows the quoted DSN.
func parseReason(err error) string {
	text := err.Error()
	return text[max(strings.LastIndex(text, "`: ")+3, 0):]
}

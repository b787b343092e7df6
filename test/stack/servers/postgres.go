package servers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// postgres is a cluster of its own with one superuser, [User], who logs in with the stack's password.
type postgres struct{}

// User is the database user with all rights, on PostgreSQL and on MariaDB.
const User = "ctbridge"

func (postgres) name() string    { return Postgres }
func (postgres) ports() []string { return []string{"client"} }

// PostgreSQL refuses to run as root.
func (postgres) account() string { return "postgres" }

func (postgres) prepare(ctx context.Context, s site) error {
	secret := filepath.Join(s.dir, "password")
	if err := os.WriteFile(secret, []byte(s.password+"\n"), 0o600); err != nil {
		return err
	}
	defer os.Remove(secret)
	if err := giveTo(s.account, secret); err != nil {
		return err
	}
	err := s.helper(ctx, filepath.Join(s.tools.PostgresBin, "initdb"), "--pgdata", "data", "--username", User, "--pwfile", secret,
		"--auth", "scram-sha-256", "--encoding", "UTF8", "--locale", "C.UTF-8", "--no-sync", "--no-instructions")
	if err != nil {
		return err
	}
	return appendTo(filepath.Join(s.dir, "data", "postgresql.conf"), postgresSettings(s))
}

// postgresSettings: fsync is off because tests end processes, not machines; what is committed still survives the end
// of the server, orderly or not.
func postgresSettings(s site) string {
	lines := []string{
		"listen_addresses = '" + loopback + "'",
		"port = " + strconv.Itoa(s.ports["client"]),
		"unix_socket_directories = ''",
		"max_connections = 200",
		"shared_buffers = 64MB",
		"fsync = off",
		"full_page_writes = off",
		"wal_level = replica",
		"timezone = 'UTC'",
		"log_timezone = 'UTC'",
	}
	return strings.Join(lines, "\n") + "\n"
}

func appendTo(path, text string) error {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if _, err := file.WriteString(text); err != nil {
		file.Close()
		return err
	}
	return file.Close()
}

// SIGINT is the "fast" shutdown: sessions are ended, the data is written. SIGQUIT is the "immediate" one: no final
// write, recovery at the next start, but no children left as after SIGKILL.
func (postgres) command(s site) command {
	return command{
		path: filepath.Join(s.tools.PostgresBin, "postgres"), args: []string{"-D", filepath.Join(s.dir, "data")},
		stop: syscall.SIGINT, abort: syscall.SIGQUIT,
	}
}

func (postgres) ready(ctx context.Context, s site) error {
	target := fmt.Sprintf("host=%s port=%d user=%s dbname=postgres connect_timeout=2", loopback, s.ports["client"], User)
	return s.ask(ctx, []string{"PGPASSWORD=" + s.password}, filepath.Join(s.tools.PostgresBin, "psql"), "-XAtqc", "SELECT 1", target)
}

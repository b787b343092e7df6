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

// mariadb is an instance of its own with one user, [User], who has all rights and logs in with the stack's password.
type mariadb struct{}

func (mariadb) name() string    { return MariaDB }
func (mariadb) ports() []string { return []string{"client"} }

// MariaDB refuses to run as root unless it is told to.
func (mariadb) account() string { return "mysql" }

func (mariadb) prepare(ctx context.Context, s site) error {
	files := map[string]string{"my.cnf": mariadbSettings(s), "init.sql": mariadbUser(s.password)}
	for name, text := range files {
		path := filepath.Join(s.dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
		if err := giveTo(s.account, path); err != nil {
			return err
		}
	}
	return s.helper(ctx, s.tools.MariaDBInstall, "--defaults-file="+filepath.Join(s.dir, "my.cnf"),
		"--auth-root-authentication-method=normal", "--skip-test-db")
}

// mariadbUser runs at each start, before the server accepts connections.
func mariadbUser(password string) string {
	var sql strings.Builder
	for _, host := range []string{loopback, "localhost"} {
		fmt.Fprintf(&sql, "CREATE USER IF NOT EXISTS '%s'@'%s' IDENTIFIED BY '%s';\n", User, host, password)
		fmt.Fprintf(&sql, "GRANT ALL PRIVILEGES ON *.* TO '%s'@'%s' WITH GRANT OPTION;\n", User, host)
	}
	return sql.String()
}

// mariadbSettings: a transaction log flush per second is enough, because tests end processes, not machines.
func mariadbSettings(s site) string {
	lines := []string{
		"[mysqld]",
		"datadir=" + filepath.Join(s.dir, "data"),
		"socket=" + filepath.Join(s.dir, "sql.sock"),
		"pid-file=" + filepath.Join(s.dir, "pid"),
		"init-file=" + filepath.Join(s.dir, "init.sql"),
		"bind-address=" + loopback,
		"port=" + strconv.Itoa(s.ports["client"]),
		"skip-name-resolve",
		"character-set-server=utf8mb4",
		"collation-server=utf8mb4_general_ci",
		"default-time-zone=+00:00",
		"max_connections=200",
		"innodb_buffer_pool_size=64M",
		"innodb_log_file_size=32M",
		"innodb_flush_log_at_trx_commit=2",
		"innodb_flush_method=fsync",
		"innodb_use_native_aio=0",
		"performance_schema=OFF",
	}
	return strings.Join(lines, "\n") + "\n"
}

func (mariadb) command(s site) command {
	return command{
		path: s.tools.MariaDBD, args: []string{"--defaults-file=" + filepath.Join(s.dir, "my.cnf")},
		stop: syscall.SIGTERM, abort: syscall.SIGKILL,
	}
}

func (mariadb) ready(ctx context.Context, s site) error {
	return s.ask(ctx, []string{"MYSQL_PWD=" + s.password}, s.tools.MariaDBAdmin, "--no-defaults", "--protocol=tcp", "--connect-timeout=2",
		"--host="+loopback, "--port="+strconv.Itoa(s.ports["client"]), "--user="+User, "ping", "status")
}

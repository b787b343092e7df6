package main

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"text/template"

	"github.com/spf13/cobra"

	"ctbridge/bridge/config"
)

//go:embed starter.yaml.tmpl
var starterText string

// products are the engines that init knows, with what differs between them.
var products = map[string]struct{ product, dsn, tables string }{
	config.EngineSQLServer: {"SQL Server", "sqlserver://ctbridge:password@127.0.0.1?database=shop", "dbo.*"},
	config.EnginePostgres:  {"PostgreSQL", "postgres://ctbridge:password@127.0.0.1/shop", "public.*"},
	config.EngineMySQL:     {"MySQL or MariaDB", "ctbridge:password@tcp(127.0.0.1)/shop", "shop.*"},
	config.EngineSQLite:    {"SQLite", "shop.db", "*"},
}

// starter is what the flags of init choose.
type starter struct {
	Engine, Layout, Envelope, Format string
	Replicas                         int
}

func (a *app) initCommand() *cobra.Command {
	s := starter{Replicas: 3}
	var full, force bool
	c := &cobra.Command{
		Use:   "init [FILE]",
		Short: "Write a commented configuration to start from",
		Long: `Write a commented configuration to start from, to FILE or to the terminal.

It is short and valid as it is; --full shows every key with its default instead. A file that exists stays as it is without --force.`,
		Example: "  ctbridge init orders.yaml --engine postgres --format avro",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			write := config.WriteYAML
			if !full {
				text, err := s.text()
				if err != nil {
					return &usageError{err: err, help: cmd.CommandPath() + " --help"}
				}
				write = func(w io.Writer) error { _, err := io.WriteString(w, text); return err }
			}
			if len(args) == 0 {
				return write(a.out)
			}
			return a.writeNew(args[0], force, write)
		},
	}
	c.Flags().StringVar(&s.Engine, "engine", config.EngineSQLServer, "database product: "+strings.Join(engineNames(), ", "))
	c.Flags().StringVar(&s.Layout, "layout", config.LayoutQlik, "kind of change tables: qlik, sqlserver-cdc")
	c.Flags().StringVar(&s.Envelope, "envelope", "qlik", "what a message looks like")
	c.Flags().StringVar(&s.Format, "format", config.FormatJSON, "json, avro")
	c.Flags().BoolVar(&full, "full", false, "every key, with its meaning and default")
	c.Flags().BoolVar(&force, "force", false, "write over a file that exists")
	return c
}

func engineNames() []string {
	names := make([]string, 0, len(products))
	for name := range products {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// text fills the template, and makes sure that what comes out is a configuration.
func (s starter) text() (string, error) {
	p, known := products[s.Engine]
	if !known {
		return "", fmt.Errorf("--engine %q is not one of %s", s.Engine, strings.Join(engineNames(), ", "))
	}
	var b strings.Builder
	err := template.Must(template.New("starter").Parse(starterText)).Execute(&b, struct {
		starter
		Product, DSN, Tables string
		CDC                  bool
	}{s, p.product, p.dsn, p.tables, s.Layout == config.LayoutSQLServerCDC})
	if err != nil {
		return "", err
	}
	_, err = config.Parse([]byte(b.String()), func(string) (string, bool) { return p.dsn, true })
	return b.String(), err
}

// writeNew writes a file that only its owner may read, as people put passwords into it.
func (a *app) writeNew(name string, force bool, write func(io.Writer) error) error {
	flags := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if !force {
		flags |= os.O_EXCL
	}
	f, err := os.OpenFile(name, flags, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return &usageError{err: fmt.Errorf("%s exists; --force writes over it", name)}
	}
	if err != nil {
		return &usageError{err: err}
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.out, "%s is written. Next: ctbridge validate %s\n", name, name)
	return err
}

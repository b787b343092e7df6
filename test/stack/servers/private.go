package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Private is one server beside a stack, set up in a way that only one test wants. It lives in the process of the test and ends with it.
type Private struct {
	unit  *unit
	state State
}

// Setting is how a private server differs from that of a stack.
type Setting struct {
	Part  string            // Kafka, Postgres or MariaDB
	Ports []string          // names of ports that it needs beside "client"
	Files map[string][]byte // PEM files and the like, written into its folder for its account only
	// Config is appended to the configuration of the part: server.properties, postgresql.conf or my.cnf. {dir} stands for the server's
	// folder, {port:name} for a port.
	Config string
	// Instead replaces the whole text of a file that the part makes, such as data/pg_hba.conf; {dir} and {port:name} as above.
	Instead map[string]string
}

// StartPrivate starts a server with the programs of a stack that runs, in a folder of its own.
func StartPrivate(ctx context.Context, tools Tools, set Setting) (*Private, error) {
	found := kindsOf([]string{set.Part})
	if len(found) != 1 {
		return nil, fmt.Errorf("no server named %q", set.Part)
	}
	k := adjusted{found[0], set}
	state, err := reserve(State{Tools: tools}, []kind{k}, "")
	if err != nil {
		return nil, err
	}
	p := &Private{state: state}
	if err := p.start(ctx, k); err != nil {
		return nil, errors.Join(err, os.RemoveAll(state.Folder))
	}
	return p, nil
}

func (p *Private) start(ctx context.Context, k adjusted) error {
	server, err := p.state.Find(k.name())
	if err != nil {
		return err
	}
	site, err := newSite(p.state, *server, k)
	if err != nil {
		return err
	}
	note := func(condition string, process Process) error { // so that a later stack can bury what a killed test leaves
		server.Condition, server.Process = condition, process
		return p.state.save()
	}
	p.unit = &unit{kind: k, site: site, spawn: newSpawner(), note: note, lost: func(string) {}}
	return p.unit.start(ctx)
}

// Address is host:port of a named port; "client" is the part's own.
func (p *Private) Address(port string) string { return address(p.unit.site.ports[port]) }

// Password is that of [User].
func (p *Private) Password() string { return p.unit.site.password }

// Close ends the server and deletes its data.
func (p *Private) Close() error { return errors.Join(p.unit.crash(), os.RemoveAll(p.state.Folder)) }

// adjusted is a kind with more in its configuration.
type adjusted struct {
	kind
	set Setting
}

func (a adjusted) ports() []string { return append(a.kind.ports(), a.set.Ports...) }

// configs are the files that settings are appended to.
var configs = map[string]string{Kafka: "server.properties", Postgres: "data/postgresql.conf", MariaDB: "my.cnf"}

func (a adjusted) prepare(ctx context.Context, s site) error {
	if err := a.kind.prepare(ctx, s); err != nil {
		return err
	}
	names := []string{"{dir}", s.dir}
	for name, port := range s.ports {
		names = append(names, "{port:"+name+"}", fmt.Sprint(port))
	}
	fill := strings.NewReplacer(names...)
	for name, data := range a.set.Files {
		file := filepath.Join(s.dir, name)
		if err := os.WriteFile(file, data, 0o600); err != nil {
			return err
		}
		if err := giveTo(s.account, file); err != nil {
			return err
		}
	}
	for name, text := range a.set.Instead {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(fill.Replace(text)), 0o600); err != nil {
			return err
		}
	}
	return appendTo(filepath.Join(s.dir, configs[a.name()]), "\n"+fill.Replace(a.set.Config)+"\n")
}

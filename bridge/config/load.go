package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"gopkg.in/yaml.v3"
)

// Load reads a file. Variables come from the environment of the process. An error that concerns the content is a Problems.
func Load(path string) (*Task, error) {
	data, err := readFile(path, maxFile)
	if err != nil {
		return nil, fmt.Errorf("configuration %s cannot be read: %s", path, reason(err))
	}
	return Parse(data, os.LookupEnv)
}

// Parse reads the content of a file. Its error is a Problems.
func Parse(data []byte, env Lookup) (*Task, error) {
	return parse(data, env, func(path string) ([]byte, error) { return readFile(path, maxSecret) })
}

// maxSecret bounds a secret file: a token or a connection string.
const maxSecret = 64 << 10

func parse(data []byte, env Lookup, read func(path string) ([]byte, error)) (*Task, error) {
	root, problem := parseYAML(data)
	if problem != nil {
		return nil, Problems{*problem}
	}
	if root.Kind != yaml.MappingNode {
		return nil, Problems{{Line: root.Line, Text: "the file holds " + kindOf(root) + ", not keys", Fix: "begin with task: name"}}
	}
	task := Defaults()
	d := newDecoder(env)
	d.section(root, reflect.ValueOf(task).Elem(), "", 0)
	d.requireAll()
	d.readSecrets(task, read)
	task.fillOutputs(d)
	(&rules{Task: task, decoder: d}).check()
	if len(d.problems) > 0 {
		d.problems.sort()
		return nil, d.problems
	}
	task.resolve(hostName())
	return task, nil
}

// Defaults is the task of a file that sets nothing, placeholders not yet filled in. It is for the reference; it is not a valid task.
func Defaults() *Task {
	task := new(Task)
	newDecoder(nil).applyDefaults(reflect.ValueOf(task).Elem())
	return task
}

// requireAll reports the required keys that the file does not set.
func (d *decoder) requireAll() {
	walk(reflect.TypeFor[Task](), "", func(path string, f field) {
		if _, set := d.set[path]; !set && f.required {
			d.fail(path, 0, "is missing", "add it, for example "+f.name+": "+f.example)
		}
	})
}

// readSecrets replaces file:/path by the content of the file. In an SQLite connection string file: is part of the string.
func (d *decoder) readSecrets(t *Task, read func(path string) ([]byte, error)) {
	for _, f := range d.files {
		if f.path == "source.dsn" && t.Source.Engine == EngineSQLite || f.path == "checkpoint.dsn" && t.Checkpoint.Engine == EngineSQLite {
			continue
		}
		line := d.set[f.path].line
		if !filepath.IsAbs(f.name) {
			d.fail(f.path, line, "begins with file: but names no absolute path", "write file:/run/secrets/name; a secret that begins so itself can come from a variable")
			continue
		}
		content, err := read(f.name)
		if err != nil {
			d.fail(f.path, line, f.shown+" cannot be read: "+reason(err), "")
			continue
		}
		text := strings.TrimSuffix(strings.TrimSuffix(string(content), "\n"), "\r")
		if text == "" {
			d.fail(f.path, line, f.shown+" is an empty file", "")
		}
		*f.secret = NewSecret(text)
	}
}

// reason is the error without the path, which can hold the content of a variable.
func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

// readFile reads a file of at most that many bytes; longer ones are an error, so that a device cannot fill the memory.
func readFile(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > most {
		return nil, fmt.Errorf("it holds more than %s", Size(most))
	}
	return data, nil
}

func hostName() string {
	if name, err := os.Hostname(); err == nil {
		return name
	}
	return "localhost"
}

package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"gopkg.in/yaml.v3"

	"ctbridge/bridge/config"
)

// These tests keep the Markdown of the whole tree true: its links, its configurations, its keys and its commands.

// page is one Markdown file.
type page struct {
	path string // from the root of the tree
	text string
}

// pages finds all Markdown files; manuals are those for users.
func pages(t *testing.T) (all, manuals []page) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && (name == "testdata" || name == "dist" || name != "." && name != ".." && strings.HasPrefix(name, ".")) {
			return fs.SkipDir
		}
		if d.IsDir() || filepath.Ext(name) != ".md" || name == "THIRD_PARTY_LICENSES.md" { // which is others' texts
			return nil
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(root, path)
		p := page{rel, string(text)}
		all = append(all, p)
		if rel == "README.md" || strings.HasPrefix(rel, "deploy/") || strings.HasPrefix(rel, "docs/") && !strings.HasPrefix(rel, "docs/adding-") {
			manuals = append(manuals, p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(manuals) < 15 {
		t.Fatalf("%d manuals in %d pages", len(manuals), len(all))
	}
	return all, manuals
}

var (
	fenced     = regexp.MustCompile("(?ms)^( *)```([a-z]*)\n(.*?)^ *```$") // indentation, language, text
	inline     = regexp.MustCompile("`([^`\n]+)`")
	linkTarget = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading    = regexp.MustCompile(`(?m)^#+ +(.+?) *$`)
	notInSlug  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// anchors are the names under which the headings of a page can be linked to.
func anchors(text string) map[string]bool {
	out := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		out[strings.ReplaceAll(notInSlug.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")] = true
	}
	return out
}

// Every link to a file leads to one, and every anchor to a heading.
func TestDocsLinks(t *testing.T) {
	all, _ := pages(t)
	count := 0
	for _, p := range all {
		text := inline.ReplaceAllString(fenced.ReplaceAllString(p.text, ""), "")
		for _, m := range linkTarget.FindAllStringSubmatch(text, -1) {
			file, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(file, "://") {
				continue
			}
			count++
			to := filepath.Join(root, filepath.Dir(p.path), file)
			if file == "" {
				to = filepath.Join(root, p.path)
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: %s leads nowhere", p.path, m[1])
				continue
			}
			if anchor == "" {
				continue
			}
			target, err := os.ReadFile(to)
			if err != nil || !anchors(string(target))[anchor] {
				t.Errorf("%s: %s has no such heading", p.path, m[1])
			}
		}
	}
	if count < 40 {
		t.Errorf("only %d links", count)
	}
}

// Every page in docs can be reached from the index there.
func TestDocsIndex(t *testing.T) {
	all, _ := pages(t)
	index, err := os.ReadFile(filepath.Join(root, "docs/README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		name, inDocs := strings.CutPrefix(p.path, "docs/")
		if inDocs && name != "README.md" && !bytes.Contains(index, []byte("]("+name+")")) {
			t.Errorf("docs/README.md does not name %s", name)
		}
	}
}

// referenceKeys are the keys and sections of the configuration.
func referenceKeys(t *testing.T) map[string]bool {
	t.Helper()
	var b bytes.Buffer
	if err := config.WriteMarkdown(&b); err != nil {
		t.Fatal(err)
	}
	keys := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^(?:\\| `([a-z_.\\[\\]]+)` \\||## ([a-z_.\\[\\]]+)$)").FindAllStringSubmatch(b.String(), -1) {
		keys[m[1]+m[2]] = true
	}
	return keys
}

var dotted = regexp.MustCompile(`^[a-z_]+(?:\[\])?(?:\.[a-z_]+)+$`)

// notKeys begin like keys of the configuration and are members of messages.
var notKeys = []string{
	"source.name", "source.db", "source.version", "source.sequence", "source.schema", "source.table", "source.connector", "source.snapshot", "source.ts_ms",
	"source.event_serial_no", "source.lsn", "tombstones.on.delete", "debezium.dbo.orders",
}

// Every key that a manual names in code exists.
func TestDocsKeys(t *testing.T) {
	_, manuals := pages(t)
	keys := referenceKeys(t)
	count := 0
	for _, p := range manuals {
		for _, m := range inline.FindAllStringSubmatch(fenced.ReplaceAllString(p.text, ""), -1) {
			key, _, _ := strings.Cut(m[1], ":")
			first, _, _ := strings.Cut(key, ".")
			if !dotted.MatchString(key) || !keys[strings.TrimSuffix(first, "[]")] && !keys[first] || slices.Contains(notKeys, key) {
				continue
			}
			count++
			if !keys[key] {
				t.Errorf("%s: there is no key %s", p.path, key)
			}
		}
	}
	if count < 100 {
		t.Errorf("only %d keys", count)
	}
}

// commandLine finds calls of the program in a line of a shell or in inline code.
var commandLine = regexp.MustCompile(`(?:^|[\s/;(])ctbridge ((?:-?-?[a-z<[A-Z])[^#|;]*)`)

// promised are the verbs that the README announces for later.
func promised(t *testing.T) (verbs []string) {
	row := regexp.MustCompile(`(?m)^\| Verbs \| .*? \| (.*?) \|$`).FindStringSubmatch(readme(t))
	if row != nil {
		for _, m := range inline.FindAllStringSubmatch(row[1], -1) {
			verbs = append(verbs, m[1])
		}
	}
	return verbs
}

// Every call of the program in a manual names a verb that exists, with flags that it has.
func TestDocsCommands(t *testing.T) {
	_, manuals := pages(t)
	later := promised(t)
	count := 0
	for _, p := range manuals {
		var lines []string
		for _, m := range fenced.FindAllStringSubmatch(p.text, -1) {
			if slices.Contains([]string{"", "sh", "console"}, m[2]) {
				lines = append(lines, strings.Split(strings.ReplaceAll(m[3], "\\\n", " "), "\n")...)
			}
		}
		for _, m := range inline.FindAllStringSubmatch(fenced.ReplaceAllString(p.text, ""), -1) {
			lines = append(lines, m[1])
		}
		for _, line := range lines {
			for _, m := range commandLine.FindAllStringSubmatch(line, -1) {
				words := strings.Fields(m[1])
				if slices.Contains(later, words[0]) {
					continue
				}
				count++
				if problem := checkCommand(words); problem != "" {
					t.Errorf("%s: ctbridge %s: %s", p.path, m[1], problem)
				}
			}
		}
	}
	if count < 40 {
		t.Errorf("only %d commands", count)
	}
}

// checkCommand looks for the verb and the flags of a call.
func checkCommand(words []string) string {
	cmd, rest, err := (&app{env: os.LookupEnv}).root().Find(words)
	if err != nil || !cmd.HasParent() && words[0] != "--version" && words[0] != "--help" {
		return "no such verb"
	}
	known := pflag.NewFlagSet("", pflag.ContinueOnError)
	known.AddFlagSet(cmd.Flags())
	known.AddFlagSet(cmd.InheritedFlags())
	for _, word := range rest {
		name, isFlag := strings.CutPrefix(word, "--")
		name, _, _ = strings.Cut(name, "=")
		if isFlag && known.Lookup(strings.Trim(name, "`'\")],.")) == nil && name != "version" && name != "help" {
			return "no flag --" + name
		}
	}
	return ""
}

// Every YAML block that is a configuration, whole or in part, is a valid one. What a part leaves out is put beside it.
func TestDocsConfigurations(t *testing.T) {
	_, manuals := pages(t)
	keys := referenceKeys(t)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("password"), 0o600); err != nil {
		t.Fatal(err)
	}
	whole, parts := 0, 0
	for _, p := range manuals {
		for _, block := range fenced.FindAllStringSubmatch(p.text, -1) {
			if block[2] != "yaml" {
				continue
			}
			text := strings.ReplaceAll("\n"+block[3], "\n"+block[1], "\n")
			missing, isConfig := completion(text, keys)
			switch {
			case !isConfig:
				continue
			case missing == "":
				whole++
			default:
				parts++
			}
			text = regexp.MustCompile(`file:/[^\s"}]+`).ReplaceAllString(completeSections(text), "file:"+secret)
			if _, err := config.Parse([]byte(missing+text), docsEnv(text)); err != nil {
				t.Errorf("%s: %v in\n%s%s", p.path, err, missing, text)
			}
		}
	}
	if whole < 10 || parts < 5 {
		t.Errorf("%d configurations, %d parts", whole, parts)
	}
}

// docsEnv gives every variable that a manual may ask for.
func docsEnv(text string) config.Lookup {
	dsn := "sqlserver://ctbridge:password@db.example.com?database=shop"
	switch engine := regexp.MustCompile(`engine: (\w+)`).FindStringSubmatch(text); {
	case engine == nil:
	case engine[1] == config.EnginePostgres:
		dsn = "postgres://ctbridge:password@db.example.com/shop"
	case engine[1] == config.EngineMySQL:
		dsn = "ctbridge:password@tcp(db.example.com:3306)/shop"
	case engine[1] == config.EngineSQLite:
		dsn = "/var/lib/shop/shop.db"
	}
	return func(name string) (string, bool) {
		if strings.Contains(name, "DSN") {
			return dsn, true
		}
		return "password", true
	}
}

// completeSections puts what is required into sections of which a block shows a part.
func completeSections(text string) string {
	for section, required := range map[string][]string{"source": {"engine: sqlserver", "dsn: ${SOURCE_DSN}"}, "kafka": {"brokers: [\"kafka:9092\"]"}} {
		body := regexp.MustCompile(`(?m)^` + section + `:\n((?: +.*\n)+)`).FindStringSubmatch(text)
		for _, line := range required {
			key, _, _ := strings.Cut(line, ":")
			if body != nil && !strings.Contains(body[1], key+":") {
				text = strings.Replace(text, section+":\n", section+":\n"+body[1][:len(body[1])-len(strings.TrimLeft(body[1], " "))]+line+"\n", 1)
			}
		}
	}
	return text
}

// completion is what a YAML block lacks to be a configuration; isConfig tells that all its keys are known at the top.
func completion(text string, keys map[string]bool) (missing string, isConfig bool) {
	var top map[string]yaml.Node
	if err := yaml.Unmarshal([]byte(text), &top); err != nil || len(top) == 0 {
		return "", false
	}
	for key := range top {
		if !keys[key] {
			return "", false
		}
	}
	for key, value := range map[string]string{
		"task": "orders", "source": "{engine: sqlserver, dsn: \"${SOURCE_DSN}\"}", "kafka": "{brokers: [\"kafka:9092\"]}",
	} {
		if _, there := top[key]; !there {
			missing += key + ": " + value + "\n"
		}
	}
	if _, there := top["schema_registry"]; !there && strings.Contains(text, "avro") && missing != "" {
		missing += "schema_registry: {url: \"http://registry:8081\"}\n"
	}
	return missing, true
}

package demo

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"ctbridge/bridge/config"
)

// place is the folder of a demo.
type place struct {
	dir  string
	keep bool
}

// newPlace makes the folder that is to be kept, or a temporary one.
func newPlace(keep string) (*place, error) {
	if keep == "" {
		dir, err := os.MkdirTemp("", "ctbridge-demo-")
		return &place{dir: dir}, err
	}
	dir, err := filepath.Abs(keep)
	if err != nil {
		return nil, err
	}
	return &place{dir: dir, keep: true}, os.MkdirAll(dir, 0o755)
}

func (p *place) database() string { return filepath.Join(p.dir, "shop.db") }
func (p *place) config() string   { return filepath.Join(p.dir, "ctbridge.yaml") }

// broker is where the embedded servers keep what they hold; empty = in memory.
func (p *place) broker() string {
	if p.keep {
		return p.dir
	}
	return ""
}

func (p *place) remove() error {
	if p.keep {
		return nil
	}
	return os.RemoveAll(p.dir)
}

// configYAML is the configuration that the demo runs with: the one a user would write, apart from the variables.
const configYAML = `# Written by ctbridge demo. The same bridge without the demo around it, to your own brokers:
#   %[1]s ctbridge run %[2]s
# While the demo runs, start a second bridge under another task name only: two of one name shut each other out.
task: demo
source:
  engine: sqlite
  dsn: %[3]s
  poll_interval: 100ms
  qlik:
    mask_byte_order: lsb
  horizon:
    settle: 0s              # the triggers write inside the source transaction
envelope: qlik
format: %[4]s
kafka:
  brokers: ${KAFKA_BROKERS:-%[5]s}
  topic: "{table}"
%[6]smetrics:
  listen: 127.0.0.1:0       # any free port
`

const registryYAML = `schema_registry:
  url: ${REGISTRY_URL:-%s}
`

// writeConfig writes the configuration file and parses it. The variables in it are for later: here the servers of this demo count.
func (p *place) writeConfig(format, brokers, registry string) (*config.Task, error) {
	variables, section := "KAFKA_BROKERS=host:9092", ""
	if format == config.FormatAvro {
		variables += " REGISTRY_URL=http://host:8081"
		section = fmt.Sprintf(registryYAML, registry)
	}
	text := fmt.Sprintf(configYAML, variables, filepath.Base(p.config()), quoteYAML(p.database()), format, brokers, section)
	task, err := config.Parse([]byte(text), func(string) (string, bool) { return "", false })
	if err != nil {
		return nil, fmt.Errorf("the demo's own configuration: %w", err)
	}
	return task, os.WriteFile(p.config(), []byte(text), 0o644)
}

// quoteYAML writes a text so that neither YAML nor the variables of the configuration see anything in it.
func quoteYAML(text string) string {
	return "'" + strings.NewReplacer("'", "''", "$", "$$").Replace(text) + "'"
}

package servers

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Report receives one line of progress.
type Report func(line string)

// Install finds the programs of the parts and gets what is missing: system packages with apt when we are root, Java
// and Python packages with their ordinary clients into the cache. It may take minutes the first time; two at once are
// safe, the second waits.
func Install(ctx context.Context, parts []string, report Report) (Tools, error) {
	var tools Tools
	if !supported {
		return tools, ErrUnsupported
	}
	home, err := Home()
	if err != nil {
		return tools, err
	}
	if err := os.MkdirAll(home, 0o755); err != nil {
		return tools, err
	}
	unlock, err := lock(filepath.Join(home, "lock"))
	if err != nil {
		return tools, err
	}
	defer unlock()
	cache := cache{home: home, report: report}
	if err := cache.packages(ctx, tools.systemNeeds(parts, cache)); err != nil {
		return tools, err
	}
	return tools, cache.fill(ctx, &tools, parts)
}

// cache is the folder of downloads. Each entry is a folder named after its version; an entry that is there is whole.
type cache struct {
	home   string
	report Report
}

func (c cache) kafka() string    { return c.named("kafka-"+kafkaVersion, kafkaProject()) }
func (c cache) registry() string { return filepath.Join(c.home, "apicurio-"+registryVersion) }
func (c cache) helm() string     { return filepath.Join(c.home, "helm-"+helmVersion) }
func (c cache) python() string   { return c.named("python", strings.Join(pythonPackages, "\n")) }

// named makes a folder name out of the list of what is in the folder, so that a change of the list makes a new one.
func (c cache) named(prefix, content string) string {
	sum := sha256.Sum256([]byte(content))
	return filepath.Join(c.home, fmt.Sprintf("%s-%x", prefix, sum[:4]))
}

func (c cache) has(entry string) bool {
	_, err := os.Stat(entry)
	return err == nil
}

// packages installs the Debian packages of the programs that are not there.
func (c cache) packages(ctx context.Context, needs []need) error {
	missing := resolve(needs)
	if len(missing) == 0 {
		return nil
	}
	hint := "apt-get install --no-install-recommends " + strings.Join(missing, " ")
	if _, err := exec.LookPath("apt-get"); err != nil || os.Getuid() != 0 {
		return fmt.Errorf("programs are missing; as root on Debian: %s", hint)
	}
	err := c.timed("packages "+strings.Join(missing, " "), func() error {
		if err := run(ctx, c.home, "apt-get", "-q", "update"); err != nil {
			return err
		}
		return run(ctx, c.home, "apt-get", slices.Concat([]string{"-q", "install", "-y", "--no-install-recommends"}, missing)...)
	})
	if err != nil {
		return err
	}
	if missing = resolve(needs); len(missing) > 0 {
		return fmt.Errorf("installed, yet programs are still not found; look at: %s", hint)
	}
	return nil
}

// fill gets the Java parts one after the other, because Maven's own cache is not safe for two, and Python and Helm beside them.
func (c cache) fill(ctx context.Context, tools *Tools, parts []string) error {
	var group sync.WaitGroup
	var java, python, helm error
	if slices.Contains(parts, Python) {
		tools.Python = filepath.Join(c.python(), "bin", "python")
		group.Go(func() { python = c.entry("python", c.pythonDone(), func() error { return c.makePython(ctx) }) })
	}
	if slices.Contains(parts, Helm) {
		tools.Helm = filepath.Join(c.helm(), "helm")
		group.Go(func() { helm = c.entry("helm "+helmVersion, c.helm(), func() error { return c.makeHelm(ctx) }) })
	}
	if slices.Contains(parts, Kafka) || slices.Contains(parts, Kafka3) {
		tools.KafkaJars = c.kafka()
		java = c.entry("kafka "+kafkaVersion, c.kafka(), func() error { return c.makeKafka(ctx) })
	}
	if slices.Contains(parts, Registry) && java == nil {
		tools.RegistryHome = c.registry()
		java = c.entry("registry "+registryVersion, c.registry(), func() error { return c.makeRegistry(ctx) })
	}
	group.Wait()
	return errors.Join(java, python, helm)
}

func (c cache) entry(what, path string, fetch func() error) error {
	if c.has(path) {
		return nil
	}
	return c.timed("install "+what, fetch)
}

func (c cache) timed(what string, work func() error) error {
	begin := time.Now()
	if err := work(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	c.report(fmt.Sprintf("%s: %.1f s", what, time.Since(begin).Seconds()))
	return nil
}

// stage gives fetch a scratch folder and puts it in its place only when fetch succeeded.
func (c cache) stage(entry string, fetch func(dir string) error) error {
	dir, err := os.MkdirTemp(c.home, "part-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := fetch(dir); err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	return os.Rename(dir, entry)
}

// run runs an installer quietly; what it printed is part of the error.
func run(ctx context.Context, dir, program string, args ...string) error {
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &out
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "PIP_DISABLE_PIP_VERSION_CHECK=1")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", program, strings.Join(args, " "), err, tail(out.String(), 30))
	}
	return nil
}

// tail is the last lines of a text.
func tail(text string, lines int) string {
	all := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

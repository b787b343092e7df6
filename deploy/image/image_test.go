package image

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"ctbridge/sink/embedded"
)

// account is the user and group of the image.
const account = 65532

// largest is what the whole image may weigh: the binary, the certificates and next to nothing else.
const largest = 64 << 20

// tree is the top of the module.
const tree = "../.."

// What the first stage copies is what a build needs: no package of the binary may lie outside of it.
func TestTheContextHasEveryPackage(t *testing.T) {
	t.Parallel()
	ignore, err := os.ReadFile(filepath.Join(tree, ".dockerignore"))
	if err != nil {
		t.Fatal(err)
	}
	var kept []string
	for _, line := range strings.Split(string(ignore), "\n") {
		if name, ok := strings.CutPrefix(line, "!"); ok {
			kept = append(kept, name)
		}
	}
	list := exec.Command("go", "list", "-deps", "-f", "{{if .Module}}{{if .Module.Main}}{{.ImportPath}}{{end}}{{end}}", "./cmd/ctbridge")
	list.Dir = tree
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range strings.Fields(string(out)) {
		room, _, _ := strings.Cut(strings.TrimPrefix(path, "ctbridge/"), "/")
		if !slices.Contains(kept, room) {
			t.Errorf("package %s is not in the build context: see .dockerignore", path)
		}
	}
	for _, file := range []string{"go.mod", "go.sum", "Makefile", "deploy/image", "dist/rootfs", "LICENSE", "THIRD_PARTY_LICENSES.md"} {
		if !slices.Contains(kept, file) {
			t.Errorf("%s is not in the build context: see .dockerignore", file)
		}
	}
}

// picture is what buildah tells of an image.
type picture struct {
	Docker struct {
		Config struct {
			User         string
			Entrypoint   []string
			Cmd          []string
			ExposedPorts map[string]any
			StopSignal   string
			Healthcheck  struct{ Test []string }
		} `json:"config"`
	}
}

// built is the image, taken apart.
type built struct {
	picture
	root string // its files
}

func build(t *testing.T) built {
	t.Helper()
	if os.Getenv("CTBRIDGE_TEST_BUILDAH") == "" {
		t.Skip("CTBRIDGE_TEST_BUILDAH is not set: make test installs buildah")
	}
	if os.Getuid() != 0 {
		t.Skip("only root can build an image and enter it here")
	}
	dir := t.TempDir()
	buildah := func(args ...string) []byte {
		t.Helper()
		global := []string{"--storage-driver", "vfs", "--root", filepath.Join(dir, "storage"), "--runroot", filepath.Join(dir, "run")}
		return run(t, os.Getenv("CTBRIDGE_TEST_BUILDAH"), append(global, args...)...)
	}
	// A context of its own: tests of other packages may build in the tree at the same time.
	run(t, "go", "build", "-C", tree, "-trimpath", "-ldflags", "-s -w -X main.version=v0-image", "-o", filepath.Join(dir, "ctbridge"), "./cmd/ctbridge")
	run(t, "bash", "rootfs.sh", filepath.Join(dir, "context/dist/rootfs"), filepath.Join(dir, "ctbridge"))
	buildah("build", "--isolation", "chroot", "--format", "docker", "--build-arg", "BUILD=prebuilt",
		"-f", filepath.Join(tree, "Dockerfile"), "-t", "ctbridge:test", filepath.Join(dir, "context"))
	var b built
	if err := json.Unmarshal(buildah("inspect", "--type", "image", "ctbridge:test"), &b.picture); err != nil {
		t.Fatal(err)
	}
	container := strings.TrimSpace(string(buildah("from", "ctbridge:test")))
	b.root = strings.TrimSpace(string(buildah("mount", container)))
	t.Cleanup(func() { buildah("umount", container) })
	return b
}

func run(t *testing.T, program string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	var problem bytes.Buffer
	cmd.Stderr = &problem
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", program, strings.Join(args, " "), err, out, problem.String())
	}
	return out
}

func TestImage(t *testing.T) {
	b := build(t)
	t.Run("configuration", b.checkConfiguration)
	t.Run("files", b.checkFiles)
	t.Run("runs", b.checkRuns)
}

func (b built) checkConfiguration(t *testing.T) {
	c := b.Docker.Config
	if c.User != "65532:65532" || c.StopSignal != "SIGTERM" || !slices.Equal(c.Entrypoint, []string{"/ctbridge"}) ||
		!slices.Equal(c.Cmd, []string{"run", "/etc/ctbridge/ctbridge.yaml"}) || !slices.Equal(c.Healthcheck.Test, []string{"CMD", "/ctbridge", "health"}) {
		t.Errorf("%+v", c)
	}
	if _, ok := c.ExposedPorts["9464/tcp"]; !ok {
		t.Errorf("ports %v", c.ExposedPorts)
	}
}

func (b built) checkFiles(t *testing.T) {
	var files []string
	var size int64
	err := filepath.WalkDir(b.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		size += info.Size()
		name := strings.TrimPrefix(path, b.root)
		files = append(files, name)
		if info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0 || info.Mode().Perm()&0o022 != 0 || info.Sys().(*syscall.Stat_t).Uid != 0 {
			t.Errorf("%s: %v: others than root could change it", name, info.Mode())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"/LICENSE", "/THIRD_PARTY_LICENSES.md", "/ctbridge", "/etc/group", "/etc/passwd", "/etc/ssl/certs/ca-certificates.crt"}
	if slices.Sort(files); !slices.Equal(files, want) {
		t.Errorf("files %v, want %v", files, want)
	}
	if size > largest {
		t.Errorf("the image has %d bytes, more than %d", size, largest)
	}
	t.Logf("%.1f MiB", float64(size)/(1<<20))
}

// inside makes a command in the image's files, as its account.
func (b built) inside(args ...string) *exec.Cmd {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Env = "/", []string{"PATH=/"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: b.root, Credential: &syscall.Credential{Uid: account, Gid: account}}
	return cmd
}

// The image runs a task though nothing but its volume can be written, answers its own health check, and ends at SIGTERM.
func (b built) checkRuns(t *testing.T) {
	if out, err := b.inside("/ctbridge", "--version").CombinedOutput(); err != nil || string(out) != "ctbridge v0-image\n" {
		t.Fatalf("%q, %v", out, err)
	}
	// Zones are known without zone files in the image.
	zone := "task: t\nsource: {engine: sqlserver, layout: sqlserver-cdc, dsn: \"sqlserver://u:p@h?database=d\", sqlserver_cdc: {time_zone: Europe/Berlin}}\nkafka: {brokers: b:1}\n"
	if err := os.WriteFile(filepath.Join(b.root, "etc/ctbridge/ctbridge.yaml"), []byte(zone), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := b.inside("/ctbridge", "validate", "/etc/ctbridge/ctbridge.yaml").CombinedOutput(); err != nil {
		t.Errorf("validate: %s, %v", out, err)
	}
	b.configure(t)
	var log bytes.Buffer
	task := b.inside("/ctbridge", "run", "/etc/ctbridge/ctbridge.yaml")
	task.Stderr = &log
	if err := task.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- task.Wait() }()
	address := b.address(t)
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for b.inside("/ctbridge", "health", "--ready", "--address", address).Run() != nil {
		select {
		case err := <-ended:
			t.Fatalf("the task has ended: %v\n%s", err, log.String())
		case <-ctx.Done():
			_ = task.Process.Kill()
			t.Fatalf("not ready after a minute\n%s", log.String())
		case <-again.C:
		}
	}
	if out, err := b.inside("/ctbridge", "health", "--address", address).CombinedOutput(); err != nil {
		t.Errorf("health: %s, %v", out, err)
	}
	if err := task.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("after SIGTERM: %v\n%s", err, log.String())
	}
}

// configure puts a task into the image's files, with its database on the volume, and takes the right to write anything else away.
func (b built) configure(t *testing.T) {
	t.Helper()
	servers, err := embedded.Start(embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = servers.Close() })
	port, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = port.Close()
	text := "task: image\nsource: {engine: sqlite, dsn: /var/lib/ctbridge/shop.db}\nkafka: {brokers: [\"" + servers.Brokers()[0] + "\"]}\n" +
		"metrics: {listen: \"" + port.Addr().String() + "\"}\n"
	if err := os.WriteFile(filepath.Join(b.root, "etc/ctbridge/ctbridge.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	shop := filepath.Join(b.root, "var/lib/ctbridge/shop.db")
	if err := os.WriteFile(shop, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(shop, account, account); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(b.root, "tmp"), 0o555); err != nil {
		t.Fatal(err)
	}
}

// address reads back where the task listens.
func (b built) address(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(b.root, "etc/ctbridge/ctbridge.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), `listen: "`)
	address, _, _ := strings.Cut(rest, `"`)
	return address
}

package main

import (
	"bufio"
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// built is the program as it is shipped.
func built(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ctbridge")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// started is a running demo.
type started struct {
	cmd    *exec.Cmd
	temp   string
	stdout *bufio.Reader
	close  func() error // of our end of its output
	stderr bytes.Buffer
	seen   bytes.Buffer
}

func startDemo(t *testing.T, path string, args ...string) *started {
	t.Helper()
	d := &started{cmd: exec.CommandContext(t.Context(), path, append([]string{"demo"}, args...)...), temp: t.TempDir()}
	d.cmd.Env = append(os.Environ(), "TMPDIR="+d.temp)
	d.cmd.Stderr = &d.stderr
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	d.stdout, d.close = bufio.NewReader(out), out.Close
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return d
}

// until reads its output up to a line that holds the text; "" = to its end.
func (d *started) until(t *testing.T, text string) {
	t.Helper()
	for {
		line, err := d.stdout.ReadString('\n')
		d.seen.WriteString(line)
		switch {
		case text != "" && strings.Contains(line, text), text == "" && err != nil:
			return
		case err != nil:
			t.Fatalf("%q did not come: %v\n%s%s", text, err, &d.seen, &d.stderr)
		}
	}
}

// ends checks the exit code and that neither files nor ports are left.
func (d *started) ends(t *testing.T, code int) {
	t.Helper()
	if err := d.cmd.Wait(); d.cmd.ProcessState.ExitCode() != code {
		t.Errorf("exit code %d (%v), want %d\n%s%s", d.cmd.ProcessState.ExitCode(), err, code, &d.seen, &d.stderr)
	}
	if left, err := os.ReadDir(d.temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
	for _, address := range regexp.MustCompile(`127\.0\.0\.1:\d+`).FindAllString(d.seen.String(), -1) {
		ln, err := net.Listen("tcp", address)
		if err != nil {
			t.Errorf("port still taken: %v", err)
			continue
		}
		ln.Close()
	}
}

func TestDemoBinary(t *testing.T) {
	path := built(t)
	t.Run("rows", func(t *testing.T) {
		d := startDemo(t, path, "--rows", "200", "--rate", "0")
		d.until(t, "")
		d.ends(t, exitFine)
		if strings.Count(d.seen.String(), "PASS") != 3 || strings.Contains(d.seen.String(), "\x1b") || d.stderr.Len() > 0 {
			t.Errorf("%s%s", &d.seen, &d.stderr)
		}
	})
	t.Run("interrupted", func(t *testing.T) {
		d := startDemo(t, path)
		d.until(t, "customers[0]@0")
		if err := d.cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		d.until(t, "")
		d.ends(t, exitFine)
		if strings.Count(d.seen.String(), "PASS") != 3 || d.stderr.Len() > 0 {
			t.Errorf("%s%s", &d.seen, &d.stderr)
		}
	})
	t.Run("reader gone", func(t *testing.T) {
		d := startDemo(t, path, "--rate", "0")
		d.until(t, "customers[0]@0")
		if err := d.close(); err != nil {
			t.Fatal(err)
		}
		d.ends(t, exitFailed)
	})
	t.Run("usage", func(t *testing.T) {
		for _, args := range [][]string{{"--format", "xml"}, {"--rows", "-1"}, {"--rate", "NaN"}, {"--duration", "-1s"}, {"--rows", "many"}, {"more"}} {
			d := startDemo(t, path, args...)
			d.until(t, "")
			d.ends(t, exitUsage)
		}
	})
	t.Run("kept failure", func(t *testing.T) {
		d := startDemo(t, path, "--keep", filepath.Join(path, "below a file"))
		d.until(t, "")
		d.ends(t, exitFailed)
	})
}

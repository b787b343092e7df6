package servers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Tools says where the programs of a stack are. Fields of parts that were not asked for are empty.
type Tools struct {
	Java           string `json:"java,omitempty"`
	KafkaJars      string `json:"kafka_jars,omitempty"`    // folder
	RegistryHome   string `json:"registry_home,omitempty"` // folder
	PostgresBin    string `json:"postgres_bin,omitempty"`  // folder
	MariaDBD       string `json:"mariadbd,omitempty"`
	MariaDBInstall string `json:"mariadb_install,omitempty"`
	MariaDBAdmin   string `json:"mariadb_admin,omitempty"`
	Python         string `json:"python,omitempty"`
	Kcat           string `json:"kcat,omitempty"`
	Helm           string `json:"helm,omitempty"`
	Promtool       string `json:"promtool,omitempty"`
	Buildah        string `json:"buildah,omitempty"`
	Chromium       string `json:"chromium,omitempty"`
}

// need is one program that the system must have: where it goes in Tools, how to find it, the Debian package with it.
type need struct {
	into *string
	find func() (string, error)
	pack string
}

// systemNeeds lists what the parts take from the system. Maven and the system's Python serve only to fill the cache,
// so they are needed only while the cache lacks something.
func (t *Tools) systemNeeds(parts []string, cache cache) []need {
	asked := func(part string) bool { return slices.Contains(parts, part) }
	brokers := asked(Kafka) || asked(Kafka3)
	var needs []need
	if brokers || asked(Registry) {
		needs = append(needs, need{&t.Java, findJava, "openjdk-17-jre-headless"})
	}
	if brokers && !cache.has(cache.kafka()) || asked(Registry) && !cache.has(cache.registry()) {
		needs = append(needs, need{new(string), inPath("mvn"), "maven"})
	}
	if asked(Postgres) {
		needs = append(needs, need{&t.PostgresBin, findPostgres, "postgresql-15"})
	}
	if asked(MariaDB) {
		needs = append(needs,
			need{&t.MariaDBD, inPath("mariadbd"), "mariadb-server"},
			need{&t.MariaDBInstall, inPath("mariadb-install-db"), "mariadb-server"},
			need{&t.MariaDBAdmin, inPath("mariadb-admin"), "mariadb-client"})
	}
	if asked(Python) && !cache.has(cache.pythonDone()) {
		needs = append(needs, need{new(string), findPython, "python3-venv"})
	}
	for _, program := range []struct {
		part, pack string
		into       *string
	}{
		{Kcat, "kcat", &t.Kcat}, {Promtool, "prometheus", &t.Promtool}, {Buildah, "buildah", &t.Buildah}, {Chromium, "chromium", &t.Chromium},
	} {
		if asked(program.part) {
			needs = append(needs, need{program.into, inPath(program.part), program.pack})
		}
	}
	return needs
}

// resolve fills Tools and returns the packages of the programs that were not found.
func resolve(needs []need) (missing []string) {
	for _, n := range needs {
		path, err := n.find()
		if err != nil {
			missing = append(missing, n.pack)
			continue
		}
		*n.into = path
	}
	slices.Sort(missing)
	return slices.Compact(missing)
}

// inPath finds a program in PATH and in the folders for daemons, which an ordinary user's PATH may lack.
func inPath(program string) func() (string, error) {
	return func() (string, error) {
		if path, err := exec.LookPath(program); err == nil {
			return filepath.Abs(path)
		}
		for _, dir := range []string{"/usr/sbin", "/usr/local/sbin", "/usr/libexec"} {
			if path, err := exec.LookPath(filepath.Join(dir, program)); err == nil {
				return path, nil
			}
		}
		return "", fmt.Errorf("%s: %w", program, exec.ErrNotFound)
	}
}

// findJava prefers JAVA_HOME and insists on Java 17, which both Java servers need at least.
func findJava() (string, error) {
	path := filepath.Join(os.Getenv("JAVA_HOME"), "bin", "java")
	if os.Getenv("JAVA_HOME") == "" {
		var err error
		if path, err = inPath("java")(); err != nil {
			return "", err
		}
	}
	out, err := exec.Command(path, "-version").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s -version: %w", path, err)
	}
	if major := javaMajor(string(out)); major < 17 {
		return "", fmt.Errorf("%s is Java %d; 17 or newer is needed", path, major)
	}
	return path, nil
}

// javaMajor reads the first line of java -version, as in: openjdk version "17.0.15" 2025-04-15. Old ones say "1.8.0".
func javaMajor(version string) int {
	_, rest, _ := strings.Cut(version, `"`)
	var major int
	fmt.Sscanf(rest, "%d", &major)
	return major
}

// findPostgres prefers version 15, then the newest in Debian's layout, then what PATH has.
func findPostgres() (string, error) {
	dirs := []string{"/usr/lib/postgresql/15/bin"}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	slices.Reverse(found)
	dirs = append(dirs, found...)
	for _, dir := range dirs {
		if _, err := exec.LookPath(filepath.Join(dir, "postgres")); err == nil {
			return dir, nil
		}
	}
	path, err := exec.LookPath("postgres")
	return filepath.Dir(path), err
}

// findPython wants a Python that can make a virtual environment.
func findPython() (string, error) {
	path, err := inPath("python3")()
	if err != nil {
		return "", err
	}
	if err := exec.Command(path, "-c", "import venv, ensurepip").Run(); err != nil {
		return "", fmt.Errorf("%s: venv: %w", path, err)
	}
	return path, nil
}

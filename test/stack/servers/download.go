package servers

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

const mavenProject = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>ctbridge</groupId>
  <artifactId>stack</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>%[1]s</version></dependency>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka-tools</artifactId><version>%[1]s</version></dependency>
    <dependency><groupId>org.apache.logging.log4j</groupId><artifactId>log4j-slf4j-impl</artifactId><version>%[2]s</version></dependency>
  </dependencies>
</project>
`

// log4jVersion is that of Kafka's own log4j-core; without this bridge Kafka logs nothing.
const log4jVersion = "2.25.4"

func kafkaProject() string { return fmt.Sprintf(mavenProject, kafkaVersion, log4jVersion) }

// makeKafka gets Kafka with everything it depends on from the Maven repository, as one folder of jars.
func (c cache) makeKafka(ctx context.Context) error {
	return c.stage(c.kafka(), func(dir string) error {
		project := filepath.Join(dir, "pom.xml")
		if err := os.WriteFile(project, []byte(kafkaProject()), 0o644); err != nil {
			return err
		}
		return run(ctx, dir, "mvn", "-B", "-q", "dependency:copy-dependencies", "-DincludeScope=runtime", "-DoutputDirectory="+dir)
	})
}

// makeRegistry gets the registry's archive from the Maven repository and unpacks it.
func (c cache) makeRegistry(ctx context.Context) error {
	return c.stage(c.registry(), func(dir string) error {
		artifact := "-Dartifact=io.apicurio:apicurio-registry-app:" + registryVersion + ":tar.gz:all"
		if err := run(ctx, dir, "mvn", "-B", "-q", "dependency:copy", artifact, "-DoutputDirectory="+dir); err != nil {
			return err
		}
		archives, err := filepath.Glob(filepath.Join(dir, "*.tar.gz"))
		if err != nil || len(archives) != 1 {
			return fmt.Errorf("one archive expected, found %v: %w", archives, err)
		}
		if err := unpack(archives[0], dir); err != nil {
			return err
		}
		return os.Remove(archives[0])
	})
}

const helmVersion = "v3.22.0"

// makeHelm builds Helm from its module: there is no Debian package of it.
func (c cache) makeHelm(ctx context.Context) error {
	return c.stage(c.helm(), func(dir string) error {
		return run(ctx, dir, "env", "GOBIN="+dir, "CGO_ENABLED=0", "GOFLAGS=", "go", "install", "-trimpath", "-ldflags", "-s -w", "helm.sh/helm/v3/cmd/helm@"+helmVersion)
	})
}

func unpack(archive, dir string) error {
	file, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer file.Close()
	plain, err := gzip.NewReader(file)
	if err != nil {
		return err
	}
	entries := tar.NewReader(plain)
	for {
		header, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := unpackOne(header, entries, dir); err != nil {
			return err
		}
	}
}

func unpackOne(header *tar.Header, content io.Reader, dir string) error {
	if !filepath.IsLocal(header.Name) {
		return fmt.Errorf("archive entry %q points outside", header.Name)
	}
	path := filepath.Join(dir, header.Name)
	switch header.Typeflag {
	case tar.TypeDir:
		return os.MkdirAll(path, 0o755)
	case tar.TypeReg:
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		file, err := os.Create(path)
		if err != nil {
			return err
		}
		if _, err := io.Copy(file, content); err != nil {
			file.Close()
			return err
		}
		return file.Close()
	}
	return nil // links and devices: the registry's archive has none that are needed
}

// pythonPackages is what the Python clients in tests import: the Confluent client and what its registry client needs.
var pythonPackages = []string{
	"confluent-kafka==2.16.1", "fastavro==1.13.1", "authlib==1.9.10", "cachetools==8.0.2", "httpx==0.28.1", "attrs==26.1.0", "requests==2.34.2",
	"kubernetes-validate==1.37.0", // the schemas of Kubernetes, for the chart
}

// pythonDone is the mark that the environment is whole: such a folder cannot be renamed once it is filled, so it is
// built in its place.
func (c cache) pythonDone() string { return filepath.Join(c.python(), "complete") }

func (c cache) makePython(ctx context.Context) error {
	system, err := findPython()
	if err != nil {
		return err
	}
	if err := run(ctx, c.home, system, "-m", "venv", "--clear", c.python()); err != nil {
		return err
	}
	python := filepath.Join(c.python(), "bin", "python")
	if err := run(ctx, c.home, python, append([]string{"-m", "pip", "install", "-q", "--only-binary", ":all:"}, pythonPackages...)...); err != nil {
		return err
	}
	return os.WriteFile(c.pythonDone(), nil, 0o644)
}

# The targets of every day. `make` alone lists them.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
FUZZTIME ?= 10s
BENCH    ?= .
ROWS     ?= 100000
PKG      ?= ./...

# Tools are built once and kept outside of the tree.
GOLANGCI_VERSION := v2.15.0
TOOLS    ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/ctbridge-tools
GOLANGCI := $(TOOLS)/golangci-lint-$(GOLANGCI_VERSION)
FLINK_VERSION       := 2.3.0
FLINK_KAFKA_VERSION := 5.0.0-2.2
FLINK    ?= $(TOOLS)/flink-$(FLINK_VERSION)

# Where goroutines share memory: the runner, the poller, the sinks, the metrics.
RACED := ./bridge ./bridge/checkpoint/... ./bridge/preflight ./source ./source/qlikct ./source/sqlite ./sink/... ./metrics

.PHONY: help
help: ## list the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## the static binary ./ctbridge
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o ctbridge ./cmd/ctbridge

ROOTFS ?= dist/rootfs
.PHONY: rootfs
rootfs: build ## the root file system of the image, in dist/rootfs
	bash deploy/image/rootfs.sh $(ROOTFS) ctbridge

BUILDAH ?= buildah --storage-driver vfs
IMAGE   ?= ctbridge:$(VERSION)
.PHONY: image
image: rootfs ## the container image around a binary built here; needs buildah, no base image
	$(BUILDAH) build --isolation chroot --format docker --build-arg BUILD=prebuilt --build-arg VERSION=$(VERSION) -t $(IMAGE) .

.PHONY: fmt
fmt: ## format all Go files
	gofmt -w -s .

.PHONY: lint
lint: $(GOLANGCI) ## golangci-lint with .golangci.yml; builds the tool the first time
	$(GOLANGCI) run $(PKG)

.PHONY: lint-tool
lint-tool: $(GOLANGCI)

$(GOLANGCI):
	GOBIN=$(TOOLS)/install go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	mv $(TOOLS)/install/golangci-lint $@

GOVULNCHECK_VERSION := v1.9.0
.PHONY: vuln
vuln: ## known vulnerabilities in what the binary calls; needs https://vuln.go.dev, or GOVULNDB=file:///a/copy
	go run golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK_VERSION) $(if $(GOVULNDB),-db $(GOVULNDB)) ./cmd/ctbridge

.PHONY: licences
licences: ## write THIRD_PARTY_LICENSES.md anew after a change of dependencies
	go test -count=1 -run '^TestLicences$$' ./deploy/image -update

.PHONY: arch
arch: ## the import rules and size limits of the whole tree, with the sizes
	go test -count=1 -v -run '^TestTree$$' ./test/arch

.PHONY: unit
unit: ## all tests that need no server
	go test $(PKG)

.PHONY: test
test: ## everything, on real servers that it installs and starts: vet, arch, unit, live
	go vet ./...
	go run ./test/stack run -- go test -count=1 -timeout 30m ./...

.PHONY: flink
flink: $(FLINK)/installed ## what a real consumer, Flink, makes of Debezium messages: installs it (1 GB) and needs Java 17, Maven and Python 3
	CTBRIDGE_TEST_FLINK=$(FLINK) go run ./test/stack run -only kafka,registry,postgres -- go test -count=1 -v -run '^TestFlink' ./test/live

$(FLINK)/installed:
	python3 -m venv $(FLINK)/venv
	$(FLINK)/venv/bin/pip install --quiet apache-flink==$(FLINK_VERSION)
	for jar in flink-sql-connector-kafka:$(FLINK_KAFKA_VERSION) flink-sql-avro-confluent-registry:$(FLINK_VERSION); do \
		mvn -q dependency:copy -Dartifact=org.apache.flink:$$jar -DoutputDirectory=$(FLINK)/jars || exit 1; \
	done
	touch $@

.PHONY: chaos
chaos: ## the whole fault campaign on servers of its own, as a table in dist/chaos.md; CHAOS=each is short, CHAOS_SEED chooses another one
	mkdir -p dist
	CHAOS=$(or $(CHAOS),all) CHAOS_TABLE=$(CURDIR)/dist/chaos.md go test -count=1 -timeout 4h -v -run '^TestFaults$$' ./test/chaos
	cat dist/chaos.md

SOAK ?= 30m
.PHONY: soak
soak: ## the highest rate with one fault after another for SOAK (30m): memory and goroutines must stay flat
	CHAOS_SOAK=$(SOAK) go test -count=1 -timeout 4h -v -run '^TestSoak$$' ./test/chaos

.PHONY: race
race: ## the tests of the concurrent rooms with the race detector (needs a C compiler)
	CGO_ENABLED=1 go test -race -skip '^TestCase85_' $(RACED) # which counts questions for minutes under the detector

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME (10s) each
	@grep -rlE '^func Fuzz' --include='*_test.go' . | sort | while read -r file; do \
		for target in $$(sed -nE 's/^func (Fuzz[A-Za-z0-9_]+).*/\1/p' "$$file"); do \
			echo "== $$(dirname "$$file") $$target"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "$$(dirname "$$file")" </dev/null; \
		done; \
	done

.PHONY: golden
golden: ## write the golden files anew: read the diff before you commit it
	go test -count=1 $$(grep -rlE 'flag\.Bool\("update"|"ctbridge/test/golden"' --include='*_test.go' . | xargs -n1 dirname | sort -u) -update

.PHONY: bench
bench: ## speed, latency, memory and cost of the bridge beside its ceilings, into bench-results; ROWS sets the size, ARGS="-engines postgres" what
	go run ./test/stack run -only kafka,registry,postgres,mariadb -- go run ./test/bench -rows $(ROWS) $(ARGS)

.PHONY: microbench
microbench: ## the Go benchmarks; BENCH and PKG choose among them
	go test -run '^$$' -bench '$(BENCH)' -benchmem $(PKG)

.PHONY: ci
ci: ## what CI runs
	bash .ci/run

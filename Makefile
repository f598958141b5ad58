# Everything a contributor or a CI machine runs. `make help` lists it.
# Needed: Go (the version in go.mod or newer), git and make. A C compiler adds
# the race detector to the tests; nothing else is installed on the machine.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X main.version=$(VERSION)

# What `make test` runs: PKG=./internal/store/... and TESTFLAGS='-run Name -v' narrow it.
PKG       ?= ./...
TESTFLAGS ?=

# The linter is built from a module of its own and kept by version.
LINTER_VERSION := $(shell sed -n 's|.*github.com/golangci/golangci-lint/v2 \(v[^ ]*\).*|\1|p' tools/lint/go.mod)
LINTER         := .cache/bin/golangci-lint-$(LINTER_VERSION)

.PHONY: help
help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 18

.PHONY: build
build: hands ## build the static binary bin/cadre
	CGO_ENABLED=0 $(GO) build -buildvcs=false -ldflags '$(LDFLAGS)' -o bin/ ./cmd/...

# The program for sandboxes, for each processor that they run on; cadre holds it.
HANDS        := internal/handsbin/built/cadre-hands-linux
HANDS_ARCHES ?= amd64 arm64

.PHONY: hands
hands:
	for arch in $(HANDS_ARCHES); do CGO_ENABLED=0 GOOS=linux GOARCH=$$arch $(GO) build -buildvcs=false -ldflags '$(LDFLAGS)' -o $(HANDS)-$$arch ./cmd/cadre-hands; done

.PHONY: test
test: ## run the whole suite that needs no service, with the race detector when there is a C compiler
	@$(MAKE) --no-print-directory hands HANDS_ARCHES="$$($(GO) env GOARCH)"
	@GO='$(GO)' scripts/test.sh $(PKG) -- $(TESTFLAGS)

.PHONY: test-docker
test-docker: build ## run the tests of the docker sandboxes on a real engine, which they start (root) or CADRE_TEST_DOCKER_HOST names
	CADRE_TEST_DOCKER=1 CADRE_BIN='$(CURDIR)/bin/cadre' CGO_ENABLED=0 $(GO) test -count=1 -timeout 15m -parallel 4 $(TESTFLAGS) ./internal/sandbox/docker/... ./test/sandbox/...

.PHONY: lint
lint: $(LINTER) ## check formatting, go vet, golangci-lint and the .proto files
	@GO='$(GO)' LINTER='$(LINTER)' scripts/lint.sh

$(LINTER): tools/lint/go.mod tools/lint/go.sum
	CGO_ENABLED=0 $(GO) -C tools/lint build -trimpath -buildvcs=false -o '$(CURDIR)/$(LINTER)' github.com/golangci/golangci-lint/v2/cmd/golangci-lint

.PHONY: bench
bench: build ## measure against the budgets and print the table
	$(GO) run ./test/bench

.PHONY: chaos
chaos: build ## kill the binary at random instants of turns; CADRE_CHAOS_KILLS and CADRE_CHAOS_SEED say how
	CADRE_BIN='$(CURDIR)/bin/cadre' CADRE_CHAOS_KILLS='$(or $(CADRE_CHAOS_KILLS),30)' CGO_ENABLED=0 $(GO) test -count=1 -timeout 120m -v -run Kill ./test/chaos

.PHONY: mutate
mutate: ## break the code that decides outcomes and see that a test notices each time (long)
	CGO_ENABLED=0 $(GO) -C tools run ./mutate -root '$(CURDIR)' $(if $(TARGET),-target $(TARGET))

.PHONY: stress
stress: ## write, read and back up one database at once for two minutes; CADRE_STRESS says how long
	CADRE_STRESS='$(or $(CADRE_STRESS),2m)' CGO_ENABLED=0 $(GO) test -count=1 -timeout 30m -v -run DoNotDisturb ./internal/store/sqlite

.PHONY: demo
demo: build ## run an agent, kill its server in mid-turn, and see the turn complete
	@scripts/demo.sh

.PHONY: generate
generate: ## write gen/ and the pages about kinds and events from the .proto files
	CGO_ENABLED=0 $(GO) -C tools run ./generate

.PHONY: docs
docs: build ## write the reference of commands, and the manual pages into bin/man
	bin/cadre docs markdown >docs/reference/commands.md
	bin/cadre docs man bin/man

.PHONY: audit
audit: ## verify the modules and report their licences
	$(GO) mod verify
	$(GO) -C tools mod verify
	CGO_ENABLED=0 $(GO) -C tools run ./audit -root '$(CURDIR)' -o '$(CURDIR)/.cache/licences.tsv'

.PHONY: fresh
fresh: ## run the demo and the tests in a bare Debian chroot (root; FRESH_CACHE=1 shares the Go caches)
	@scripts/fresh.sh

.PHONY: clean
clean: ## remove what was built here
	rm -rf bin .cache $(HANDS)-*

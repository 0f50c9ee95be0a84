# `make run` and `make test` do everything on a fresh machine. Both build with the same flags, so the second reuses what the first has built.
# Whole modules without optimization: the least time to build, C code that is fast, and no check of all commands by ArgumentParser at each
# start, as in a debug build. @testable needs -enable-testing. An index, which editors make for themselves, would take a tenth more. A
# module's interface is not written apart from its code: that reads each module twice.
SWIFT_FLAGS := --disable-index-store -c release -Xswiftc -Onone -Xswiftc -enable-testing -Xswiftc -no-emit-module-separately-wmo
# With CONFIGURATION=release the program is optimized, in a build folder of its own.
OPTIMIZED_FLAGS := --disable-index-store -c release --scratch-path .build-release
PROGRAM_FLAGS = $(if $(filter release,$(CONFIGURATION)),$(OPTIMIZED_FLAGS),$(SWIFT_FLAGS))
PREFIX ?= /usr/local

.PHONY: run test check check-all bench fuzz deb tarball install release docs libraries bootstrap bootstrap-all build format clean

## Build, then show both halves of the product on this machine: flawed servers checked, a fleet of devices attested.
run:
	Scripts/run $(PROGRAM_FLAGS)

## Everything that CI runs: layout and layer checks, the whole build without warnings, all tests, the package, README.md.
PROGRAM = $$(swift build $(SWIFT_FLAGS) --show-bin-path)/sealward
test: bootstrap
	Scripts/check
	swift build $(SWIFT_FLAGS) --build-tests
	Scripts/test
	packaging/check-deb $(PROGRAM)
	Scripts/doc-commands --check --program $(PROGRAM) readme commands

## What takes longer. Each part is a target of its own and ends within 20 minutes on two cores; SECONDS= is how long each fuzz target runs,
## SEEDS= how many seeds each of them gets (and how many histories are simulated). A part does the same alone as in check-all.
TEST_PARTS := client service command-a-e command-f-l command-m-z
LONG_PARTS := $(TEST_PARTS:%=check-long-%)
THREAD_PARTS := $(TEST_PARTS:%=check-thread-%)
ADDRESS_PARTS := $(TEST_PARTS:%=check-address-%)
CHECK_PARTS := check-documents check-schemas check-mission check-packages check-examples check-release check-gateways check-servers check-adoption check-console check-laboratory check-exporter check-soak check-nodes check-failover check-histories check-contradictions $(LONG_PARTS) check-fuzz-build check-fuzz check-bits check-thread-build $(THREAD_PARTS) check-address-build $(ADDRESS_PARTS) check-bench-build check-bench
SECONDS ?= 60
SEEDS ?= 1
.PHONY: $(CHECK_PARTS) sbom
check-all: test
	@for part in $(CHECK_PARTS); do echo "== $$part"; $(MAKE) --no-print-directory $$part SECONDS=$(SECONDS) SEEDS=$(SEEDS) || exit 1; done

## The long forms of the tests: every object, endurance, schemathesis, all misbehaviors.
$(LONG_PARTS): check-long-%: bootstrap-all
	swift build $(SWIFT_FLAGS) --build-tests
	SEALWARD_LONG=1 TEST_PART=$* Scripts/test

## The pages of the commands, and what each says to wrong usage, compared with the program.
check-documents: bootstrap
	swift build $(SWIFT_FLAGS) --product sealward
	Scripts/doc-commands --check --program $(PROGRAM)

## Commands that answer one question, over LOADS= random dictionaries, servers, URLs and systems: each contradiction is printed with the smallest
## dictionary that shows it. SEED= chooses others.
LOADS ?= 5000
check-contradictions: bootstrap
	swift build $(SWIFT_FLAGS) --build-tests
	SEALWARD_CONTRADICTIONS=$(LOADS) SEALWARD_SEED=$(or $(SEED),20261127) Scripts/test --filter CommandContradictionTests

## JSON documents of every kind, validated by docs/schemas.
check-schemas: bootstrap
	swift build $(SWIFT_FLAGS) --product sealward
	Scripts/check-schemas $(PROGRAM)

## The tarball, and the package for apps; `make test` checks the Debian package.
check-packages: bootstrap
	swift build $(SWIFT_FLAGS) --product sealward
	packaging/check-tarball $(PROGRAM)
	packaging/check-app-package

## The examples that need no gateway and no server of other languages.
check-examples: bootstrap-all
	swift build $(SWIFT_FLAGS) --product sealward
	Examples/token-checks/check $(PROGRAM)
	Examples/app-check/check $(PROGRAM)

## The program that is released, and what it needs.
check-release: libraries
	packaging/check-program "$$(packaging/build-static)"

## Every gateway of Examples/gateways, with what is missing installed.
check-gateways: bootstrap
	Examples/gateways/install
	swift build $(SWIFT_FLAGS) --product sealward
	Examples/gateways/check --program $(PROGRAM) nginx haproxy apache caddy traefik envoy ext_authz
	Examples/provider-key/check $(PROGRAM) nginx envoy

## Every example server, with what is missing installed.
check-servers: bootstrap-all
	Examples/install-servers
	swift build $(SWIFT_FLAGS) --product sealward
	Examples/check-servers $(PROGRAM) fastapi express go

## From an empty folder to the first protected request, for the app's side, App Check and every gateway.
check-adoption: bootstrap-all
	Examples/gateways/install
	swift build $(SWIFT_FLAGS) --product sealward
	Scripts/adoption $(PROGRAM)

## The console in headless Chromium, which is installed if it is missing; `make test` checks it if that and bootstrap-all were there before.
check-console: bootstrap-all
	command -v chromium > /dev/null || apt-get install -y -qq --no-install-recommends chromium
	swift build $(SWIFT_FLAGS) --build-tests
	Scripts/test --filter ConsoleChromiumTests

## Every row of the mission by its commands (Tests/Acceptance/mission.md); `make test` runs one test for each (mission.tsv).
check-mission: bootstrap
	swift build $(SWIFT_FLAGS) --product sealward
	Tests/Acceptance/mission $(PROGRAM)

## The exporter, its rules and its dashboard under a real Prometheus.
check-exporter: bootstrap
	@command -v prometheus > /dev/null || echo "check-exporter: for the real Prometheus: apt-get install prometheus" >&2
	swift build $(SWIFT_FLAGS) --product sealward
	packaging/check-exporter $(PROGRAM)

## Twenty minutes of load on the service with both stores, the proxy and the exporter, whose memory and descriptors must not grow. SOAK= is
## another number of seconds.
SOAK ?= 1200
check-soak: bootstrap
	swift build $(PROGRAM_FLAGS) --product sealward
	Benchmarks/tools/soak $$(swift build $(PROGRAM_FLAGS) --show-bin-path)/sealward --seconds $(SOAK)

## What an assertion costs on one of two nodes against a node alone, on one PostgreSQL.
check-nodes: bootstrap
	swift build $(PROGRAM_FLAGS) --product sealward
	Benchmarks/tools/nodes $$(swift build $(PROGRAM_FLAGS) --show-bin-path)/sealward

## How long two nodes need after the promotion of a standby, under load.
check-failover: bootstrap
	swift build $(PROGRAM_FLAGS) --product sealward
	Benchmarks/tools/failover $$(swift build $(PROGRAM_FLAGS) --show-bin-path)/sealward

## Simulated histories of the service (docs/histories.md), SEEDS= of them in all: each run of at most 18 minutes continues after the last one.
## SEEDS=1, the default for fuzzing, means all of them. A release build of this one test target runs twenty times as many a second.
HISTORY_SEEDS = $(if $(filter 1,$(SEEDS)),100000,$(SEEDS))
HISTORY_FLAGS := --disable-index-store -c release -Xswiftc -enable-testing --scratch-path .build-histories
check-histories: export SEALWARD_TESTS_OF = HistorySimulation
check-histories: bootstrap
	swift build $(HISTORY_FLAGS) --product sealwardPackageTests
	HISTORY_SEEDS=$(HISTORY_SEEDS) .build-histories/release/sealwardPackageTests.xctest --testing-library swift-testing --filter LongHistoryTests/seedsThatWereNotDoneYet

## The history of one seed, or what is left of it if it fails: make replay-history SEED=29.
.PHONY: replay-history
replay-history: bootstrap
	swift build $(SWIFT_FLAGS) --build-tests
	HISTORY_SEED=$(SEED) Scripts/test --filter LongHistoryTests/oneSeed

## Published verifiers, checked with objects that must be accepted and refused.
check-laboratory: bootstrap
	swift build $(SWIFT_FLAGS) --product sealward
	Examples/verifier-tests/check $(PROGRAM)

check-fuzz-build: bootstrap
	cd Fuzz && swift build -c release

check-fuzz:
	FUZZ_SECONDS=$(SECONDS) FUZZ_SEEDS=$(SEEDS) FUZZ_SKIP=every-bit Scripts/fuzz

## Every flipped bit and every truncation of the recorded attestations.
check-bits:
	Scripts/fuzz every-bit

check-thread-build check-address-build: check-%-build: bootstrap
	SANITIZERS=$* SANITIZE_STEPS=build Scripts/sanitize

$(THREAD_PARTS): check-thread-%:
	SANITIZERS=thread SANITIZE_STEPS=run TEST_PART=$* Scripts/sanitize

$(ADDRESS_PARTS): check-address-%:
	SANITIZERS=address SANITIZE_STEPS=run TEST_PART=$* Scripts/sanitize

check-bench-build: bootstrap
	cd Benchmarks && swift build -c release

check-bench: bench

## The release program, stripped, in dist/: as a Debian package, and as a tarball with its checksums.
deb tarball:
	program="$$(packaging/build-static)" && packaging/build-$@ "$$program" dist

## The release program with its man pages and completions below PREFIX (DESTDIR before it, for those who pack).
install:
	program="$$(packaging/build-static)" && packaging/stage "$$program" $(DESTDIR)$(PREFIX)

## Everything of a release in dist/release, and what was not run for it.
release:
	packaging/release dist/release

sbom:
	@packaging/sbom $$(swift build $(PROGRAM_FLAGS) --show-bin-path)/sealward

bench:
	Benchmarks/tools/bench

fuzz: check-fuzz check-bits

docs: bootstrap
	Scripts/regenerate-docs $(SWIFT_FLAGS)

## What the program is built with; what the tests start beside it; and what the longer checks need.
libraries:
	@Scripts/bootstrap run

bootstrap:
	@Scripts/bootstrap test

bootstrap-all:
	@Scripts/bootstrap all

build:
	swift build $(SWIFT_FLAGS)

format:
	swift format format -i -r Sources Tests Package.swift

check:
	Scripts/check

clean:
	swift package clean

# The words a newcomer types. `make run` and `make test` do everything on a fresh machine.
SWIFT_FLAGS := --traits Postgres
CONFIGURATION ?= debug

.PHONY: run test check check-all bench fuzz deb docs bootstrap build format clean

## Build, then show both halves of the product on this machine: flawed servers checked, a fleet of devices attested.
run: bootstrap
	swift build $(SWIFT_FLAGS) --product sealward -c $(CONFIGURATION)
	Scripts/run $$(swift build $(SWIFT_FLAGS) -c $(CONFIGURATION) --show-bin-path)/sealward

## Everything that CI runs: layout and layer checks, the whole build without warnings, all tests.
test: bootstrap
	Scripts/check
	swift build $(SWIFT_FLAGS) --build-tests
	Scripts/api --check
	Scripts/test
	packaging/check-deb $$(swift build $(SWIFT_FLAGS) --show-bin-path)/sealward
	Examples/token-checks/check $$(swift build $(SWIFT_FLAGS) --show-bin-path)/sealward

## What takes longer: every bit flip, soak, fuzzing, schemathesis, sanitizers, benches.
check-all: test
	SEALWARD_LONG=1 Scripts/test
	$(MAKE) fuzz
	Scripts/sanitize
	$(MAKE) bench

## The release program, stripped, as a Debian package in dist/. Nothing loads it as a library, so it exports no symbols: 5.5 MB less.
RELEASE_FLAGS := $(SWIFT_FLAGS) -c release --static-swift-stdlib -Xlinker --no-export-dynamic
deb: bootstrap
	swift build $(RELEASE_FLAGS) --product sealward
	packaging/build-deb $$(swift build $(RELEASE_FLAGS) --show-bin-path)/sealward dist

bench:
	Scripts/bench

fuzz:
	Scripts/fuzz

docs: bootstrap
	Scripts/regenerate-docs

bootstrap:
	@Scripts/bootstrap

build:
	swift build $(SWIFT_FLAGS)

format:
	swift format format -i -r Sources Tests Package.swift

check:
	Scripts/check

clean:
	swift package clean

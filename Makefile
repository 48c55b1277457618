# Lockstep. `make help` says what there is. CMake does the building; this file only calls it.
.DEFAULT_GOAL := help
JOBS ?= 2
PREFIX ?= /usr/local
CTEST := ctest --output-on-failure --no-tests=error -j $(JOBS)

.PHONY: help deps build demo check check-source check-asan check-exhaustive bench install clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 20

deps: ## install the Debian packages that are missing
	@scripts/install-deps

build: deps ## build/lockstep, the libraries, tests and benchmarks
	@cmake --preset release -DCMAKE_INSTALL_PREFIX=$(PREFIX) >/dev/null
	@cmake --build --preset release -j $(JOBS)

demo: build ## train, audit and catch a lie on Fashion-MNIST
	@scripts/demo

check: build check-source ## the tests (quick and full), the source checks, the unit tests under sanitizers
	@$(CTEST) --test-dir build -L 'quick|full' -LE exhaustive
	@$(MAKE) --no-print-directory check-asan

check-source: build ## layers, flags, lengths, banned functions and words
	@scripts/check-source --self-test
	@scripts/check-source --build build

check-asan: deps ## the quick unit tests under the address and undefined-behaviour sanitizers
	@cmake --preset asan >/dev/null
	@cmake --build --preset asan -j $(JOBS)
	@$(CTEST) --test-dir build-asan -R '^unit\.' -L quick -LE exhaustive

check-exhaustive: build ## every test, also those that take minutes each
	@$(CTEST) --test-dir build --timeout 86400

bench: build ## Lockstep beside PyTorch, as a table
	@cmake --build --preset release --target bench

install: build ## into PREFIX (default /usr/local; DESTDIR is honoured)
	@cmake --install build

clean: ## remove what was built
	@rm -rf build build-debug build-asan build-tsan build-compilers build-foreign

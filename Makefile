# make demo        a real %%responses cell against the embedded server: no key, no network
# make test        the tests (about twelve minutes on two cores)
# make test-full   soaks, other people's servers, every Python that is there
# make check       format, lint, types
# make bench       measurements, side by side in one run
# make notebooks   executes the notebooks and saves their outputs
# make docs        the pages as a site, in docs/_build/html; warnings are errors
# make reference   writes what the pages take from the code: tables of options, events, columns, errors
# make picture     the README's picture, anew
# make dist        the sdist and the wheel of a release, in dist/, looked through and tried in a new environment
# make js          builds the live view's ES module anew (with npm)

PYTHONS ?= python3.13 python3.12 python3.11
PYTHON ?= $(shell for p in python3 $(PYTHONS); do \
    $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
TESTS ?= tests
# A process for each core, up to four; a file's tests stay together, and only one process drives the browser.
PYTEST := $(BIN)/python -m pytest -q -n auto --maxprocesses 4 --dist loadscope --no-loadscope-reorder

.PHONY: demo test test-full check format bench notebooks docs reference picture js dist chromium clean
.DEFAULT_GOAL := demo

demo: $(VENV)/installed-demo
	$(BIN)/python notebooks/run.py

test: $(VENV)/installed-test chromium
	$(PYTEST) -m "not slow" $(TESTS)

test-full: test
	$(BIN)/python -m pytest -q -m slow $(TESTS)
	@for p in $(PYTHONS); do \
	    $$p -c '' 2>/dev/null || { echo "$$p: not here, not tested"; continue; }; \
	    $(MAKE) --no-print-directory test VENV=.venv-$$p PYTHON=$$p || exit 1; \
	done

check: $(VENV)/installed-check
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(VENV)/installed-check
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/installed-test chromium
	$(BIN)/python -m benchmarks.decode
	$(BIN)/python -m benchmarks.frames
	$(BIN)/python -m benchmarks.live_view
	$(BIN)/python -m benchmarks.board

notebooks: $(VENV)/installed-test
	$(BIN)/python notebooks/execute.py

docs: $(VENV)/installed-docs
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

picture: $(VENV)/installed-test chromium
	NBRESPONSES_PICTURE=docs/pictures/live.png $(BIN)/python -m pytest -q tests/browser/test_picture.py

reference: $(VENV)/installed-docs
	$(BIN)/python docs/generate.py

js:
	cd js && npm ci --silent && npm run --silent build

dist: $(VENV)/installed-test
	rm -rf dist
	$(BIN)/python -m build
	NBRESPONSES_DIST=dist $(BIN)/python -m pytest -q tests/test_distribution.py

# Debian's browser, for the browser tests; they are skipped where there is none (and fail under CI).
chromium:
	@command -v chromium >/dev/null || test -n "$$CHROMIUM" || { \
	    test "$$(id -u)" = 0 && command -v apt-get >/dev/null && apt-get update -qq && \
	    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium fonts-dejavu-core >/dev/null; \
	} || echo "no Chromium, and it cannot be installed here: the browser tests will be skipped"

clean:
	rm -rf $(VENV) .venv-* build dist docs/_build docs/notebooks .pytest_cache .mypy_cache .ruff_cache .hypothesis tests/output js/node_modules

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; name it with: make PYTHON=/path/to/python3" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed-demo: pyproject.toml | $(VENV)/bin/python
	$(PIP) --editable ".[demo]"
	@touch $@

$(VENV)/installed-test: pyproject.toml | $(VENV)/bin/python
	$(PIP) --editable ".[test]"
	@touch $@

$(VENV)/installed-docs: pyproject.toml | $(VENV)/bin/python
	$(PIP) --editable ".[docs]"
	@touch $@

$(VENV)/installed-check: pyproject.toml | $(VENV)/bin/python
	$(PIP) --editable ".[test,check]"
	@touch $@

# make run   set up, then train, audit and report on the synthetic graph: fairgear demo
# make test  set up, then run the tests
# make check set up, then lint, types and layers
# make types set up, then check the types for Windows, macOS and later Pythons
# make docs  set up, then build the documentation into docs/_build/html; make linkcheck asks other hosts
# make bench set up, then measure speed and memory; ARGS="--quick" and others go to the command
# make torture set up, then kill, starve and mislead the program a thousand times; ARGS="--quick"
.PHONY: run test check types docs linkcheck bench torture setup setup-docs clean

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OUT ?= runs/synthetic
# A stamp that is newer than what it was made from means there is nothing to install.
STAMP := $(VENV)/.installed
DOCS_STAMP := $(VENV)/.installed-docs
SPHINX := $(BIN)/python -m sphinx --nitpicky --fail-on-warning --keep-going --quiet

run: setup
	$(BIN)/fairgear demo --out $(OUT)

test: setup
	$(BIN)/python -m pytest -n auto --dist worksteal -q

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

types: setup
	$(BIN)/mypy --platform win32 --python-version 3.13 src
	$(BIN)/mypy --platform darwin --python-version 3.12 src

# Examples run the first time, and when they have changed: ARGS="-D plot_gallery=0" runs none.
docs: setup-docs
	$(SPHINX) $(ARGS) docs docs/_build/html
	@echo "The documentation: docs/_build/html/index.html"

linkcheck: setup-docs
	$(SPHINX) -D plot_gallery=0 -b linkcheck docs docs/_build/linkcheck

bench: setup
	$(BIN)/python -m benchmarks.bench $(ARGS)

torture: setup
	$(BIN)/python -m tests.torture $(ARGS)

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $(STAMP)

setup-docs: $(DOCS_STAMP)

$(DOCS_STAMP): $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,docs]'
	touch $(DOCS_STAMP)

clean:
	rm -rf docs/_build docs/examples docs/reference/api docs/reference/settings.md docs/reference/command-line.md
	rm -rf $(VENV) runs .pytest_cache .mypy_cache .ruff_cache .hypothesis

# make run   set up, then train, audit and report on the synthetic graph
# make test  set up, then run the tests
# make check set up, then lint, types and layers
# make bench set up, then measure speed and memory; ARGS="--quick" and others go to the command
# make torture set up, then kill, starve and mislead the program a thousand times; ARGS="--quick"
.PHONY: run test check bench torture setup clean

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OUT ?= runs/synthetic
# A stamp that is newer than what it was made from means there is nothing to install.
STAMP := $(VENV)/.installed

run: setup
	$(BIN)/fairgear run synthetic --out $(OUT)

test: setup
	$(BIN)/python -m pytest -n auto --dist worksteal -q

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: setup
	$(BIN)/python -m benchmarks.bench $(ARGS)

torture: setup
	$(BIN)/python -m tests.torture $(ARGS)

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $(STAMP)

clean:
	rm -rf $(VENV) runs .pytest_cache .mypy_cache .ruff_cache .hypothesis

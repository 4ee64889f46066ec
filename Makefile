# make demo   install, then serve one workload from contiguous slabs and from pages
# make test   install, then run every check (what CI runs)
# make lint   format and lint and types only
# make bench  the speed figures of benchmarks/README.md
# make test-all  the tests with many more examples, real browsers (where Chromium is) and real models
# make notebooks  JupyterLab on the course's notebooks

PYTHON ?= $(firstword $(foreach p,python3 python3.13 python3.12 python3.11,$(shell $(p) -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $(p))))
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DEV_STAMP := $(VENV)/.installed-dev
NOTEBOOKS_STAMP := $(VENV)/.installed-notebooks

.PHONY: demo test test-all lint format bench notebooks clean

demo: $(STAMP)
	@$(BIN)/pagesim compare

test: lint
	$(BIN)/python -m pytest -n 2 --dist worksteal

test-all: lint
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt transformers playwright jupyterlab
	PAGESIM_EXAMPLES=more $(BIN)/python -m pytest -n 2 --dist worksteal

lint: $(DEV_STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(DEV_STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(DEV_STAMP)
	$(BIN)/python benchmarks/core_speed.py
	$(BIN)/python benchmarks/replay_speed.py
	$(BIN)/pagesim kernel bench

notebooks: $(NOTEBOOKS_STAMP)
	$(BIN)/jupyter lab notebooks

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "pagesim needs Python 3.11 or newer with venv; set PYTHON=/path/to/python3" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(STAMP): pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

$(DEV_STAMP): pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@ $(STAMP)

$(NOTEBOOKS_STAMP): pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[notebooks]'
	@touch $@ $(STAMP)

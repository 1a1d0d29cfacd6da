# Every command makes what it needs: a bare clone and Python 3.11+ are enough.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

help:  ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 18

setup: $(STAMP)  ## make .venv with everything in it
	@:

$(STAMP): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install -qq --upgrade pip
	@$(BIN)/python -m pip install -qq -c constraints.txt -e '.[dev]'
	@touch $@

run: setup  ## train three real jobs on the bundled digits under two schedulers, and compare
	@$(BIN)/mjfl sweep studies/digits.toml -j 2 --figure runs/digits.png

check: setup  ## format, lint, types, layers
	@$(BIN)/ruff format --check --quiet . && $(BIN)/ruff check --quiet . && $(BIN)/mypy && $(BIN)/lint-imports --no-logo

format: setup  ## let ruff format and fix what it can
	@$(BIN)/ruff format --quiet . && $(BIN)/ruff check --fix --quiet .

test: setup  ## the tests, under two minutes
	@$(BIN)/pytest -n auto -m 'not slow'

slow: setup  ## the long tests
	@$(BIN)/pytest -m slow

bench: setup  ## every figure of docs/measurements.md
	@for file in benchmarks/bench_*.py; do $(BIN)/python $$file || exit 1; done

bench-learning: setup  ## training against a plain PyTorch loop, on the CPU or the GPU there is
	@$(BIN)/python benchmarks/bench_learning.py

lock:  ## renew the pins in constraints.txt; torch keeps its own, or several GB of CUDA come along
	@rm -rf .venv && $(PYTHON) -m venv .venv && $(BIN)/python -m pip install -qq --upgrade pip
	@$(BIN)/python -m pip install -qq "$$(grep '^torch==' constraints.txt)" && $(BIN)/python -m pip install -qq -e '.[dev]'
	@$(BIN)/python -m pip freeze --exclude-editable --exclude mjfl | sed 's/+cpu$$//' > constraints.new && mv constraints.new constraints.txt

.PHONY: help setup run check format test slow bench bench-learning lock

# `make` alone lists what there is. Everything runs from .venv, which the first target that needs it makes.
PYTHON ?= python3
BIN := .venv/bin

.DEFAULT_GOAL := help
.PHONY: help quickstart lab test lint bench clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' Makefile

quickstart: .venv/.installed ## train on packaged reviews, then explain sentences the model never saw
	$(BIN)/lexical-sae train --config experiments/quickstart.yaml --overwrite
	$(BIN)/lexical-sae explain --model results/quickstart/model \
		"A charming and often affecting journey." \
		"The plot is tedious and the jokes are never funny." \
		"I expected a dull sequel, but it is clever, tender and beautifully acted." \
		"Not even a gifted cast can save this lifeless mess."
	@echo
	@echo "Report: results/quickstart/report.html"
	@echo "Model:  results/quickstart/model"

lab: .venv/.installed ## read and question the quickstart's model in the browser
	@test -d results/quickstart/model || { echo "There is no model yet; 'make quickstart' trains it." >&2; exit 2; }
	$(BIN)/lexical-sae serve results/quickstart/model

test: .venv/.installed ## run the tests
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2 --dist loadfile

lint: .venv/.installed ## check style, formatting and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy splade

bench: .venv/.installed-bench ## measure speed and memory against the alternatives
	$(BIN)/python -m benchmarks

clean: ## remove the environment and caches; results stay
	rm -rf .venv build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamps are newer than the files they depend on exactly when nothing needs installing again.
.venv/.installed: pyproject.toml constraints.txt requirements-demo.txt
	@command -v "$(PYTHON)" >/dev/null || { \
		echo "Found no '$(PYTHON)': install Python 3.10 or newer, or name yours with 'make PYTHON=...'." >&2; exit 2; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
		echo "Found $$("$(PYTHON)" --version 2>&1), but Lexical-SAE needs Python 3.10 or newer:" \
			"name one with 'make PYTHON=...'." >&2; exit 2; }
	@"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "This Python cannot make virtual environments: install its venv module" \
			"(Debian and Ubuntu: apt install python3-venv)." >&2; exit 2; }
	"$(PYTHON)" -m venv .venv
	$(BIN)/python -m pip install -c constraints.txt -e '.[dev,demo,sae,serve,sign]'
	$(BIN)/python -m pip install --no-deps --require-hashes -r requirements-demo.txt
	@touch $@

.venv/.installed-bench: .venv/.installed
	$(BIN)/python -m pip install -c constraints.txt -e '.[bench]'
	@touch $@

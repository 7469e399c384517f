# Every target does its own set-up, says what it is doing, and ends with a line that states the result.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help setup run check test

PY := .venv/bin/python

help: ## This list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 20

setup:
	@PYTHON="$(PYTHON)" scripts/setup

run: setup ## A short demonstration of the ledger: out-of-order answers, a crash, a restart
	@$(PY) examples/ledger_demo.py

check: setup ## Format, lint, strict types, import direction, docs links, generated docs up to date
	@.venv/bin/ruff format --check --quiet .
	@.venv/bin/ruff check --quiet .
	@.venv/bin/mypy
	@$(PY) -m pytest -q -p no:cacheprovider tests/contract
	@echo "check: all clean"

test: setup ## All tests, on real servers that it installs and starts by itself
	@$(PY) -m pytest -n 2 --dist worksteal
	@echo "test: all passed"

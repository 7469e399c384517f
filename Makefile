# Every target does its own set-up, says what it is doing, and ends with a line that states the result.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help setup java run orders check unit test fuzz model spec crash bench requirements docs

PY := .venv/bin/python

help: ## This list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 22

setup:
	@PYTHON="$(PYTHON)" scripts/setup

run: setup java ## Meridian over simulated sensors: conjunction alerts within a minute; kill it, run it again, it goes on
	@.venv/bin/meridian run --simulate

orders: setup java ## Made-up orders through Spark into Parquet and SQLite; kill it, run it again, see it reconciled
	@$(PY) examples/orders.py

java: setup
	@scripts/java > /dev/null
	@$(PY) -m holdfast.runtime.jvm

check: setup ## Format, lint, strict types, import direction, docs links, generated docs up to date
	@.venv/bin/ruff format --check --quiet . || { echo "check: run .venv/bin/ruff format"; exit 1; }
	@.venv/bin/ruff check --quiet .
	@.venv/bin/mypy
	@$(PY) -m pytest -q tests/contract
	@$(PY) -m tests.support.requirements --check
	@echo "check: all clean"

unit: setup ## The unit tests alone, without servers and without Spark, the quick loop
	@$(PY) -m pytest -q -n 2 --dist worksteal tests/unit
	@echo "unit: all passed"

test: setup java ## All tests, on real servers that it installs and starts by itself
	@$(PY) -m pytest -n 2 --dist worksteal
	@echo "test: all passed"

fuzz: setup ## Random and damaged inputs to every reader of outside bytes, bounded in time and memory; SECONDS=n
	@$(PY) -m tests.fuzz --seconds $(or $(SECONDS),300)

model: setup ## The exhaustive exploration of the ledger, more than 11 million states (about half an hour)
	@$(PY) -m tests.model.full

crash: setup java ## The crash matrix, random kills and full disks, of pipelines and of fusion, reconciled from outside; KILLS=n SEED=n
	@$(PY) -m pytest -q --long tests/crash/test_checkpoint_kills.py tests/crash/test_http_kills.py
	@$(PY) -m tests.crash.campaign --kills $(or $(KILLS),100) --seed $(or $(SEED),1)
	@$(PY) -m tests.crash.fusion_campaign --kills $(or $(KILLS),100) --seed $(or $(SEED),1)

spec: setup ## TLC over the TLA+ specification of the ledger
	@scripts/spec

bench: setup java ## The benchmarks beside their peers; B=name runs one
	@$(PY) -m bench $(B)

requirements: setup ## Which tests hold which requirement, and how they went; writes docs/guarantees.md
	@$(PY) -m tests.support.requirements

docs: setup requirements ## Write the generated pages anew
	@$(PY) -m tests.support.errors_page
	@$(PY) -m tests.support.document_page
	@$(PY) -m tests.support.commands_page
	@$(PY) -m tests.support.metrics_page
	@echo "docs: generated pages are written"

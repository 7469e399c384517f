"""Which tests hold which requirement: reads the `req` marks, and writes down how the tests went.

A pytest plugin (loaded by `tests/conftest.py`) and, as `python -m tests.support.requirements`, the command behind
`make requirements`: it writes `docs/guarantees.md` and prints what the last full run said about each id.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import re
import sys
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROMISES = ROOT / "docs" / "requirements.toml"
GUARANTEES = ROOT / "docs" / "guarantees.md"
LAST_RUN = ROOT / ".build" / "requirements.json"

INTRODUCTION = """\
# What Holdfast guarantees

Each line is a promise and the tests that hold it: a test with such a mark fails when the promise is broken. This page
is made from the marks by `make requirements`, and `make check` fails when it is out of date. What is not listed here is
not promised yet; what is read otherwise or missing stands in [the notes](requirements-notes.md).
"""


class RequirementsPlugin:
    """Puts the ids of a test into its report, and the outcomes of a whole run into a file."""

    def __init__(self) -> None:
        self.outcomes: dict[str, dict[str, str]] = defaultdict(dict)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        known = promised_ids()
        for item in items:
            for requirement in ids_of(item):
                if requirement not in known:
                    message = f"{item.nodeid} is marked with {requirement}, which docs/requirements.toml does not know"
                    raise pytest.UsageError(message)
                item.user_properties.append(("req", requirement))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.outcome != "passed":
            for name, requirement in report.user_properties:
                if name == "req":
                    self.outcomes[str(requirement)][report.nodeid] = report.outcome

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if not hasattr(session.config, "workerinput") and self.outcomes:
            LAST_RUN.parent.mkdir(exist_ok=True)
            LAST_RUN.write_text(json.dumps(self.outcomes, indent=1, sort_keys=True))


class Collector:
    """Remembers the tests of each id without running them."""

    def __init__(self) -> None:
        self.tests: dict[str, set[tuple[str, str]]] = defaultdict(set)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            file, _, name = item.nodeid.partition("::")
            for requirement in ids_of(item):
                self.tests[requirement].add((file, name.partition("[")[0]))


def ids_of(item: pytest.Item) -> list[str]:
    """The requirement ids a test is marked with."""
    return [str(requirement) for mark in item.iter_markers("req") for requirement in mark.args]


def promised_ids() -> dict[str, str]:
    """Every known id and its promise."""
    sections = tomllib.loads(PROMISES.read_text()).values()
    return {name: text for section in sections for name, text in section.items() if name != "title"}


def guarantees(tests: dict[str, set[tuple[str, str]]]) -> str:
    """The page: one table a section, ids in their natural order, only those that a test holds."""
    page = [INTRODUCTION]
    for section in tomllib.loads(PROMISES.read_text()).values():
        held = sorted((name for name in section if name != "title" and tests.get(name)), key=_natural)
        if held:
            page += [f"## {section['title']}\n", "| id | promise | held by |", "|---|---|---|"]
            page += [f"| {name} | {section[name]} | {_links(tests[name])} |" for name in held]
            page.append("")
    return "\n".join(page)


def collect() -> dict[str, set[tuple[str, str]]]:
    """The tests of each id, from a collection of all tests but those over data that not every machine has."""
    collector = Collector()
    os.environ["HOLDFAST_DATA"] = str(ROOT / "no-data")
    with contextlib.redirect_stdout(io.StringIO()) as output:
        code = pytest.main(["--collect-only", "-qq", str(ROOT / "tests")], [collector])
    if code != pytest.ExitCode.OK:
        sys.exit(f"requirements: the tests could not be collected\n{output.getvalue()}")
    return collector.tests


def main() -> None:
    """Write the page, or with `--check` say whether it is up to date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, fail when the page is out of date")
    check = parser.parse_args().check
    tests = collect()
    page = guarantees(tests)
    if check:
        if not GUARANTEES.exists() or GUARANTEES.read_text() != page:
            sys.exit("docs/guarantees.md is out of date: run `make requirements`")
        return
    GUARANTEES.write_text(page)
    _print_last_run(tests)


def _print_last_run(tests: dict[str, set[tuple[str, str]]]) -> None:
    outcomes = json.loads(LAST_RUN.read_text()) if LAST_RUN.exists() else {}
    for requirement in sorted(tests, key=_natural):
        results = list(outcomes.get(requirement, {}).values())
        passed = f"{results.count('passed')} of {len(results)} passed in the last run" if results else "not run yet"
        print(f"  {requirement:<5} {len(tests[requirement])} tests, {passed}")
    print(f"requirements: {len(tests)} ids are held by tests; docs/guarantees.md is written")


def _links(tests: set[tuple[str, str]]) -> str:
    return ", ".join(f"[{name.removeprefix('test_').replace('_', ' ')}](../{file})" for file, name in sorted(tests))


def _natural(requirement: str) -> tuple[str, int]:
    letters, number = re.fullmatch(r"([A-Z]+-?)(\d+)", requirement).groups()  # type: ignore[union-attr]
    return letters, int(number)


if __name__ == "__main__":
    main()

"""The page that lists the columns of `events` says what the code gives to the first step of a pipeline."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.capture import Generator, LogFiles, Stdin
from holdfast.capture.contract import Source
from holdfast.capture.tailing.events import CONTINUES, CUT, FILE, UNFINISHED
from holdfast.model.envelope import ENVELOPE, ENVELOPE_DDL, Op
from tests.support.http_source import receiving

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "events.md").read_text()


def rows_below(text: str) -> list[list[str]]:
    """The cells of the first table behind a text."""
    parts = PAGE[PAGE.index(text) :].split("\n\n")
    lines = next(part for part in parts if part.startswith("| ")).splitlines()[2:]
    return [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines]


def test_every_column_is_listed_with_its_type_in_the_order_of_the_view() -> None:
    listed = [(name, spark_type, null) for name, spark_type, null, _ in rows_below("# The columns")]
    assert listed == list(_declared())


def test_every_operation_is_explained() -> None:
    text = next(row[3] for row in rows_below("# The columns") if row[0] == "`op`")
    assert re.findall(r"`(\w)`", text) == [op.value for op in Op]


@pytest.mark.parametrize("kind", ["generator", "files", "stdin", "http"])
def test_the_columns_that_a_source_fills_are_listed(kind: str, tmp_path: Path) -> None:
    (fills,) = [fills for name, fills in rows_below("## What each source fills") if name == f"`{kind}`"]
    always = re.findall(r"`(\w+)`", fills.partition(";")[0])
    optional = [field.name for field in ENVELOPE if field.nullable]
    events = EVENTS[kind](tmp_path)
    assert events
    for event in events:
        assert always == [name for name in optional if event[name] is not None]


def test_the_names_of_headers_are_those_of_the_code_and_so_are_the_columns_of_an_order() -> None:
    for name in (FILE, CUT, CONTINUES, UNFINISHED, Generator().schema):
        assert f"`{name}`" in PAGE


def _declared() -> Iterator[tuple[str, str, str]]:
    """Name, type and whether it may be null, of each column in Spark's words."""
    for column in re.split(r", (?![^<]*>)", ENVELOPE_DDL):
        name, _, rest = column.partition(" ")
        yield f"`{name}`", f"`{rest.removesuffix(' NOT NULL')}`", "no" if rest.endswith(" NOT NULL") else "yes"


def _read(source: Source) -> list[dict[str, Any]]:
    source.open(None)
    try:
        captured = source.read(1.0)
        assert captured is not None
        events: list[dict[str, Any]] = captured.events.to_pylist()
        return events
    finally:
        source.close()


def _lines(directory: Path) -> list[dict[str, Any]]:
    (directory / "app.log").write_text("one\ntwo\n")
    return _read(LogFiles(directory / "app.log"))


def _piped(_: Path) -> list[dict[str, Any]]:
    reading, writing = os.pipe()
    os.write(writing, b"one\ntwo\n")
    os.close(writing)
    return _read(Stdin(descriptor=reading))


def _pushed(directory: Path) -> list[dict[str, Any]]:
    with receiving(directory) as work:
        assert work.post(b'[{"a": 1}, {"a": 2}]').status == 200
        return work.rows()


EVENTS: dict[str, Callable[[Path], list[dict[str, Any]]]] = {
    "generator": lambda _: _read(Generator(events=3)),
    "files": _lines,
    "stdin": _piped,
    "http": _pushed,
}

"""Rows on the console: lines or a table, bounded, and nothing that a terminal would obey."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys

import pyarrow as pa
import pytest

from holdfast.deliver.contract import Tier
from holdfast.model.errors import Fatal, InvalidPipeline, Rejected
from holdfast.model.steps import Step
from holdfast.sinks import Console, ConsoleForm
from tests.support.sink_lanes import batch_of, empty_batch, identity, rows_of


def shown(rows: pa.Table, oseq: int = 1, **how: object) -> str:
    out = io.StringIO()
    console = Console(out=out, **how)  # type: ignore[arg-type]
    console.open(identity())
    console.deliver(batch_of(oseq, rows))
    return out.getvalue()


def test_rows_are_lines_of_json() -> None:
    lines = shown(rows_of(1)).splitlines()
    assert [json.loads(line) for line in lines] == rows_of(1).to_pylist()


def test_a_batch_is_a_table() -> None:
    rows = pa.table({"n": [1, 20], "note": ["short", None], "nested": [{"a": [1]}, None]})
    assert shown(rows, form=ConsoleForm.TABLE) == (
        "batch 1: 2 rows\n"
        "n   note   nested\n"
        '1   short  {"a": [1]}\n'
        "20  null   null\n"
    )  # fmt: skip


@pytest.mark.parametrize("form", ConsoleForm)
def test_what_is_shown_is_bounded_and_the_rest_is_counted(form: ConsoleForm) -> None:
    rows = pa.table({"note": ["x" * 100_000] * 5000})
    text = shown(rows, 7, form=form, max_rows=3)
    assert text.endswith("… and 4997 more rows of batch 7\n")
    assert len(text) < 10_000


@pytest.mark.parametrize("form", ConsoleForm)
def test_a_terminal_is_given_no_orders(form: ConsoleForm) -> None:
    text = shown(pa.table({"note": ["\x1b[2J\x9b31m\x7f\u202e"]}), form=form)
    assert all(character.isprintable() for character in text if character != "\n")
    if form is ConsoleForm.LINES:
        assert json.loads(text) == {"note": "\x1b[2J\x9b31m\x7f\u202e"}


def test_it_promises_no_more_than_it_can_hold() -> None:
    console = Console(out=io.StringIO())
    assert console.tier is Tier.AT_LEAST_ONCE
    assert console.cursor() is None


def test_an_empty_batch_and_a_probe_show_nothing_and_every_step_is_told() -> None:
    out, told = io.StringIO(), list[str]()
    console = Console(out=out)
    console.open(identity(hook=told.append))
    console.deliver(empty_batch(1))
    console.probe(batch_of(1))
    assert (out.getvalue(), told) == ("", [])
    console.deliver(batch_of(1))
    assert told == [Step.SINK_WRITE, Step.SINK_COMMIT, Step.SINK_COMMITTED]


def test_a_row_that_is_no_text_is_refused() -> None:
    torn = pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff"], pa.binary()).buffers())
    with pytest.raises(Rejected):
        shown(pa.table({"note": torn}))


def test_a_console_that_is_not_open_or_closed_says_so() -> None:
    with pytest.raises(Fatal, match="not open"):
        Console(out=io.StringIO()).deliver(batch_of(1))
    out = io.StringIO()
    console = Console(out=out)
    console.open(identity())
    out.close()
    with pytest.raises(Fatal, match="cannot be written"):
        console.deliver(batch_of(1))


def test_a_console_that_shows_nothing_is_refused() -> None:
    with pytest.raises(InvalidPipeline):
        Console(max_rows=0)


def test_standard_output_is_written_at_once_also_where_it_knows_only_ascii() -> None:
    code = (
        "import pyarrow as pa; from holdfast.sinks import Console; from tests.support.sink_lanes import *; "
        "c = Console(); c.open(identity()); c.deliver(batch_of(1, pa.table({'note': ['ü']}))); import os; os._exit(0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONIOENCODING": "ascii"}, capture_output=True, check=True
    )
    assert done.stdout == b'{"note":"\\xfc"}\n'

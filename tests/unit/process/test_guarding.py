"""A row that fails is reported and left out, whatever the function is over; what is no row's fault passes."""

from __future__ import annotations

import errno
from collections import Counter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.model.errors import InvalidPosition, InvalidStep, Poison, Transient
from holdfast.process import batches, rows
from holdfast.process.blame import is_of_the_machine
from holdfast.process.functions import Guarded
from holdfast.process.guarding import FailedRow, told

SCHEMA = pa.schema([pa.field("event_id", pa.string(), nullable=False), pa.field("n", pa.int64())])


def batch(numbers: list[int]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([{"event_id": f"e{n}", "n": n} for n in numbers], schema=SCHEMA)


def ran(step: object, *inputs: pa.RecordBatch, schema: pa.Schema = SCHEMA) -> tuple[list[Any], list[FailedRow]]:
    """What came out as values of `n`, and what was reported."""
    assert isinstance(step, Guarded)
    failed: list[FailedRow] = []
    reporting = step.reporting(failed.extend)
    assert isinstance(reporting, Guarded)
    outputs = list(reporting.guard(schema)(inputs))
    assert all(output.schema.equals(schema) for output in outputs)
    return [n for output in outputs for n in output["n"].to_pylist()], failed


def half(row: dict[str, Any]) -> dict[str, Any]:
    if row["n"] % 7 == 3:
        raise ValueError(f"{row['n']} cannot be halved")
    return {**row, "n": row["n"] * 2}


def half_all(events: pa.RecordBatch) -> pa.RecordBatch:
    numbers = events["n"].to_pylist()
    if any(n % 7 == 3 for n in numbers):
        raise ValueError("one of them cannot be halved")
    return events.set_column(1, SCHEMA.field("n"), pc.multiply(events["n"], 2))


@pytest.mark.req("D9", "K9")
@pytest.mark.parametrize("step", [rows(half), batches(half_all)], ids=["rows", "batches"])
@given(numbers=st.lists(st.integers(0, 100), max_size=40))
def test_what_does_not_fail_comes_out_in_order_and_what_fails_is_reported_once(
    step: object, numbers: list[int]
) -> None:
    out, failed = ran(step, batch(numbers))
    assert out == [2 * n for n in numbers if n % 7 != 3]
    assert Counter(row.event_id for row in failed) == Counter(f"e{n}" for n in numbers if n % 7 == 3)
    assert len(out) + len(failed) == len(numbers)


def test_a_row_may_become_none_or_several() -> None:
    def spread(row: dict[str, Any]) -> list[dict[str, Any]] | None:
        return [row] * row["n"] if row["n"] else None

    assert ran(rows(spread), batch([0, 1, 3])) == ([1, 3, 3, 3], [])


@pytest.mark.parametrize("wrong", ["text", 2**70, {"a": 1}])
def test_a_value_that_does_not_fit_the_schema_is_the_fault_of_its_row(wrong: object) -> None:
    def spoil(row: dict[str, Any]) -> dict[str, Any]:
        return {**row, "n": wrong} if row["n"] == 5 else row

    out, failed = ran(rows(spoil), batch(list(range(9))))
    assert out == [0, 1, 2, 3, 4, 6, 7, 8]
    assert [row.event_id for row in failed] == ["e5"]


def test_an_empty_value_where_none_may_be_is_the_fault_of_its_row() -> None:
    out, failed = ran(rows(lambda row: {**row, "event_id": None} if row["n"] == 1 else row), batch([0, 1]))
    assert out == [0]
    assert "event_id may not be empty" in failed[0].message


def test_a_column_that_nobody_declared_is_not_dropped_silently() -> None:
    out, failed = ran(rows(lambda row: {**row, "m": 1}), batch([0]))
    assert out == []
    assert "the schema of the step has no m" in failed[0].message


def test_a_batch_that_fails_costs_a_few_calls_for_each_row_that_fails() -> None:
    calls = 0

    def counted(events: pa.RecordBatch) -> pa.RecordBatch:
        nonlocal calls
        calls += 1
        return half_all(events)

    numbers = [0] * 500 + [3] + [0] * 523
    out, failed = ran(batches(counted), batch(numbers))
    assert (len(out), len(failed)) == (1023, 1)
    assert calls == 21


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        OSError(errno.ENOSPC, "No space left on device"),
        OSError(errno.EMFILE, "Too many open files"),
        ConnectionRefusedError(errno.ECONNREFUSED, "refused"),
        TimeoutError("no answer"),
        OSError("an answer without a number"),
        ImportError("no module"),
        Transient("The lookup does not answer.", remedy="Wait."),
        KeyboardInterrupt(),
    ],
    ids=repr,
)
@pytest.mark.parametrize("kind", [rows, batches])
@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.req("K9")
def test_what_is_no_rows_fault_is_blamed_on_none(kind: Any, error: BaseException, wrapped: bool) -> None:
    def fail(_: object) -> object:
        if wrapped:
            raise ValueError("it did not work") from error
        raise error

    failed: list[FailedRow] = []
    guard = kind(fail).reporting(failed.extend).guard(SCHEMA)
    with pytest.raises(ValueError if wrapped else type(error)):
        list(guard([batch([1, 2, 3])]))
    assert not failed


@pytest.mark.parametrize(
    "error",
    [
        KeyError("n"),
        RecursionError(),
        FileNotFoundError(errno.ENOENT, "no such file"),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"),
        Poison("This row can never be taken.", remedy="Mend it."),
        InvalidPosition("That is none.", remedy="Write one."),
    ],
    ids=repr,
)
def test_what_is_not_known_to_be_the_machines_is_the_rows(error: Exception) -> None:
    assert not is_of_the_machine(error)


@pytest.mark.parametrize("answer", [None, [1], "x"])
def test_a_function_on_batches_that_gives_none_is_wrong_and_no_row_is(answer: object) -> None:
    with pytest.raises(InvalidStep, match="not a RecordBatch"):
        ran(batches(lambda _: answer), batch([1]))  # type: ignore[arg-type, return-value]


def test_a_function_on_batches_that_gives_other_columns_is_wrong_and_no_row_is() -> None:
    with pytest.raises(InvalidStep, match="gave the columns"):
        ran(batches(lambda events: events.drop_columns(["n"])), batch([1]))


def test_what_is_told_is_bounded_and_names_the_causes() -> None:
    try:
        try:
            raise KeyError("x" * 10_000)
        except KeyError as cause:
            raise ValueError("no such order") from cause
    except ValueError as error:
        text = told(error)
    assert text.startswith("ValueError: no such order; because of KeyError: ")
    assert len(text) <= 2100


def test_an_error_that_comes_of_itself_is_told_once() -> None:
    error = ValueError("round")
    error.__cause__ = error
    assert told(error).startswith("ValueError: round\n")

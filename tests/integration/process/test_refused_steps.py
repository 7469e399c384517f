"""What real Spark refuses before any event is read: each kind of step, told with the step and the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holdfast import Generator, Pipeline, Sqlite, sql
from holdfast.model.errors import StepRefused
from holdfast.process import filter_rows, flatten, python, route, rows
from holdfast.runtime.analysis import check_steps

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from holdfast.process.steps import Step


def with_a_typing_mistake(frame: DataFrame) -> DataFrame:
    return frame.wehre("seq > 3")  # type: ignore[operator,no-any-return]


def with_a_name_that_is_not_there(frame: DataFrame) -> DataFrame:
    return frame.select(thing)  # type: ignore[name-defined] # noqa: F821


def with_a_column_that_is_not_there(frame: DataFrame) -> DataFrame:
    return frame.select("nme")


def unchanged(row: dict[str, object]) -> dict[str, object]:
    return row


def while_the_disk_is_full(_: DataFrame) -> DataFrame:
    raise OSError(28, "No space left on device")


@pytest.fixture
def check(spark: SparkSession, tmp_path: Path) -> Callable[..., None]:
    def checked(*steps: Step, mode: str = "append") -> None:
        whole = Pipeline("orders", directory=tmp_path / "pipeline").read(Generator(events=10)).process(*steps)
        check_steps(spark, whole.output_mode(mode).write(Sqlite(tmp_path / "s.db", table="t")).plan())

    return checked


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (sql("SELECT seq,\n  after.nme FROM events"), r"\(sql\) at line 2, column 3 of its query: .*`nme`"),
        (sql("SELECT nme FROM events"), r"\(sql\) at line 1, column 8 of its query: \[UNRESOLVED_COLUMN.*`nme`"),
        (sql("SELECT frob(seq) FROM events"), r"\(sql\) at line 1, column 8 of its query: \[UNRESOLVED_ROUTINE.*frob"),
        (sql("SELECT * FROM evnts"), r"\(sql\) at line 1, column 15 of its query: \[TABLE_OR_VIEW_NOT_FOUND.*evnts"),
        (sql("SELECT * FORM events"), r"\(sql\) at line 1, column \d+ of its query: \[PARSE_SYNTAX_ERROR\]"),
        (sql("SELECT seq + after FROM events"), r"\(sql\) at line 1, column 8 of its query: \[DATATYPE_MISMATCH"),
        (filter_rows("nme > 3"), r"\(filter\) at line 1, column 1 of its query: \[UNRESOLVED_COLUMN"),
        (route(large="nme > 3"), r"\(route\): \[UNRESOLVED_COLUMN"),
        (flatten("nme"), r"\(flatten\): Column 'nme' cannot be flattened"),
        (rows(unchanged, schema="n BIGNIT"), r"\(rows\).*: \[UNSUPPORTED_DATATYPE\]|\(rows\).*BIGNIT"),
        (python(with_a_typing_mistake), r"\(python\): .*wehre"),
        (python(with_a_name_that_is_not_there), r"\(python\): NameError: name 'thing' is not defined\."),
        (python(with_a_column_that_is_not_there), r"\(python\): \[UNRESOLVED_COLUMN.*`nme`"),
    ],
)
def test_a_step_that_can_never_run_is_refused(check: Callable[..., None], step: Step, said: str) -> None:
    with pytest.raises(StepRefused, match=rf"(?s)Spark refuses step 2 {said}") as raised:
        check(sql("SELECT * FROM events"), step)
    assert "\n" not in raised.value.what, "one line, and no stack"


@pytest.mark.parametrize(
    ("query", "mode", "said"),
    [
        ("SELECT map('a', seq) AS m FROM events", "append", "HASH_MAP_TYPE"),
        ("SELECT seq AS n, seq AS n FROM events", "append", "AMBIGUOUS_REFERENCE"),
        ("SELECT op, count(*) AS n FROM events GROUP BY op", "append", "watermark"),
    ],
)
def test_output_that_cannot_be_stored_or_streamed_is_refused(
    check: Callable[..., None], query: str, mode: str, said: str
) -> None:
    with pytest.raises(StepRefused, match=rf"Spark refuses what the steps give: .*{said}"):
        check(sql(query), mode=mode)


def test_steps_that_can_run_are_not_refused(check: Callable[..., None]) -> None:
    check()
    check(sql("SELECT seq, after.n FROM events"), filter_rows("n > 3"), route(large="n > 7"))
    check(sql("SELECT op, count(*) AS n FROM events GROUP BY op"), mode="update")


def test_what_the_machine_does_is_no_refusal(check: Callable[..., None]) -> None:
    with pytest.raises(OSError, match="No space left"):
        check(python(while_the_disk_is_full))

"""Where in a document the text stands that Spark refuses, and what is said about it."""

from __future__ import annotations

import pytest
from tests.support.command_line import DOCUMENT

from holdfast.config import load
from holdfast.model.errors import InvalidStep
from holdfast.process import filter_rows, sql
from holdfast.process.refusals import is_refusal, refused


class Refused(Exception):
    """An error of Spark's analysis, as PySpark gives it."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._desc = text


Refused.__module__ = "pyspark.errors.exceptions.captured"


def document(process: str) -> str:
    return DOCUMENT.replace("  sinks:", f"  process:\n{process}\n  sinks:")


def place_of(process: str, wanted: str, *, number: int = 1, environment: dict[str, str] | None = None) -> str:
    """The place that is told when Spark points at this word of the query of a step."""
    plan = load(document(process), environment=environment or {}).plan()
    query = plan.steps[number - 1].text  # type: ignore[attr-defined]
    before = query[: query.index(wanted)]
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n") - 1
    error = Refused(f"[UNRESOLVED_COLUMN] No column `{wanted}`. SQLSTATE: 42703; line {line} pos {column}")
    return str(refused(number, plan.steps, plan.step_texts, error).context["place"])


def really_at(process: str, wanted: str) -> str:
    """Where the word stands when one counts in the document."""
    before = document(process).split(wanted)[0]
    return f"document:{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"


@pytest.mark.parametrize(
    "process",
    [
        "    - sql: SELECT seq, nme FROM events",
        "    - {sql: SELECT nme FROM events}",
        "    - sql: 'SELECT seq, nme FROM events'",
        '    - sql: "SELECT seq, nme FROM events"',
        "    - sql: |\n        SELECT seq,\n               nme\n        FROM events",
        "    - sql: |-  # without the last line break\n        SELECT seq,\n\n          nme FROM events",
        "    - sql: >\n        SELECT seq,\n        nme\n        FROM events",
        "    - sql:\n        SELECT seq,\n          nme FROM\n          events",
        '    - sql: "SELECT seq,\n\n        nme FROM events"',
        "    - sql:   |2\n          SELECT seq, nme FROM events",
    ],
)
def test_the_place_is_exact_however_the_query_is_written(process: str) -> None:
    assert place_of(process, "nme") == really_at(process, "nme")


def test_the_second_step_is_not_taken_for_the_first() -> None:
    process = "    - sql: SELECT * FROM events\n    - sql: SELECT seq, nme FROM events"
    assert place_of(process, "nme", number=2) == really_at(process, "nme")


@pytest.mark.parametrize(
    "process",
    [
        "    - sql: 'SELECT ''x'' AS x, nme FROM events'",
        '    - sql: "SELECT \\"x\\" AS x, nme FROM events"',
        "    - sql: SELECT ${A_LONG_NAME}, nme FROM events",
    ],
)
def test_where_characters_were_replaced_the_step_is_named(process: str) -> None:
    value = process.split("sql: ")[1]
    assert place_of(process, "nme", environment={"A_LONG_NAME": "b"}) == really_at(process, value)


def told(error: Exception) -> str:
    return refused(1, [sql("SELECT 1")], (), error).what


def test_only_the_reason_is_told_and_neither_plan_nor_query() -> None:
    unresolved = "[UNRESOLVED_COLUMN] No column `a`. SQLSTATE: 42703; line 1 pos 7;\n'Project ['a]\n+- OneRowRelation\n"
    assert told(Refused(unresolved)) == (
        "Spark refuses step 1 (sql) at line 1, column 8 of its query: "
        "[UNRESOLVED_COLUMN] No column `a`. SQLSTATE: 42703."
    )
    unparsed = "\n[PARSE_SYNTAX_ERROR] Syntax error at or near 'x'. SQLSTATE: 42601 (line 2, pos 0)\n\n== SQL ==\nx\n"
    assert told(Refused(unparsed)) == (
        "Spark refuses step 1 (sql) at line 2, column 1 of its query: "
        "[PARSE_SYNTAX_ERROR] Syntax error at or near 'x'. SQLSTATE: 42601."
    )
    assert told(Refused("No place is known")) == "Spark refuses step 1 (sql): No place is known."


def test_an_error_of_python_is_told_with_its_kind() -> None:
    assert told(KeyError("region")) == "Spark refuses step 1 (sql): KeyError: 'region'."
    error = InvalidStep("Column 'a' cannot be flattened.", remedy="Name a struct column.")
    assert told(error) == "Spark refuses step 1 (sql): Column 'a' cannot be flattened. Name a struct column."


def test_what_the_machine_does_is_no_refusal() -> None:
    assert is_refusal(NameError("name 'f' is not defined"))
    assert not is_refusal(OSError(28, "No space left on device"))
    assert not is_refusal(ConnectionRefusedError("the JVM is gone"))
    assert not is_refusal(MemoryError())


def test_a_condition_has_a_place_too() -> None:
    process = "    - filter: op = 'c' AND nme > 3"
    plan = load(document(process)).plan()
    error = Refused("[UNRESOLVED_COLUMN] No column. SQLSTATE: 42703; line 1 pos 13")
    assert refused(1, plan.steps, plan.step_texts, error).context["place"] == really_at(process, "nme")
    assert refused(1, [filter_rows("nme > 3")], (), error).what.startswith("Spark refuses step 1 (filter) at line 1")

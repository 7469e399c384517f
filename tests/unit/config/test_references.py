"""What comes from outside a document: resolved where it is used, refused when it is not there, and never shown."""

from __future__ import annotations

import traceback
from pathlib import Path

import pytest
from tests.support.documents import FULL, Spot, several_sources, text_of, walk, with_value

from holdfast.config import compare, find_problems, json_schema, load
from holdfast.config.problems import Problem
from holdfast.config.syntax import parse
from holdfast.model.errors import InvalidDocument

SECRET = "hunter2"


def resolved(value: str, **environment: str) -> object:
    tree = parse(f"a: {value}\n", "a.yaml", environment)
    assert tree.problems == []
    assert isinstance(tree.root, dict)
    return tree.root["a"]


def refused(value: str, **environment: str) -> Problem:
    (problem,) = parse(f"a: 1\nb: {value}\n", "a.yaml", environment).problems
    assert (problem.place.line, problem.place.column) == (2, 4)
    return problem


def test_a_variable_stands_for_its_value() -> None:
    assert resolved("${HOST}", HOST="db") == "db"
    assert resolved('"tcp://${HOST}:${PORT}/"', HOST="db", PORT="5432") == "tcp://db:5432/"


def test_a_value_is_not_looked_through_again() -> None:
    assert resolved("${A}", A="${B}", B="no") == "${B}"
    assert resolved("${A}", A="{x: [1, 2]}") == "{x: [1, 2]}"


def test_two_dollars_stand_for_one() -> None:
    assert resolved("cdc.$${table}") == "cdc.${table}"
    assert resolved("costs $5 {or} $$6") == "costs $5 {or} $$6"


def test_a_file_stands_for_what_it_holds(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("hunter2\n")
    assert resolved(f"${{file:{tmp_path}/password}}") == "hunter2"


def test_a_variable_that_is_not_set_is_told() -> None:
    problem = refused("${ORDERS_DNS}", ORDERS_DSN="x")
    assert problem.what == "The variable `ORDERS_DNS` is not set."
    assert "did you mean `ORDERS_DSN`?" in problem.remedy


@pytest.mark.parametrize("value", ["${", "${}", "${A-B}", "${A:-b}", "${ A }", "'${A'"])
def test_what_is_no_reference_is_told(value: str) -> None:
    assert refused(value, A="x").what == "A `${` here begins no reference."


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    assert "No such file" in refused(f"${{file:{tmp_path}/nowhere}}").what
    assert "Is a directory" in refused(f"${{file:{tmp_path}}}").what
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    assert "not UTF-8" in refused(f"${{file:{tmp_path}/bytes}}").what
    (tmp_path / "large").write_text("x" * 70_000)
    assert "larger than" in refused(f"${{file:{tmp_path}/large}}").what


def test_numbers_flags_and_words_may_come_from_outside() -> None:
    document = with_value(FULL, ("spec", "batch", "max_events"), "${EVENTS}")
    document = with_value(document, ("spec", "batch", "max_bytes"), "${BYTES}")
    document = with_value(document, ("spec", "batch", "respect_source_tx"), "${WHOLE}")
    document = with_value(document, ("spec", "output_mode"), "${MODE}")
    document = with_value(document, ("spec", "sinks", 0, "type"), "${TYPE}")
    document = with_value(document, ("spec", "sinks", 0, "breaker", "failure_rate"), "${RATE}")
    document = with_value(document, ("spec", "sinks", 0, "start"), "${START}")
    outside = {"EVENTS": "7", "BYTES": "2MiB", "WHOLE": "false", "MODE": "update", "TYPE": "files", "RATE": "0.75"}
    plan = load(text_of(document), environment={**outside, "START": "12"}).plan()
    assert (plan.batch.max_events, plan.batch.max_bytes, plan.batch.respect_source_tx) == (7, 2 << 20, False)
    assert (plan.output_mode, plan.sinks[0].breaker.failure_rate, plan.sinks[0].start) == ("update", 0.75, 12)


def test_a_password_of_digits_stays_text() -> None:
    document = with_value(FULL, ("spec", "sinks", 2, "dsn"), "${PASSWORD}")
    assert (
        load(text_of(document), environment={"PASSWORD": "0042"}).values.spec.sinks[2].dsn.get_secret_value() == "0042"
    )


EVERYTHING = several_sources()
SCALARS = [s for s in walk(EVERYTHING) if s.node.get("type") not in ("object", "array") and s.key != "name"]
"""All values but names, by which things are told apart, and which are shown for that."""


def everything_said(text: str, environment: dict[str, str]) -> str:
    """All that is shown of a document, whether it is valid or not."""
    other = load(text_of(FULL))
    try:
        document = load(text, environment=environment)
        document.plan()
    except InvalidDocument as error:
        return "".join([str(error), repr(error), repr(error.context), *traceback.format_exception(error)])
    changes = [compare(document, other), compare(other, document)]
    return "".join([repr(document), str(document), *map(str, changes), repr(changes)])


@pytest.mark.parametrize("spot", SCALARS, ids=lambda spot: ".".join(map(str, spot.path)))
def test_what_comes_from_outside_is_never_shown(spot: Spot) -> None:
    document = with_value(EVERYTHING, spot.path, "${SECRET}")
    assert SECRET not in everything_said(text_of(document), {"SECRET": SECRET})


def test_a_plan_does_not_show_secrets() -> None:
    document = with_value(FULL, ("spec", "spark", "conf"), {"spark.hadoop.fs.s3a.secret.key": "${SECRET}"})
    document = with_value(document, ("spec", "sinks", 2, "dsn"), "${SECRET}")
    plan = load(text_of(document), environment={"SECRET": SECRET}).plan()
    assert plan.spark.conf["spark.hadoop.fs.s3a.secret.key"] == SECRET
    assert SECRET not in repr(plan)


@pytest.mark.parametrize("value", [f"dbname=a password={SECRET}", f"${{HOST}}{SECRET}"])
def test_a_secret_that_is_written_out_is_not_shown(value: str) -> None:
    document = with_value(FULL, ("spec", "sinks", 2, "dsn"), value)
    said = everything_said(text_of(document), {"HOST": "db"})
    assert SECRET not in said
    assert "sinks.remote.dsn: *** -> ***" in said


@pytest.mark.parametrize("wrong", [[SECRET], {SECRET: SECRET}, {"a": SECRET}])
def test_a_secret_of_the_wrong_type_is_not_shown(wrong: object) -> None:
    said = everything_said(text_of(with_value(FULL, ("spec", "sinks", 2, "dsn"), wrong)), {})
    assert "`spec.sinks[2].dsn` must be text" in said
    assert SECRET not in said


def test_a_reference_to_a_secret_is_shown_as_it_is_written() -> None:
    old = load(text_of(with_value(FULL, ("spec", "sinks", 2, "dsn"), "${OLD}")), environment={"OLD": "dbname=a"})
    new = load(text_of(with_value(FULL, ("spec", "sinks", 2, "dsn"), "${NEW}")), environment={"NEW": "dbname=b"})
    assert "sinks.remote.dsn: ${OLD} -> ${NEW}" in str(compare(old, new))


def test_the_schema_marks_secrets() -> None:
    assert json_schema()["$defs"]["PostgresBlock"]["properties"]["dsn"]["writeOnly"] is True  # type: ignore[index]


def test_one_problem_is_told_for_a_variable_that_is_not_set() -> None:
    for path in [("spec", "batch", "max_events"), ("spec", "sinks", 0, "type"), ("spec", "source"), ("spec", "batch")]:
        (problem,) = find_problems(text_of(with_value(FULL, path, "${NOWHERE}")), environment={})
        assert problem.what == "The variable `NOWHERE` is not set."

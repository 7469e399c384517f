"""Documents as a whole: all problems at once, what is refused only together, and what a plan is made of."""

from __future__ import annotations

import sys
from dataclasses import replace
from datetime import timedelta
from itertools import combinations
from pathlib import Path as FilePath

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError
from tests.support.document_page import NO_SINKS, NO_SOURCES, NOT_BUILT
from tests.support.documents import FULL, STDIN, Path, several_sources, state, text_of, with_value, without

from holdfast.capture import Generator
from holdfast.config import find_problems, load
from holdfast.config.fields import Name
from holdfast.config.schema import blocks, kinds
from holdfast.control.health import CADENCE
from holdfast.deliver import SinkSpec
from holdfast.model.errors import InvalidPipeline
from holdfast.process import fingerprint
from holdfast.process.functions import Guarded
from holdfast.runtime.pipeline import Pipeline
from holdfast.runtime.plan import Plan
from holdfast.sinks import Files

ROOT = FilePath(__file__).resolve().parents[3]

FAULTS = {
    "a key that is not known": (("spec", "batch", "max_event"), 5),
    "a value of another type": (("spec", "restarts", "failures"), "many"),
    "values that do not go together": (("spec", "sinks", 0, "retry", "base"), "1d"),
    "a name that is taken": (("spec", "sinks", 1, "name"), "archive"),
    "a policy that cannot be met": (("spec", "commit", "quorum"), 9),
    "a kind that is not known": (("spec", "source", "type"), "kafka"),
    "a variable that is not set": (("spec", "spark", "master"), "${NOWHERE}"),
    "two ways to name sources": (("spec", "sources"), []),
    "a step that is two": (("spec", "process", 0, "filter"), "true"),
}


@pytest.mark.parametrize("names", list(combinations(FAULTS, 2)), ids=" and ".join)
def test_a_problem_does_not_hide_another(names: tuple[str, str]) -> None:
    alone = {
        problem.what
        for name in names
        for problem in find_problems(text_of(with_value(FULL, *FAULTS[name])), environment={})
    }
    document = FULL
    for name in names:
        document = with_value(document, *FAULTS[name])
    assert {problem.what for problem in find_problems(text_of(document), environment={})} == alone
    assert len(alone) >= 2


def test_problems_come_in_the_order_of_the_document() -> None:
    document = FULL
    for path, value in FAULTS.values():
        document = with_value(document, path, value)
    places = [problem.place for problem in find_problems(text_of(document), environment={})]
    assert len(places) >= len(FAULTS)
    assert places == sorted(places)


def test_a_pipeline_without_a_source_is_told() -> None:
    (problem,) = find_problems(text_of(without(FULL, ("spec", "source"))))
    assert problem.what == "`spec` has no `source`, so nothing would ever be read."


def test_none_of_the_sinks_being_required_is_told() -> None:
    (problem,) = find_problems(text_of(without(FULL, ("spec", "commit"))))
    assert "none of the 5 sinks is required" in problem.what


def test_a_sink_without_a_name_is_named_after_its_kind() -> None:
    plan = load(text_of(without(FULL, ("spec", "sinks", 0, "name")))).plan()
    assert [spec.name for spec in plan.sinks] == ["files", "local", "remote", "web", "screen"]


def test_a_sink_is_required_unless_it_says_otherwise() -> None:
    document = without(without(FULL, ("spec", "sinks", 0, "required")), ("spec", "sinks", 0, "on_quota"))
    assert [spec.required for spec in load(text_of(document)).plan().sinks] == [True, False, False, False, False]


def test_a_key_that_would_do_nothing_is_refused() -> None:
    (problem,) = find_problems(text_of(with_value(FULL, ("spec", "sinks", 0, "required"), True)))
    assert "its `on_quota` would do nothing" in problem.what


def test_keeping_more_than_capture_has_room_for_is_told() -> None:
    (problem,) = find_problems(text_of(with_value(FULL, ("spec", "keep", "size"), "600MiB")))
    assert "capture waits once it holds" in problem.what


def test_cursors_are_not_to_be_written_so_seldom_that_they_raise_an_alarm() -> None:
    (problem,) = find_problems(text_of(with_value(FULL, ("spec", "checkpoint", "cadence"), "1500ms")))
    assert "every 1.5 s would look as if they were stuck" in problem.what
    assert timedelta(seconds=CADENCE) == load(text_of(LONGEST)).plan().checkpoint.cadence, "the alarm reckons with it"


@pytest.mark.parametrize("path", NOT_BUILT, ids=".".join)
def test_what_is_told_not_to_be_built_is_not_known(path: Path) -> None:
    (problem,) = find_problems(text_of(with_value(FULL, path, "s3")))
    assert f"knows no `{path[-1]}`" in problem.what


def test_the_types_that_are_told_not_to_be_built_are_not_there() -> None:
    spec = dict(blocks())["spec"]["properties"]
    assert not kinds(spec["source"]).keys() & set(NO_SOURCES)
    assert not kinds(spec["sinks"]["items"]).keys() & set(NO_SINKS)


LONGEST = with_value(FULL, ("spec", "checkpoint", "cadence"), "1s")


@pytest.mark.parametrize("number", [6, 7])
def test_the_function_of_a_guarded_step_is_imported_when_planned(number: int) -> None:
    kind = ("rows", "batches")[number - 6]
    document = with_value(FULL, ("spec", "process", number, kind, "function"), "tests.support.documents:unchange")
    (problem,) = find_problems(text_of(document))
    assert "Did you mean `unchanged`?" in problem.remedy


def test_functions_over_rows_and_batches_are_guarded() -> None:
    steps = load(text_of(FULL)).plan().steps[6:]
    assert [step.describe().split()[0] for step in steps if isinstance(step, Guarded)] == ["rows", "batches"]


def test_what_runs_is_what_the_document_planned() -> None:
    plan = load(text_of(FULL)).plan()
    assert state(Pipeline.of(plan).plan()) == state(plan)


@pytest.mark.parametrize(
    ("function", "says"),
    [
        ("tests.nowhere:add", "There is no module `tests.nowhere`"),
        ("tests.support.documents:unchange", "has no function `unchange`. Did you mean `unchanged`?"),
        ("tests.support.documents:FULL", "has no function `FULL`"),
        ("broken_module:add", "cannot be imported (ZeroDivisionError: division by zero)"),
        ("leaving_module:add", "cannot be imported (SystemExit: 3)"),
    ],
)
def test_a_function_that_cannot_be_had_is_told(
    function: str, says: str, tmp_path: FilePath, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_module.py").write_text("1 / 0\n")
    (tmp_path / "leaving_module.py").write_text("raise SystemExit(3)\n")
    monkeypatch.syspath_prepend(tmp_path)
    document = with_value(FULL, ("spec", "process", 1, "python"), function)
    (problem,) = find_problems(text_of(document))
    assert says in str(problem)
    assert text_of(document).splitlines()[problem.place.line - 1] == f"  - python: {function}"


def test_a_client_that_is_not_installed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    (problem,) = find_problems(text_of(FULL))
    assert "pip install holdfast[postgres]" in problem.remedy
    assert text_of(FULL).splitlines()[problem.place.line - 1] == "  - type: postgres"


def test_reading_and_planning_touch_nothing(tmp_path: FilePath, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    load(text_of(FULL)).plan()
    assert list(tmp_path.iterdir()) == []


def is_name(text: str) -> bool:
    try:
        TypeAdapter(Name).validate_python(text)
    except ValidationError:
        return False
    return True


@given(st.one_of(st.text(max_size=4), st.from_regex(r"[a-zA-Z0-9_\-\n]{0,70}", fullmatch=True)))
def test_a_name_is_a_name_where_the_plan_says_so(text: str) -> None:
    try:
        Plan(text, FilePath("x"), sources=[Generator()], sinks=[SinkSpec("files", Files("x"))])
    except InvalidPipeline:
        assert not is_name(text)
    else:
        assert is_name(text)


def test_the_document_of_the_example_is_its_pipeline() -> None:
    from examples.orders import pipeline

    declared = load(ROOT / "examples" / "orders.yaml").plan()
    written = pipeline(ROOT / "examples" / "../data/orders", 300_000).plan()
    assert fingerprint(declared.steps) == fingerprint(written.steps)
    assert state(replace(declared, steps=(), step_texts=())) == state(replace(written, steps=(), step_texts=()))


TEXTS: list[tuple[Path, object, str, str]] = [
    (("spec", "source", "transactions", 0), "x", "a whole number from 1 on, not the text `x`.", "instance `- 1`."),
    (("spec", "sinks", 1, "table"), "", "must be text, not an empty text.", "What belongs there: The table"),
    (("spec", "sinks", 1, "start"), "erliest", "or a whole number from 0 on, not", "Did you mean `earliest`?"),
    (("spec", "spark", "conf"), {"n": 2}, "`n` cannot be a key of `spec.spark.conf`.", r"fits `^spark\.\S+$`."),
    (("spec", "batch", "respect_source_tx"), "no", "must be `true` or `false`, not the text `no`", "_tx: true`."),
    (("spec", "restarts", "within"), 10, "must be a duration, such as `30s`, not `10`.", "instance `within: 10m`."),
    (("spec", "sinks", 0, "upsert"), {}, "`spec.sinks[0]` knows no `upsert`.", "key of `spec.sinks[] (postgres)`"),
    (("spec", "sinks", 0, "<<"), {}, "`spec.sinks[0]` knows no `<<`.", "Its keys are "),
    (("spec", "output_mode"), "x" * 99, f"not the text `{'x' * 40}…`.", "Write for instance `output_mode: append`."),
]


@pytest.mark.parametrize(("path", "value", "what", "remedy"), TEXTS)
def test_a_problem_says_what_is_wrong_and_what_to_write(path: Path, value: object, what: str, remedy: str) -> None:
    (problem,) = find_problems(text_of(with_value(FULL, path, value)))
    assert what in problem.what
    assert remedy in problem.remedy


PARSING = [
    ({"format": "json"}, "The format `json` needs `fields`."),
    ({"format": "logfmt"}, "The format `logfmt` needs `fields`."),
    ({"format": "text", "fields": "n BIGINT"}, "The format `text` has no `fields`."),
    ({"format": "regex"}, "The format `regex` needs `pattern`."),
    ({"format": "json", "fields": "n BIGINT", "pattern": "(?<n>.*)"}, "The format `json` has no `pattern`."),
    ({"format": "regex", "pattern": "("}, "is no regular expression"),
    ({"format": "regex", "pattern": ".*"}, "names no group"),
]


@pytest.mark.parametrize(("block", "what"), PARSING)
def test_a_way_to_parse_that_means_nothing_is_told(block: object, what: str) -> None:
    (problem,) = find_problems(text_of(with_value(FULL, ("spec", "process", 5, "parse"), block)))
    assert what in problem.what


def test_no_standard_input_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)
    (problem,) = find_problems(text_of(with_value(FULL, ("spec", "source"), STDIN)))
    assert problem.what == "Source 'pipe' reads standard input, and standard input is closed."


def test_what_a_source_refuses_is_told_with_its_place() -> None:
    document = with_value(several_sources(), ("spec", "sources", 1, "fingerprint"), "1MiB")
    (problem,) = find_problems(text_of(document))
    assert "1 to 65536 are possible" in problem.what
    assert text_of(document).splitlines()[problem.place.line - 1] == "  - type: files"

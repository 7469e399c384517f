"""A document on a scratch directory: it reads what the pipeline reads, and writes nowhere else."""

from __future__ import annotations

from pathlib import Path as FilePath

import pytest
from tests.support.documents import FULL, HTTP_PUSH, LOG_FILES, STDIN, state, text_of, with_value

from holdfast.config import load
from holdfast.config.scratch import Sinks, scratched
from holdfast.model.errors import InvalidDocument

SCRATCH = FilePath("/scratch")


def test_sinks_are_made_anew_or_keep_nothing() -> None:
    scratch = scratched(load(text_of(FULL)), SCRATCH)
    assert scratch.sinks == {
        "archive": "scratch files",
        "local": "scratch sqlite",
        "remote": "nothing",
        "web": "nothing",
        "screen": "nothing",
    }
    assert [spec.sink.kind for spec in scratch.plan.sinks] == ["files", "sqlite", "nothing", "nothing", "nothing"]
    assert scratch.plan.directory == SCRATCH / "pipeline"
    places = str([state(spec.sink) for spec in scratch.plan.sinks])
    assert "/scratch/archive" in places
    assert "/scratch/local.db" in places
    assert "orders.db" not in places
    assert "'out'" not in places


def test_everything_else_is_as_the_document_says() -> None:
    document = load(text_of(FULL))
    plan, scratch = document.plan(), scratched(document, SCRATCH).plan
    for kept in ("steps", "policy", "batch", "dead_letters", "restarts", "isolation", "spark", "output_mode"):
        assert state(getattr(scratch, kept)) == state(getattr(plan, kept)), kept
    assert [spec.name for spec in scratch.sinks] == [spec.name for spec in plan.sinks]
    assert [spec.only for spec in scratch.sinks] == [spec.only for spec in plan.sinks]


def test_it_is_a_pipeline_of_another_name_so_that_real_sinks_keep_them_apart() -> None:
    scratch = scratched(load(text_of(FULL)), SCRATCH, sinks=Sinks.REAL)
    assert scratch.plan.name == "bench-orders"
    assert [spec.sink.kind for spec in scratch.plan.sinks] == ["files", "sqlite", "postgres", "http", "console"]
    assert scratch.plan.directory == SCRATCH / "pipeline", "also then it is not the pipeline's own"


@pytest.mark.parametrize(("rate", "pace"), [(None, "None"), (7.0, "Pace")])
def test_made_up_events_come_at_the_rate_that_is_asked_for(rate: float | None, pace: str) -> None:
    (source,) = scratched(load(text_of(FULL)), SCRATCH, rate=rate).plan.sources
    assert pace in str(dict(state(source)[1])["_pace"])  # type: ignore[index]


@pytest.mark.parametrize("source", [STDIN, HTTP_PUSH])
def test_a_source_that_cannot_be_read_twice_is_refused_with_its_place(source: dict[str, object]) -> None:
    text = text_of(with_value(FULL, ("spec", "source"), source))
    with pytest.raises(InvalidDocument, match="nothing to measure with") as refused:
        scratched(load(text), SCRATCH)
    (problem,) = refused.value.context["problems"]  # type: ignore[misc]
    assert "source" in text.splitlines()[problem.place.line - 2]


def test_log_files_are_read_as_they_are() -> None:
    (source,) = scratched(load(text_of(with_value(FULL, ("spec", "source"), LOG_FILES))), SCRATCH).plan.sources
    assert source.kind == "files"

"""What the ledger did in real runs is what the specification allows, and a trace that was tampered with is refused."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from datetime import timedelta
from itertools import count
from typing import TYPE_CHECKING

import pytest
from tests.support.crash.orders import prepare
from tests.support.engine_pipelines import Piecemeal, Watched, finish, impatient, started, wait_until
from tests.support.traces import ANSWERS, Line, Refused, judge, read, traced

from holdfast import BatchLimits, Files, Pipeline, Sqlite
from holdfast.model.errors import CommitUnknown, Transient

if TYPE_CHECKING:
    from holdfast.deliver import SinkBatch

EVENTS, BATCH = 1200, 40


class Unsteady:
    """Fails every fourth time it is asked, and every seventh time after the work is done."""

    def __init__(self) -> None:
        self._before, self._after = count(1), count(1)

    def before(self, _: SinkBatch) -> None:
        if next(self._before) % 4 == 0:
            raise Transient("The disk was busy.", remedy="Try again.")

    def after(self, _: SinkBatch) -> None:
        if next(self._after) % 7 == 0:
            raise CommitUnknown("The answer was lost.", remedy="Look.")


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> list[Line]:
    """Two lives of a pipeline with three batches under way, failures, lost answers and refused rows."""
    directory = tmp_path_factory.mktemp("traced")
    prepare(directory)
    unsteady = Unsteady()
    whole = (
        Pipeline("orders", directory=directory / "pipeline")
        .read(Piecemeal("orders", events=EVENTS, transactions=(3, 7), chunk=20))
        .write(
            impatient(
                "archive",
                Watched(Files(directory / "files"), before=unsteady.before, after=unsteady.after),
                max_inflight=3,
            ),
            impatient("table", Sqlite(directory / "sink.db", table="orders")),
        )
        .batch(BatchLimits(max_events=BATCH, max_wait=timedelta(0)))
    )
    with traced(directory / "trace.jsonl"):
        with started(whole):
            wait_until(lambda: whole.status().delivery.lanes["table"].cursor >= 5, "a few batches are there")
            whole.stop()
        with started(whole):
            finish(whole)
    return read(directory / "trace.jsonl")


@pytest.mark.req("M25")
def test_the_trace_of_a_real_run_is_accepted(trace: list[Line]) -> None:
    judge(trace)
    seen = {line["what"] for line in trace}
    assert {"__init__", "create", "begin", "acked", "failed", "rejecting", "dead_lettered", "persisted"} <= seen
    assert sum(line["what"] == "__init__" for line in trace) == 2
    assert trace[-1]["delivered"] == {"archive": trace[-1]["committed"], "table": trace[-1]["committed"]}


def last(trace: list[Line], *what: str) -> Line:
    """The last such line before the cursors were stored for the last time."""
    return [line for line in trace if line["what"] in what][-1]


def without(*what: str) -> Callable[[list[Line]], None]:
    return lambda trace: trace.remove(last(trace, *what))


def twice(*what: str) -> Callable[[list[Line]], None]:
    def tamper(trace: list[Line]) -> None:
        place = trace.index(last(trace, *what))
        trace.insert(place, deepcopy(trace[place]))

    return tamper


def raised(key: str, by: int, *what: str) -> Callable[[list[Line]], None]:
    def tamper(trace: list[Line]) -> None:
        last(trace, *what)[key] += by

    return tamper


def moved(lane: str, by: int, *what: str) -> Callable[[list[Line]], None]:
    def tamper(trace: list[Line]) -> None:
        last(trace, *what)["delivered"][lane] += by

    return tamper


def stored_before_the_answer(trace: list[Line]) -> None:
    stored = last(trace, "persisted")
    trace.insert(trace.index(last(trace, "acked", "dead_lettered")), deepcopy(stored))


def never_made(trace: list[Line]) -> None:
    trace.remove(next(line for line in trace if line["what"] == "create"))


def forgotten_at_the_start(trace: list[Line]) -> None:
    last(trace, "__init__")["delivered"]["table"] = 0


def cursors_of_the_first_store_again(trace: list[Line]) -> None:
    trace.append(next(line for line in trace if line["what"] == "persisted"))


TAMPERED: dict[str, tuple[Callable[[list[Line]], None], str]] = {
    "an answer is missing": (without("acked"), "passes a hole|passes a required|nobody waits|is sent"),
    "dead letters are missing": (without("dead_lettered"), "passes a hole|passes a required|is sent"),
    "a batch is sent without being made": (never_made, "not there|does not follow"),
    "an attempt is missing": (without("begin"), "another attempt|nobody waits|before"),
    "an answer comes twice": (twice("acked"), "nobody waits"),
    "a batch is made twice": (twice("create"), "does not follow"),
    "an attempt comes twice": (twice("begin"), "under way"),
    "an answer to another attempt": (raised("attempt", 1, *ANSWERS), "another attempt"),
    "an answer about another batch": (raised("oseq", 1, "acked"), "another attempt|nobody waits"),
    "a cursor too far": (moved("table", 1, "persisted"), "passes a hole"),
    "a cursor too far at the start": (moved("table", 99, "__init__"), "never sent"),
    "a cursor that falls at the start": (forgotten_at_the_start, "falls over a restart"),
    "a commit too far": (raised("committed", 1, "persisted"), "passes a required"),
    "cursors before the answer": (stored_before_the_answer, "passes a hole|passes a required"),
    "older cursors at the end": (cursors_of_the_first_store_again, "falls"),
}


@pytest.mark.req("M25")
@pytest.mark.parametrize("how", TAMPERED)
def test_a_trace_that_was_tampered_with_is_refused(trace: list[Line], how: str) -> None:
    tamper, complaint = TAMPERED[how]
    tampered = deepcopy(trace)
    tamper(tampered)
    with pytest.raises(Refused, match=complaint):
        judge(tampered)


@pytest.mark.req("M25")
def test_no_answer_that_counts_can_be_left_out(trace: list[Line]) -> None:
    """In the life that was drained; in the one before, an answer may not have been stored yet."""
    opened = trace.index(last(trace, "__init__"))
    for place, line in enumerate(trace):
        if place > opened and line["what"] in ("acked", "dead_lettered"):
            with pytest.raises(Refused):
                judge([*trace[:place], *trace[place + 1 :]])

"""A pipeline's states follow each other only as drawn, and an end stays."""

from __future__ import annotations

import pytest

from holdfast.model.errors import (
    BatchDiverged,
    Fenced,
    LifecycleRefused,
    LogFenced,
    NotDeterministic,
    PipelineDiverged,
    SinkFenced,
)
from holdfast.runtime.lifecycle import Life, State, state_after

DRAWN = {
    State.CREATED: {State.RUNNING, State.PAUSED, State.STOPPED, State.FAILED, State.DIVERGED, State.FENCED},
    State.RUNNING: {State.PAUSED, State.DRAINING, State.STOPPED, State.FAILED, State.DIVERGED, State.FENCED},
    State.PAUSED: {State.RUNNING, State.DRAINING, State.STOPPED, State.FAILED, State.DIVERGED, State.FENCED},
    State.DRAINING: {State.STOPPED, State.FAILED, State.DIVERGED, State.FENCED},
    State.STOPPED: set(),
    State.FAILED: set(),
    State.DIVERGED: set(),
    State.FENCED: set(),
}


@pytest.mark.req("M10")
@pytest.mark.parametrize("before", State)
@pytest.mark.parametrize("after", State)
def test_only_what_is_drawn_may_follow(before: State, after: State) -> None:
    life = Life(before)
    if after in DRAWN[before]:
        assert life.to(after).state is after
    else:
        with pytest.raises(LifecycleRefused):
            life.to(after)


@pytest.mark.req("M10", "M17")
@pytest.mark.parametrize("over", [State.STOPPED, State.FAILED, State.DIVERGED, State.FENCED])
def test_an_end_stays_whatever_fails_afterwards(over: State) -> None:
    first = Life(over, ValueError("first"))
    assert first.ended_by(ValueError("second")) is first


def error(kind: type[Exception]) -> Exception:
    return kind("It happened.", remedy="Do this.")  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("cause", "end"),
    [
        (error(Fenced), State.FENCED),
        (error(LogFenced), State.FENCED),
        (error(SinkFenced), State.FENCED),
        (error(PipelineDiverged), State.DIVERGED),
        (error(BatchDiverged), State.DIVERGED),
        (error(NotDeterministic), State.DIVERGED),
        (ValueError("anything else"), State.FAILED),
    ],
)
def test_which_end_an_error_means(cause: Exception, end: State) -> None:
    assert state_after(cause) is end
    assert Life(State.RUNNING).ended_by(cause) == Life(end, cause)

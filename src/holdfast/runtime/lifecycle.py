"""The states of a pipeline and what may follow what. Pure.

created ─▶ running ◀─▶ paused                     (created ─▶ paused when it was paused before)
              │           │
              ├───────────┴─▶ draining ─▶ stopped
              └─▶ failed · diverged · fenced        (from anywhere but stopped; they stay until the next start)
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from holdfast.model.errors import (
    BatchDiverged,
    Fenced,
    LifecycleRefused,
    LogFenced,
    NotDeterministic,
    PipelineDiverged,
    PipelineFenced,
    SinkFenced,
)

if TYPE_CHECKING:
    from collections.abc import Mapping


class State(Enum):
    """What a pipeline is doing."""

    CREATED = "created"
    RUNNING = "running"
    PAUSED = "paused"
    """Nothing new is admitted to Spark; capture goes on until the inbox is full, and lanes finish what they have."""
    DRAINING = "draining"
    STOPPED = "stopped"
    FAILED = "failed"
    """Something failed that trying again cannot mend; it stays so until somebody starts the pipeline again."""
    DIVERGED = "diverged"
    """Spark's checkpoint and the logs do not belong together."""
    FENCED = "fenced"
    """Another process owns the pipeline now."""

    @property
    def is_over(self) -> bool:
        """Whether nothing will happen any more in this process."""
        return self in _OVER


_OVER = frozenset({State.STOPPED, State.FAILED, State.DIVERGED, State.FENCED})
_ENDS = frozenset({State.FAILED, State.DIVERGED, State.FENCED})
_FOLLOWS: Mapping[State, frozenset[State]] = {
    State.CREATED: frozenset({State.RUNNING, State.PAUSED, State.STOPPED}) | _ENDS,
    State.RUNNING: frozenset({State.PAUSED, State.DRAINING, State.STOPPED}) | _ENDS,
    State.PAUSED: frozenset({State.RUNNING, State.DRAINING, State.STOPPED}) | _ENDS,
    State.DRAINING: frozenset({State.STOPPED}) | _ENDS,
}


@dataclass(frozen=True, slots=True)
class Life:
    """A pipeline's state, and the error that brought it there, if one did."""

    state: State = State.CREATED
    error: BaseException | None = None

    def to(self, state: State, error: BaseException | None = None) -> Life:
        """The life after a transition; `LifecycleRefused` when it may not follow."""
        if state not in _FOLLOWS.get(self.state, frozenset()):
            raise LifecycleRefused(
                f"The pipeline is {self.state.value}, so it cannot become {state.value}.",
                remedy="Start the pipeline anew first." if self.state.is_over else "Wait until it is running.",
                state=self.state.value,
            )
        return Life(state, error)

    def ended_by(self, error: BaseException) -> Life:
        """The life after an error that ends the run. The first such error stands."""
        return self if self.state.is_over else Life(state_after(error), error)


def state_after(error: BaseException) -> State:
    """Which end an error means."""
    if isinstance(error, Fenced | LogFenced | SinkFenced | PipelineFenced):
        return State.FENCED
    if isinstance(error, PipelineDiverged | BatchDiverged | NotDeterministic):
        return State.DIVERGED
    return State.FAILED

"""How something that runs came to its end, and whether it is started again. Pure: times are passed in.

An error that is known is forgiven as the restart policy says. A crash is a defect: starting again would hide it, so it
is never forgiven here; whoever watches the process starts that anew, from its checkpoint.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from typing import TypeAlias


class Exit(Enum):
    """How a run, or a part of one, came to its end."""

    OK = "ok"
    ERRORED = "errored"
    """It raised an error that it knows."""
    CRASHED = "crashed"
    """It raised something that nobody foresaw."""
    ABORTED = "aborted"
    """It was ended from outside: stopped, killed, or the machine went down."""


@dataclass(frozen=True, slots=True)
class Budget:
    """How many failures are forgiven within a stretch of time."""

    failures: int = 20
    within: timedelta = timedelta(minutes=10)

    def is_exceeded_by(self, failures: int) -> bool:
        """Whether so many failures within the stretch are too many."""
        return failures > self.failures


@dataclass(frozen=True, slots=True)
class Always:
    """Every error is forgiven."""


@dataclass(frozen=True, slots=True)
class Never:
    """No error is forgiven."""


RestartPolicy: TypeAlias = Always | Never | Budget

FOR_STATELESS = Budget(5, timedelta(seconds=60))
FOR_STATEFUL = Budget(3, timedelta(seconds=60))
FOR_SINKS = Never()
"""What operators are forgiven when nobody says otherwise."""


class Decision(Enum):
    """What is done about an exit."""

    LEAVE = "it has ended"
    RESTART = "it is started again"
    EXHAUSTED = "it failed too often: it is lost"
    ESCALATE = "it crashed: it is lost"


def recent(failures: Sequence[float], policy: RestartPolicy, now: float) -> tuple[float, ...]:
    """The failures that still count, of those at these times in seconds."""
    if not isinstance(policy, Budget):
        return ()
    return tuple(at for at in failures if now - at <= policy.within.total_seconds())


def decide(exit_: Exit, policy: RestartPolicy, failures: Sequence[float]) -> Decision:
    """What is done about an exit.

    :param failures: those that still count, this one included when it is one.
    """
    match exit_, policy:
        case Exit.OK | Exit.ABORTED, _:
            return Decision.LEAVE
        case Exit.CRASHED, _:
            return Decision.ESCALATE
        case _, Always():
            return Decision.RESTART
        case _, Budget() as budget if not budget.is_exceeded_by(len(failures)):
            return Decision.RESTART
        case _:
            return Decision.EXHAUSTED

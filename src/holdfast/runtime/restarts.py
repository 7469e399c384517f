"""How often a query may fail before its pipeline ends, how long to wait in between, and the history of runs. Pure.

Every process that starts a pipeline begins with the whole budget, so failures are counted in memory. The history is
kept in the checkpoint store, for people: every run writes that it began and how it ended. A run without an end was
ended from outside, which is no failure of the pipeline.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from holdfast.flow.exits import Budget, Exit, recent
from holdfast.model.errors import RestartsExhausted, UnknownFormat


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a pipeline."""

    began: datetime
    exit: Exit | None = None
    """None while it runs, and for good when it was ended from outside."""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class History:
    """The runs of a pipeline, oldest first; only the last hundred are kept."""

    runs: tuple[Run, ...] = field(default=())

    def begun(self, now: datetime) -> History:
        """The history once another run begins: one before it that never ended was aborted."""
        past = tuple(run if run.exit else replace(run, exit=Exit.ABORTED) for run in self.runs)
        return History((*past, Run(now))[-100:])

    def ended(self, exit_: Exit, reason: str = "") -> History:
        """The history once the run has ended. One whose end is known keeps it."""
        if self.runs and self.runs[-1].exit is not None:
            return self
        return History((*self.runs[:-1], replace(self.runs[-1], exit=exit_, reason=reason)))

    def last_end(self) -> str | None:
        """How the last run ended, for whoever starts the next one; None when it ended well or there was none."""
        last = self.runs[-1] if self.runs else None
        if last is None or last.exit is Exit.OK:
            return None
        if last.exit in _FAILURES:
            return f"failed: {last.reason or 'no reason is on record'}"
        return "was ended from outside, as by a kill or a reboot"


_FAILURES = (Exit.ERRORED, Exit.CRASHED)
"""What a pipeline does by itself; to be killed is no failure of it."""


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _told(stretch: timedelta) -> str:
    minutes, seconds = divmod(round(stretch.total_seconds()), 60)
    return " ".join([*([f"{minutes} min"] if minutes else []), *([f"{seconds} s"] if seconds or not minutes else [])])


_FIRST_PAUSE = 0.1


def pause_before(restarts: int, *, longest: float) -> float:
    """Seconds to wait before something is started again that failed so often in a row, this time included."""
    return min(longest, _FIRST_PAUSE * 2.0 ** min(restarts - 1, 30))


@dataclass(frozen=True, slots=True)
class Failures:
    """The failures of a query that still count against its restart budget."""

    budget: Budget
    times: tuple[float, ...] = ()
    """When each happened, in seconds of one clock, oldest first."""

    def after(self, now: float) -> Failures:
        """The failures once one more happened."""
        return replace(self, times=recent((*self.times, now), self.budget, now))

    def check(self, last_reason: str) -> None:
        """`RestartsExhausted` when they are more than the budget allows."""
        if self.budget.is_exceeded_by(len(self.times)):
            raise RestartsExhausted(
                f"The query failed {_times(len(self.times))} within {_told(self.budget.within)}, which is more often "
                f"than `restarts` allows. The last failure: {last_reason}",
                kept="Everything captured is in the inbox, and every sink stands where its cursor says.",
                remedy="Mend the cause and start the pipeline again; every start has the whole budget.",
            )


class HistoryCodec:
    """A history as versioned JSON."""

    def encode(self, value: History) -> bytes:
        """The bytes that are stored."""
        runs = [[run.began.isoformat(), run.exit and run.exit.value, run.reason] for run in value.runs]
        return json.dumps({"format": 1, "runs": runs}).encode()

    def decode(self, payload: bytes) -> History:
        """The history again."""
        document = json.loads(payload)
        if document.get("format") != 1:
            raise UnknownFormat(
                f"The history of runs is of format {document.get('format')!r}, and this version reads format 1.",
                remedy="Upgrade Holdfast.",
            )
        return History(
            tuple(
                Run(datetime.fromisoformat(began), Exit(exit_) if exit_ else None, reason)
                for began, exit_, reason in document["runs"]
            )
        )

"""How often a query may fail before its pipeline is left alone. Pure; the history is kept in the checkpoint store.

Every run writes that it began and how it ended. A run without an end was ended from outside: it is on record, and is no
failure of the pipeline.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from holdfast.flow.exits import Budget, Exit
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

    def check(self, budget: Budget, now: datetime, *, since: datetime) -> None:
        """`RestartsExhausted` when the pipeline failed too often since it was started.

        Every start begins with a whole budget: whoever starts a pipeline may have mended it. A run that was ended from
        outside counts for nothing.
        """
        lately = [run for run in self._failures(budget, now) if run.began >= since]
        if budget.is_exceeded_by(len(lately)):
            raise RestartsExhausted(
                f"The query failed {len(lately)} times within {_told(budget.within)}, the last time with: "
                f"{lately[-1].reason or lately[-1].exit}",
                kept="Everything captured is in the inbox, and every sink stands where its cursor says.",
                remedy="Mend the cause and start the pipeline again; that gives it a new budget.",
            )

    def failed_lately(self, budget: Budget, now: datetime) -> str | None:
        """What somebody who starts the pipeline is told of earlier failures; None when there were none."""
        lately = self._failures(budget, now)
        if not lately:
            return None
        times = "once" if len(lately) == 1 else f"{len(lately)} times"
        return f"it failed {times} within the last {_told(budget.within)}, the last time with: {lately[-1].reason}"

    def _failures(self, budget: Budget, now: datetime) -> list[Run]:
        return [run for run in self.runs if run.exit in _FAILURES and now - run.began <= budget.within]


_FAILURES = (Exit.ERRORED, Exit.CRASHED)
"""What a pipeline does by itself; to be killed is no failure of it."""


def _told(stretch: timedelta) -> str:
    minutes, seconds = divmod(round(stretch.total_seconds()), 60)
    return " ".join([*([f"{minutes} min"] if minutes else []), *([f"{seconds} s"] if seconds or not minutes else [])])


_FIRST_PAUSE = 0.1


def pause_before(restarts: int, *, longest: float) -> float:
    """Seconds to wait before something is started again that failed so often in a row, this time included."""
    return min(longest, _FIRST_PAUSE * 2.0 ** min(restarts - 1, 30))


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

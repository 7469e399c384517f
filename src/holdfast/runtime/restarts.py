"""How often a pipeline may crash before it is left alone. Pure; the history is kept in the checkpoint store.

Every run writes that it began and how it ended. A run without an end was ended from outside, so a crash loop uses the
budget up also when each crash takes the whole process with it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from datetime import datetime

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

    def failed(self, now: datetime, exit_: Exit, reason: str) -> History:
        """The history once something within the run failed and is to be started again."""
        return History((*self.runs[:-1], replace(self.runs[-1], exit=exit_, reason=reason), Run(now))[-100:])

    def ended(self, exit_: Exit, reason: str = "") -> History:
        """The history once the run has ended."""
        return History((*self.runs[:-1], replace(self.runs[-1], exit=exit_, reason=reason)))

    def check(self, budget: Budget, now: datetime) -> None:
        """`RestartsExhausted` when too many runs failed lately."""
        lately = [run for run in self.runs if run.exit not in (None, Exit.OK) and now - run.began <= budget.within]
        if budget.is_exceeded_by(len(lately)):
            last = lately[-1]
            raise RestartsExhausted(
                f"{len(lately)} runs failed within {budget.within}, the last one {last.exit and last.exit.value}"
                f"{f': {last.reason}' if last.reason else ''}.",
                kept="Everything captured is in the inbox, and every sink stands where its cursor says.",
                remedy="Find the cause, then start with a larger budget, or wait until the failures are old.",
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

"""Runs a pipeline for a while, to see how fast it is. What it says is in `figures`; this only looks on."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from holdfast.capture.runner import CaptureState
from holdfast.control.figures import BatchSeen, Figures, figures
from holdfast.model.clock import utc_now
from holdfast.model.errors import InvalidRequest
from holdfast.runtime.pipeline import Pipeline

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from holdfast.log import Published
    from holdfast.runtime.engine import Engine
    from holdfast.runtime.plan import Plan
    from holdfast.runtime.processor import Processor

_LOOK = 0.02


@dataclass(frozen=True, slots=True)
class Measured:
    """What was seen of a run."""

    starting: float
    """Seconds from the start to the first batch, which is not measured."""
    figures: Figures
    waiting: Mapping[str, float]
    """The share of the time in which each source waited for room: 1 when all behind it is slower."""
    dead: int
    """Rows that were given up."""


def measure(
    plan: Plan,
    *,
    seconds: float,
    processor: Callable[[], Processor] | None = None,
    told: Callable[[str], None] = lambda _: None,
) -> Measured:
    """Run a pipeline for so long behind its first batch, or until everything there is has been delivered.

    :param told: given a line about what is done.
    """
    whole = Pipeline.of(plan)
    started = utc_now()
    whole.start(processor=processor)
    try:
        looking = _Looking(whole.engine)
        told("starting")
        looking.until(lambda: bool(looking.published))
        told(f"measuring for {seconds:g} s")
        deadline = time.monotonic() + seconds
        looking.until(lambda: time.monotonic() >= deadline)
        ended = looking.last_commit() if whole.engine.is_caught_up() else utc_now()
        dead = whole.engine.ground.dead_letters.status().kept
    finally:
        whole.stop()
    whole.drain(within=0)  # it is over: raises what ended it, if something did
    seen = looking.batches()
    if not seen:
        raise InvalidRequest("No source gave an event.", remedy="Measure a pipeline that has something to read.")
    first, *others = seen
    found = figures(others, first.published, ended) if others else figures(seen, first.first, ended)
    return Measured((first.published - started).total_seconds(), found, looking.waiting(), dead)


class _Looking:
    """Looks at a run again and again: when batches were captured, published and committed, and whether sources wait."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.published: dict[int, tuple[Published, datetime, datetime]] = {}
        """By their number in the outbox, with when their oldest and their newest event was captured."""
        self._committed: dict[int, dict[str, datetime]] = defaultdict(dict)
        self._cursors: dict[str, int] = defaultdict(int)
        self._looks = 0
        self._blocked: dict[str, int] = defaultdict(int)

    def until(self, holds: Callable[[], bool]) -> None:
        """Look until something holds, or nothing more comes."""
        while not holds() and not self._engine.state.is_over:
            is_the_end = self._engine.is_caught_up()
            self._look()
            if is_the_end:
                return
            time.sleep(_LOOK)

    def batches(self) -> list[BatchSeen]:
        """What was seen of each batch, in order."""
        return [
            BatchSeen(
                events=sum(end - batch.starts.get(inbox, 0) for inbox, end in batch.ends.items()),
                rows=batch.rows,
                nbytes=batch.nbytes,
                first=first,
                last=last,
                published=batch.published_at,
                committed=self._committed[oseq],
            )
            for oseq, (batch, first, last) in sorted(self.published.items())
        ]

    def last_commit(self) -> datetime:
        """When a sink was last seen to have a batch more."""
        return max((at for lanes in self._committed.values() for at in lanes.values()), default=utc_now())

    def waiting(self) -> dict[str, float]:
        """The share of looks in which each source waited for room."""
        return {name: count / self._looks for name, count in self._blocked.items()}

    def _look(self) -> None:
        self._looks += 1
        for capture in self._engine.captures:
            status = capture.status()
            self._blocked[status.source] += status.state is CaptureState.BLOCKED
        for batch in self._engine.ground.outbox.remembered():
            if batch.oseq not in self.published:
                self.published[batch.oseq] = (batch, *self._captured(batch))
        now = utc_now()
        for name, lane in self._engine.delivery.status().lanes.items():
            for oseq in range(self._cursors[name] + 1, lane.cursor + 1):
                self._committed[oseq][name] = now
            self._cursors[name] = lane.cursor

    def _captured(self, batch: Published) -> tuple[datetime, datetime]:
        """When the oldest and the newest event of a batch were appended, as far as the inboxes can say."""
        readers = self._engine.ground.readers
        moved = [uuid for uuid in batch.ends.keys() & readers if batch.ends[uuid] > batch.starts.get(uuid, 0)]
        found = [
            readers[uuid].appended_at(seq)
            for uuid in moved
            for seq in (batch.starts.get(uuid, 0) + 1, batch.ends[uuid])
        ]
        times = [time for time in found if time is not None] or [batch.published_at]
        return min(times), max(times)

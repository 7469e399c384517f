"""The way from the log of an edge to the correlator: while fusion is behind, it leaves out what says little.

The log has every observation, whatever is left out here. What waits is what is in the log and not done by fusion. When
that is more than the high-water mark, observations of low priority are passed over until it is not; what is of high
priority, heartbeats, and whatever is not of a radar always go on, and if need be wait in the log.

How many were left out is part of the position, which the inbox keeps together with those that were not: so the count is
exact whenever this is killed.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa

from holdfast.capture.contract import Captured
from holdfast.flow import BurstProfile, Dropped, EdgePlan, EdgeSpec, EdgeStats, Metric, Priority, Shed
from holdfast.flow.building import describe
from holdfast.flow.health import GraphHealth, metrics_of
from holdfast.flow.telling import WHILE, tell
from holdfast.model.errors import UnknownFormat
from holdfast.model.positions import SiftedPosition
from meridian.sensors.columns import Row
from meridian.sensors.consumers import declare, last_word
from meridian.sensors.edge_log import EdgeLog
from meridian.sensors.events import columns_of
from meridian.sensors.priority import Classifier
from meridian.sensors.watched import Watched

if TYPE_CHECKING:
    import numpy.typing as npt

    from holdfast.model.positions import Position
    from meridian.sensors.recollection import Recollection

HIGH_WATER = 0.8
"""The share of the capacity above which nothing of low priority is let in."""
BURST = BurstProfile(peak_rate=50_000, peak_seconds=1.5, processing_rate=20_000)
"""Ten times the usual rate of a radar network, until it shows that it lasts. At the high-water mark, what waits is done
within four seconds."""
BRANCH = EdgePlan.for_burst(
    BURST, Shed("The log has every observation, and the sixth radar sample in half a minute says little to fusion.")
)


@dataclass(frozen=True, slots=True)
class Waiting:
    """What fusion has not done of a log, in events."""

    unread: int
    """That nobody has looked at yet."""
    let_in: int = 0
    """On their way through fusion."""

    @property
    def events(self) -> int:
        """All of them."""
        return self.unread + self.let_in

    @classmethod
    def between(cls, done: SiftedPosition, at: SiftedPosition, end: int) -> Waiting:
        """What waits when fusion has done one position, the branch stands at another, and the log has come so far."""
        return cls(end - at.seq, max(0, (at.seq - done.seq) - (at.left_out - done.left_out)))


def let_on(is_high: npt.NDArray[np.bool_], waiting: int, mark: int) -> npt.NDArray[np.bool_]:
    """Which of the events that are read next go on: all that are high, and the low ones but for the first too many.

    :param waiting: how many events wait, these included.
    :param mark: how many may wait before low ones are left out.
    """
    kept: npt.NDArray[np.bool_] = is_high | (np.cumsum(~is_high) > max(0, waiting - mark))
    return kept


def left_out_at(position: Position | None) -> int:
    """How many observations a branch had left out when its reader stood there: what the inbox of a source says."""
    return position.left_out if isinstance(position, SiftedPosition) else 0


class CorrelatorBranch(EdgeLog):
    """The log of an edge without what is left out.

    :param memory: keeps what was seen lately.
    :param plan: how many events may wait, and why some are left out then.
    """

    kind: ClassVar[str] = "correlator_branch"

    def __init__(
        self,
        directory: Path,
        log: str,
        *,
        consumer: str,
        memory: Recollection,
        plan: EdgePlan = BRANCH,
    ) -> None:
        super().__init__(directory, log, consumer=consumer)
        self.plan = plan
        self._mark = int(plan.capacity * HIGH_WATER)
        self._watched = Watched(directory)
        self._memory = memory
        self._classifier = Classifier(self._memory.recent)
        self._read_to: SiftedPosition | None = None
        self._captured: SiftedPosition | None = None
        self._done: SiftedPosition | None = None
        self._waiting = Waiting(0)
        self._most_waiting = 0
        self._let_in = 0
        self._shed_high = 0
        self._told_drops, self._told_at = 0, -inf

    def open(self, after: Position | None) -> None:
        """Go on behind the position, and remember what was seen up to it."""
        super().open(after.in_log if isinstance(after, SiftedPosition) else after)
        at = SiftedPosition(self._opened().uuid, self._at, left_out_at(after))
        done = last_word(self._edge, self._consumer)
        self._read_to = self._captured = at
        self._done = at if done is None else SiftedPosition(at.log, *done)
        self._told_drops = at.left_out
        tell("edge", **describe(EdgeSpec(self.name, self._consumer.log, self._consumer.name, self.plan)))
        self._remember()

    def read(self, wait: float) -> Captured | None:
        """The next events, without those that are left out; a read may have none at all."""
        found = super().read(wait)
        assert self._read_to is not None, "it is open"
        self._note_waiting(Waiting.between(self._done or self._read_to, self._read_to, self._opened().end()))
        if found is None:
            return None
        is_high = self._is_high(found.events)
        kept = let_on(is_high, self._waiting.events, self._mark)
        self._shed_high += int(np.count_nonzero(is_high & ~kept))
        events = found.events if kept.all() else found.events.filter(pa.array(kept))
        left_out = self._read_to.left_out + found.events.num_rows - events.num_rows
        self._read_to = SiftedPosition(self._read_to.log, self._at, left_out)
        self._let_in += events.num_rows
        return Captured(events, self._read_to)

    def latest(self) -> Position | None:
        """Where the log ends just now."""
        log = self._opened()
        return SiftedPosition(log.uuid, log.end())

    def captured(self, position: Position) -> None:
        """What was seen up to here need not be seen again."""
        assert isinstance(position, SiftedPosition), "a branch's own position"
        self._captured = position
        self._tell_drops(position.left_out)
        if position == self._read_to:
            self._memory.saw_through(position.seq)

    def acknowledge(self, position: Position) -> None:
        """Let the edge forget what is up to here, and note that fusion does not wait for it any more."""
        if isinstance(position, SiftedPosition):
            self._done = position
            declare(self._edge, self._consumer, position.seq, left_out=position.left_out)
        else:
            super().acknowledge(position)

    def close(self) -> None:
        """Give up the log and the memory."""
        if self._read_to is not None and self._read_to == self._captured:
            self._memory.save()
        self._read_to = None
        self._memory.close()
        super().close()

    def stats(self) -> EdgeStats:
        """The branch as an edge between log and correlator; what was left out is counted since the log began."""
        waiting, shed, policy = self._waiting, left_out_at(self._captured), Shed.name
        return EdgeStats(
            self.name,
            policy,
            capacity=self.plan.capacity,
            occupancy=waiting.events,
            high_water=self._most_waiting,
            accepted=self._let_in,
            handled=max(0, self._let_in - waiting.let_in),
            fullness=min(1.0, waiting.events / self.plan.capacity),
            drops=(
                Dropped(policy, Priority.HIGH, self._shed_high),
                Dropped(policy, Priority.LOW, shed - self._shed_high),
            ),
        )

    def metrics(self) -> tuple[Metric, ...]:
        """The figures of the branch."""
        source = {"source": self.name}
        decisions = [
            Metric("priority_classifier_decisions_total", count, {**source, "priority": priority.value})
            for priority, count in ((priority, self._classifier.decisions[priority]) for priority in Priority)
        ]
        return (
            *metrics_of(GraphHealth(self.name, ()), (self.stats(),)),
            *decisions,
            *(
                Metric("recovery_path_total", count, {"operator": f"recent objects of {self.name}", "path": path})
                for path, count in self._memory.recoveries.items()
            ),
            Metric("priority_classifier_memory_losses_total", self._memory.losses, source),
            Metric("priority_classifier_watched_refusals_total", self._watched.refused, source),
        )

    def _is_high(self, events: pa.RecordBatch) -> npt.NDArray[np.bool_]:
        """Everything but radar samples that say little; also what cannot be read, which somebody else has to refuse."""
        is_high = np.ones(events.num_rows, bool)
        try:
            columns = columns_of(events)
        except UnknownFormat:
            return is_high
        self._classifier.watched = self._watched.objects()
        is_observed = columns.records["row"] == Row.OBSERVATION
        is_high[is_observed] = self._classifier.is_high(columns.where(is_observed))
        return is_high

    def _remember(self) -> None:
        """What was saved, and what the log still has between that and the position."""
        seen = self._memory.open(self._at)
        self._classifier.recent = self._memory.recent
        log = self._opened()
        for events in log.read(max(seen, log.first() - 1), self._at):
            with suppress(UnknownFormat):
                self._classifier.remember(columns_of(events))

    def _tell_drops(self, total: int) -> None:
        """One line in a while, with all that was left out since the last one."""
        now = self._monotonic()
        if total > self._told_drops and now - self._told_at >= WHILE:
            dropped, self._told_drops, self._told_at = total - self._told_drops, total, now
            tell("edge drops", logging.WARNING, edge=self.name, policy=Shed.name, dropped=dropped, total=total)

    def _note_waiting(self, waiting: Waiting) -> None:
        self._waiting, self._most_waiting = waiting, max(self._most_waiting, waiting.events)

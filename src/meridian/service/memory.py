"""What has to be remembered from one look to the next so that alarms can be told. Pure: a memory, and the next one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from meridian.service.surges import SECOND, Surges

if TYPE_CHECKING:
    from meridian.service.values import Snapshot

ALL = "all sources"
_LATELY_NS = 60 * SECOND


@dataclass(frozen=True, slots=True)
class Mark:
    """A watermark that is looked at again and again.

    :param since_ns: since when it stands here, by our clock.
    :param highest_ns: how far it ever was.
    :param below_since_ns: since when it has been less far than that; nothing while it is not.
    """

    at_ns: int
    since_ns: int
    highest_ns: int
    below_since_ns: int | None = None

    def after(self, at_ns: int, now_ns: int) -> Mark:
        """When it stands here now."""
        highest = max(self.highest_ns, at_ns)
        below = None if at_ns == highest else now_ns if self.below_since_ns is None else self.below_since_ns
        return Mark(at_ns, self.since_ns if at_ns == self.at_ns else now_ns, highest, below)


@dataclass(frozen=True, slots=True)
class Counted:
    """What had become of observations at a time."""

    at_ns: int
    taken: int
    dropped: int


@dataclass(frozen=True, slots=True)
class Memory:
    """What is remembered.

    :param marks: of all sources together, of each network in fusion, and of each source at the edge.
    :param counted: over the last minute, oldest first.
    :param restarts: of the query, and when it was last seen to have been started again.
    :param fusion_gone_ns: since when nobody answers for fusion, though somebody did and did not stop it in order.
    :param edge_gone_ns: since when the edge does not answer.
    """

    marks: Mapping[str, Mark] = field(default_factory=dict)
    counted: tuple[Counted, ...] = ()
    surges: Surges = field(default_factory=Surges)
    restarts: int | None = None
    restarted_ns: int | None = None
    state: str = "unknown"
    """What fusion last said that it does."""
    fusion_gone_ns: int | None = None
    edge_gone_ns: int | None = None

    def after(self, seen: Snapshot) -> Memory:
        """When this is seen, too."""
        return replace(
            self._after_fusion(seen),
            marks=self._marks(seen),
            counted=self._counts(seen),
            surges=self.surges.after(seen.dead, seen.at_ns),
            edge_gone_ns=_since(self.edge_gone_ns, seen.is_edge_asked and seen.edge is None, seen.at_ns),
        )

    def _after_fusion(self, seen: Snapshot) -> Memory:
        pipeline, now = seen.pipeline, seen.at_ns
        if pipeline is None:
            is_gone = self.state not in ("unknown", *_IN_ORDER)
            return replace(self, fusion_gone_ns=_since(self.fusion_gone_ns, is_gone, now))
        fell = self.restarts is not None and pipeline.restarts > self.restarts
        return replace(
            self,
            restarts=pipeline.restarts,
            restarted_ns=now if fell else self.restarted_ns,
            state=pipeline.state,
            fusion_gone_ns=None,
        )

    def _marks(self, seen: Snapshot) -> dict[str, Mark]:
        marks = dict(self.marks)
        for name, at_ns in _standing(seen).items():
            before = marks.get(name)
            marks[name] = before.after(at_ns, seen.at_ns) if before else Mark(at_ns, seen.at_ns, at_ns)
        return marks

    def _counts(self, seen: Snapshot) -> tuple[Counted, ...]:
        if seen.progress is None:
            return self.counted
        now = Counted(seen.at_ns, seen.progress.taken, seen.progress.dropped)
        return (*(each for each in self.counted if each.at_ns >= seen.at_ns - _LATELY_NS), now)


_IN_ORDER = ("draining", "stopped")


def _standing(seen: Snapshot) -> dict[str, int]:
    """Where each watermark stands; 0 for a network that was never heard."""
    found: dict[str, int] = {}
    if seen.progress is not None:
        found[ALL] = seen.progress.watermark_ns or 0
        found |= {source.source: source.watermark_ns or 0 for source in seen.progress.sources}
    for sensor in seen.edge.sensors if seen.edge else ():
        if sensor.watermark_ns is not None:
            found[f"{sensor.source} at the edge"] = sensor.watermark_ns
    return found


def _since(before: int | None, holds: bool, now_ns: int) -> int | None:
    return None if not holds else now_ns if before is None else before

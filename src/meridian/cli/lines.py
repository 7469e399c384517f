"""How an operation goes, in lines: for a terminal that nobody looks at, or a log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from meridian.orbit.time import format_ccsds
from meridian.screen.wording import chance

if TYPE_CHECKING:
    from holdfast.cli.output import Output
    from meridian.fusion.life import Stage
    from meridian.service.values import ConjunctionSeen, Progress, Snapshot

_EVERY_NS = 10_000_000_000


class Lines:
    """A line for each conjunction that is raised or changes, for each alarm, and now and then on how far things are."""

    def __init__(self, out: Output) -> None:
        self._out = out
        self._told: dict[str, tuple[Stage, float]] = {}
        self._alarms: frozenset[str] = frozenset()
        self._at_ns = 0

    def told(self, snapshot: Snapshot) -> None:
        """What is new in this one."""
        for conjunction in snapshot.conjunctions:
            standing = (conjunction.stage, conjunction.miss_m)
            if self._told.get(conjunction.conjunction_id) != standing:
                self._told[conjunction.conjunction_id] = standing
                self._out.note(conjunction_line(conjunction))
        for alarm in snapshot.alarms:
            if alarm.name not in self._alarms:
                self._out.note(f"ALARM {alarm.name}: {alarm.says} {alarm.remedy}")
        self._alarms = frozenset(alarm.name for alarm in snapshot.alarms)
        if snapshot.progress is not None and snapshot.at_ns - self._at_ns >= _EVERY_NS:
            self._at_ns = snapshot.at_ns
            self._out.note(progress_line(snapshot.progress, snapshot.at_ns))


def conjunction_line(conjunction: ConjunctionSeen) -> str:
    """One conjunction."""
    return (
        f"{conjunction.stage.value}: {conjunction.called[0]} and {conjunction.called[1]} pass at "
        f"{format_ccsds(conjunction.closest_ns)[:19]} within {conjunction.miss_m:,.0f} m "
        f"(probability {chance(conjunction.probability)}) [{conjunction.conjunction_id}]"
    )


def progress_line(progress: Progress, now_ns: int) -> str:
    """How far fusion is."""
    behind = "not yet" if progress.watermark_ns is None else f"{(now_ns - progress.watermark_ns) / 1e9:.0f} s behind"
    return (
        f"{progress.taken:,} observations of {progress.tracks:,} objects, watermark {behind}, "
        f"{progress.told:,} alerts told, {progress.retracted:,} taken back, {progress.dropped:,} too late"
    )

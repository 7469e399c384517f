"""How well a pipeline is, from what was seen of it. Pure: pictures in, a judgement out.

The states of components are ordered, and a whole is as bad as the worst of its parts. Ready means that the pipeline can
make progress. Everything that is not well has a cause and a remedy, and goes away by itself when its cause does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.control.snapshot import LaneView, Snapshot, SourceView


class Level(IntEnum):
    """The state of a component; of several, the greatest counts."""

    OK = 0
    DEGRADED = 1
    """It works, and somebody should look at it."""
    FAILING = 2
    """It makes no progress."""
    DOWN = 3
    """It is over."""


class Alarm(Enum):
    """What somebody should be woken for."""

    CHECKPOINT_AGE = "checkpoint-age"
    CHECKPOINT_COPY_LATE = "checkpoint-copy-late"
    DEAD_LETTERS_FULL = "dead-letters-full"
    DEAD_LETTER_RATE = "dead-letter-rate"
    DISK_FULL = "disk-full"
    LANE_FROZEN = "lane-frozen"
    PIPELINE_DOWN = "pipeline-down"
    PROCESSING_STALLED = "processing-stalled"
    QUOTA_NEAR = "quota-near"
    SOURCE_STALLED = "source-stalled"
    SOURCE_UNACKNOWLEDGED = "source-unacknowledged"
    SPARK_LOST = "spark-lost"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not well."""

    component: str
    """`pipeline`, `spark`, `checkpoint`, `disk`, `source orders`, `sink table`."""
    level: Level
    cause: str
    remedy: str
    alarm: Alarm | None = None


@dataclass(frozen=True, slots=True)
class Health:
    """The judgement."""

    level: Level
    ready: bool
    """Whether the pipeline can make progress."""
    components: Mapping[str, Level]
    findings: tuple[Finding, ...]


CADENCE = 1.0
"""Seconds within which the cursors are on disk when all is well."""
_RECENT = 10.0
_SURGE = 10
_QUIET_RATE = 0.1
"""Dead letters a second below which a rate is no surge, whatever it was before."""
_STALLED_AFTER = 30.0
_OFTEN_LOST = 3
"""Losses of Spark's processes within ten minutes that somebody should look at."""
_NEAR = 0.8
_LITTLE_DISK = 64 << 20
_UNSAVED = {"postgres": "See that the PostgreSQL server of the checkpoint store answers; they are written then."}
"""What to do about cursors that cannot be written, where it is not the disk."""


def judge(pictures: Sequence[Snapshot]) -> Health:
    """How well the pipeline is at the last of these pictures."""
    now = pictures[-1]
    findings = tuple(
        sorted(_findings(now, pictures), key=lambda finding: (-finding.level, finding.component, finding.cause))
    )
    names = ["pipeline", "spark", "checkpoint", "disk", "dead letters"]
    names += [f"source {source.name}" for source in now.sources] + [f"sink {lane.name}" for lane in now.lanes]
    levels = dict.fromkeys(names, Level.OK)
    for finding in findings:
        levels[finding.component] = max(levels[finding.component], finding.level)
    level = max(levels.values())
    return Health(level, now.state == "running" and now.spark.active and level < Level.FAILING, levels, findings)


def _findings(now: Snapshot, pictures: Sequence[Snapshot]) -> Iterator[Finding]:
    yield from _of_the_pipeline(now)
    if now.state in _OVER:
        yield from _of_the_disk(now)
        return
    yield from _of_spark(now, pictures)
    yield from _of_the_checkpoint(now, pictures)
    yield from _of_the_disk(now)
    yield from _of_dead_letters(now, pictures)
    for source in now.sources:
        yield from _of_source(source)
    for lane in now.lanes:
        yield from _of_lane(lane)


_OVER = frozenset({"stopped", "failed", "diverged", "fenced", "crashed"})
_ENDS = {
    "stopped": ("The pipeline is stopped.", "Start it with `holdfast run`."),
    "crashed": (
        "The process that ran it was ended from outside.",
        "Start it with `holdfast run`; it goes on where it was.",
    ),
    "diverged": ("Spark's checkpoint and the logs do not belong together.", "See what the error says to do."),
    "fenced": ("Another process owns the pipeline now.", "Ask that one; this one has stopped writing."),
}


def _of_the_pipeline(now: Snapshot) -> Iterator[Finding]:
    if now.state in _OVER:
        cause, remedy = _ENDS.get(now.state, ("The pipeline has failed.", "Mend the cause and start it again."))
        alarm = None if now.state == "stopped" else Alarm.PIPELINE_DOWN
        yield Finding("pipeline", Level.DOWN, now.error or cause, remedy, alarm)
    elif now.state == "starting":
        remedy = "Wait. If its disk is full, make room; it starts by itself."
        yield Finding("pipeline", Level.FAILING, "A process is about to start it.", remedy)
    elif now.state == "paused":
        yield Finding("pipeline", Level.DEGRADED, "Somebody has paused it.", "Let it go on with `holdfast resume`.")
    elif now.state == "draining":
        yield Finding("pipeline", Level.DEGRADED, "It is being drained.", "Wait until it has stopped.")


def _of_spark(now: Snapshot, pictures: Sequence[Snapshot]) -> Iterator[Finding]:
    spark = now.spark
    is_often_lost = spark.lost_lately >= _OFTEN_LOST
    if not spark.active and not spark.restarts:
        yield Finding("spark", Level.DEGRADED, "Spark is not up yet.", "Wait; capture and sinks work already.")
        return
    if is_often_lost:
        often = f"Spark's JVM or a Python worker was lost {spark.lost_lately} times within ten minutes."
        cause = f"{often} The last time: {spark.last_failure}"
        remedy = "Look for the out-of-memory killer in `dmesg`, and at the end of `log/spark.log`."
        yield Finding("spark", Level.DEGRADED if spark.active else Level.FAILING, cause, remedy, Alarm.SPARK_LOST)
    elif not spark.active:
        cause = f"The query ended and is started again: {spark.last_failure}"
        yield Finding("spark", Level.FAILING, cause, "Wait; capture and sinks go on meanwhile.")
    if not spark.active:
        return
    since = _seconds_unchanged(pictures, lambda picture: picture.outbox.newest)
    is_held = now.state == "paused" or _is_near(now.outbox.nbytes, now.outbox.quota, share=1.0)
    oldest = max((source.age for source in now.sources), default=0.0)
    if not is_held and min(since, oldest) > _STALLED_AFTER:
        yield Finding(
            "spark",
            Level.FAILING,
            f"No batch was finished for {since:.0f} s, while {sum(s.waiting for s in now.sources):,} events wait.",
            "Look at `log/spark.log`, and at the memory and processors of the machine.",
            Alarm.PROCESSING_STALLED,
        )


def _of_the_checkpoint(now: Snapshot, pictures: Sequence[Snapshot]) -> Iterator[Finding]:
    unsaved = _seconds_unsaved(pictures)
    if now.trouble is not None:
        yield Finding("checkpoint", Level.FAILING, now.trouble, "It is tried again until it succeeds.")
    if unsaved > 2 * CADENCE:
        yield Finding(
            "checkpoint",
            Level.DEGRADED,
            f"Cursors wait for {unsaved:.1f} s to be written; they should be within {CADENCE:.0f} s.",
            _UNSAVED.get(now.checkpoint.store, "See that the disk of the pipeline's directory has room and works."),
            Alarm.CHECKPOINT_AGE,
        )
    copy = now.checkpoint.remote
    if copy is not None and copy.health != "ok":
        waiting = f"{copy.behind:,} commits wait, the oldest for {copy.age:.0f} s" if copy.behind else "none waits"
        cause = f"The remote checkpoint store is not kept up ({waiting}): {copy.cause}."
        remedy = copy.remedy or "See to the remote store; copying goes on by itself when it is back."
        yield Finding("checkpoint", Level.DEGRADED, cause, remedy, Alarm.CHECKPOINT_COPY_LATE)


def _of_the_disk(now: Snapshot) -> Iterator[Finding]:
    if now.disk_free < _LITTLE_DISK:
        is_full = now.disk_free == 0 or now.disk_free < now.disk_headroom
        level = Level.FAILING if is_full else Level.DEGRADED
        cause = f"{now.disk_free:,} bytes are free on the disk of the pipeline's directory."
        if is_full:
            cause += f" Nothing is captured while fewer than {now.disk_headroom:,} are."
        yield Finding("disk", level, cause, "Make room; it goes on by itself.", Alarm.DISK_FULL)
    if _is_near(now.outbox.nbytes, now.outbox.quota):
        yield Finding(
            "disk",
            Level.DEGRADED,
            f"The outbox has {now.outbox.nbytes:,} of {now.outbox.quota:,} bytes.",
            "A sink does not keep up: see which one lags, or give the outbox more.",
            Alarm.QUOTA_NEAR,
        )


def _of_dead_letters(now: Snapshot, pictures: Sequence[Snapshot]) -> Iterator[Finding]:
    dead = now.dead_letters
    if dead.most is not None and dead.new >= dead.most:
        yield Finding(
            "dead letters",
            Level.FAILING if dead.overflow == "block" else Level.DEGRADED,
            f"They are full: {dead.new:,} entries that nobody has seen to (overflow: {dead.overflow}).",
            "See to them with `holdfast dlq review`, then ack, reprocess or purge; what waits goes on by itself.",
            Alarm.DEAD_LETTERS_FULL,
        )
    elif dead.most is not None and dead.new >= _NEAR * dead.most:
        cause = f"{dead.new:,} of {dead.most:,} entries wait for somebody to see to them."
        remedy = "See to them with `holdfast dlq review`."
        yield Finding("dead letters", Level.DEGRADED, cause, remedy, Alarm.QUOTA_NEAR)
    start = next((p for p in pictures if (now.at - p.at).total_seconds() <= _RECENT), now)
    recent, before = _rate(start, now), _rate(pictures[0], start)
    if recent > _SURGE * max(before, _QUIET_RATE):
        yield Finding(
            "dead letters",
            Level.DEGRADED,
            f"{recent:.1f} rows a second go to the dead letters; before it were {before:.2f}.",
            "See the reasons in the newest entries.",
            Alarm.DEAD_LETTER_RATE,
        )


def _of_source(source: SourceView) -> Iterator[Finding]:
    name = f"source {source.name}"
    if source.state in ("retrying", "failed"):
        cause = source.error or "It cannot be read."
        yield Finding(name, Level.FAILING, cause, "It is tried again until it answers.", Alarm.SOURCE_STALLED)
    elif source.state == "blocked":
        cause = source.error or "Its inbox has no room."
        yield Finding(name, Level.FAILING, cause, "See why processing does not keep up.", Alarm.SOURCE_STALLED)
    elif source.is_stalled:
        cause = f"It was asked {source.silent:.0f} s ago and has not come back."
        remedy = "See whether it answers others; it goes on by itself once it comes back."
        yield Finding(name, Level.FAILING, cause, remedy, Alarm.SOURCE_STALLED)
    if source.unacknowledged is not None:
        cause = f"It could not be acknowledged for {source.unacknowledged_for:.0f} s: {source.unacknowledged}."
        remedy = "See whether it answers; it keeps its log meanwhile, and is acknowledged by itself once it does."
        yield Finding(name, Level.DEGRADED, cause, remedy, Alarm.SOURCE_UNACKNOWLEDGED)
    if source.state != "blocked" and _is_near(source.waiting_bytes, source.quota):
        cause = f"{source.waiting_bytes:,} bytes of {source.quota:,} wait in its inbox to be processed."
        remedy = "See why processing does not keep up, or give the inbox more."
        yield Finding(name, Level.DEGRADED, cause, remedy, Alarm.QUOTA_NEAR)


def _of_lane(lane: LaneView) -> Iterator[Finding]:
    name = f"sink {lane.name}"
    stuck = Level.FAILING if lane.required else Level.DEGRADED
    cause = lane.error or f"It is {lane.state}."
    if lane.state == "frozen":
        remedy = "Bring the sink back; its lane goes on by itself."
        yield Finding(name, stuck, cause, remedy, Alarm.LANE_FROZEN)
    elif lane.state in ("stopped", "fenced"):
        yield Finding(name, stuck, cause, "It does not go on until somebody acts.", Alarm.LANE_FROZEN)
    elif lane.state == "retrying":
        yield Finding(name, Level.DEGRADED, cause, "It is tried again by itself.")


def _is_near(nbytes: int, quota: int | None, share: float = _NEAR) -> bool:
    return quota is not None and nbytes >= share * quota


def _rate(start: Snapshot, end: Snapshot) -> float:
    seconds = (end.at - start.at).total_seconds()
    return (end.dead_letters.arrived - start.dead_letters.arrived) / seconds if seconds > 0 else 0.0


def _seconds_unchanged(pictures: Sequence[Snapshot], of: Callable[[Snapshot], object]) -> float:
    now = pictures[-1]
    since = now
    for picture in reversed(pictures):
        if of(picture) != of(now):
            break
        since = picture
    return (now.at - since.at).total_seconds()


def _seconds_unsaved(pictures: Sequence[Snapshot]) -> float:
    """For how long the cursors on disk have been the same and not the current ones."""
    if pictures[-1].checkpoint.is_durable:
        return 0.0
    return _seconds_unchanged(pictures, lambda picture: (picture.checkpoint.version, picture.checkpoint.is_durable))

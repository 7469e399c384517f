"""What somebody has to be told of, by what was seen and what is remembered of earlier looks. Pure.

An alarm is raised while its cause is there, and is over when the cause is. Each says what to do, and names the page of
the runbook on which that stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from meridian.fusion.windows import Windows
from meridian.orbit.time import format_ccsds
from meridian.service.lateness import why_late
from meridian.service.memory import ALL
from meridian.service.surges import SECOND
from meridian.service.values import Alarm

if TYPE_CHECKING:
    from meridian.service.memory import Memory
    from meridian.service.values import Progress, Snapshot, SourceProgress

RUNBOOK = "docs/operations/meridian.md"


@dataclass(frozen=True, slots=True)
class Limits:
    """When an alarm is raised.

    :param stalled_s: so long the watermark may stand still.
    :param regressed_s: so long a watermark may be less far than it was.
    :param eviction_s: so long after its time a window may still be kept.
    :param cadence_s: within so long what the correlator remembers is to be on disk; twice that is too old.
    :param consumer_lag: so many events a consumer of the edge's logs may be behind.
    :param dropped: the share of observations that may come too late.
    :param told_s: for so long it is told that something was started again.
    """

    stalled_s: float = 60.0
    regressed_s: float = 60.0
    eviction_s: float = 120.0
    cadence_s: float = 30.0
    consumer_lag: int = 50_000
    dropped: float = 0.01
    told_s: float = 300.0
    windows: Windows = field(default_factory=Windows)


@dataclass(frozen=True, slots=True)
class _Look:
    """What an alarm is told from."""

    seen: Snapshot
    memory: Memory
    limits: Limits

    def seconds(self, since_ns: int) -> float:
        return (self.seen.at_ns - since_ns) / SECOND

    @property
    def uptime_s(self) -> float:
        """Since fusion was started: for longer than that nothing can be its fault."""
        return self.seen.pipeline.uptime_s if self.seen.pipeline else 0.0


def alarms(seen: Snapshot, memory: Memory, limits: Limits | None = None) -> list[Alarm]:
    """The alarms that hold, the critical ones first.

    :param memory: of everything that was seen, this look included.
    """
    look = _Look(seen, memory, limits or Limits())
    found = [alarm for rule in _RULES for alarm in rule(look)]
    return sorted(found, key=lambda alarm: (alarm.severity != "critical", alarm.name, alarm.about))


def _of_sources(look: _Look) -> Iterator[Alarm]:
    """What the edge has raised itself, and sources that have ended."""
    for sensor in look.seen.edge.sensors if look.seen.edge else ():
        for name, says in sensor.alarms.items():
            yield _alarm(_EDGE_NAMES.get(name, "edge"), f"{sensor.source}: {says}", sensor.source)
        if not sensor.is_alive:
            why = sensor.why or "nobody knows why."
            yield _alarm("source-ended", f"{sensor.source} takes nothing in any more: {why}", sensor.source)


def _of_late_drops(look: _Look) -> Iterator[Alarm]:
    counted = look.memory.counted
    if counted:
        taken, dropped = counted[-1].taken - counted[0].taken, counted[-1].dropped - counted[0].dropped
        if dropped > look.limits.dropped * (taken + dropped):
            yield _alarm("drops", f"fusion: {dropped} of {taken + dropped} came too late in the last minute.", "fusion")


def _of_regression(look: _Look) -> Iterator[Alarm]:
    for name, mark in look.memory.marks.items():
        if mark.below_since_ns is not None and look.seconds(mark.below_since_ns) > look.limits.regressed_s:
            behind = (mark.highest_ns - mark.at_ns) / SECOND
            says = f"The watermark of {name} is {behind:.0f} s behind where it was, and stays so."
            yield _alarm("watermark-regressed", says, name)


def _of_stall(look: _Look) -> Iterator[Alarm]:
    progress, mark = look.seen.progress, look.memory.marks.get(ALL)
    is_alive = look.seen.is_running or look.seen.edge is not None
    if progress is None or mark is None or not is_alive or look.seconds(mark.since_ns) <= look.limits.stalled_s:
        return
    slowest = min(progress.sources, key=lambda source: (source.watermark_ns or 0, source.source))
    where = f"at {format_ccsds(mark.at_ns)[:19]}" if mark.at_ns else "before its beginning"
    side, why = _blamed(look, slowest)
    says = f"The watermark has stood still for {look.seconds(mark.since_ns):.0f} s {where}: {side}. {why}"
    yield _alarm("watermark-stalled", says, slowest.source)


def _blamed(look: _Look, slowest: SourceProgress) -> tuple[str, str]:
    """Whose fault a stall is: the source brings nothing newer, or fusion does not take what is there."""
    name, reached = slowest.source, slowest.watermark_ns or 0
    of_network = [each for each in look.seen.edge.sensors if each.network == name] if look.seen.edge else []
    at_edge = max((each.watermark_ns or 0 for each in of_network), default=0)
    waiting = sum(feed.waiting for feed in look.seen.feeds)
    if at_edge > reached + SECOND:
        further = f"is {(at_edge - reached) / SECOND:.0f} s further" if reached else "was heard"
        return "pipeline-side", f"At the edge {name} {further}, and fusion has not judged it; {waiting:,} events wait."
    if not of_network and waiting:
        return "pipeline-side", f"{name} is furthest behind, and {waiting:,} events wait for fusion."
    ended = [each.source for each in of_network if not each.is_alive]
    told = f"; {', '.join(ended)} has ended" if ended else ""
    heard = "has brought nothing newer" if reached else "was never heard"
    return "source-side", f"{name} {heard}{told}."


def _of_eviction(look: _Look) -> Iterator[Alarm]:
    progress = look.seen.progress
    if progress is not None and look.seen.is_running:
        seconds = eviction_lag_s(progress, look.seen.at_ns, look.limits.windows)
        if min(seconds, look.uptime_s) > look.limits.eviction_s:
            kept = progress.active + progress.retained
            yield _alarm("eviction-late", f"{kept} windows are kept, the oldest {seconds:.0f} s longer than it should.")


def eviction_lag_s(progress: Progress, now_ns: int, windows: Windows) -> float:
    """For how long by our clock the oldest window that is kept would be gone, had every source come as far as now."""
    if progress.watermark_ns is None or not progress.active + progress.retained:
        return 0.0
    due = windows.end(windows.first_kept(progress.watermark_ns)) + windows.lateness
    return max(now_ns - due, 0) / SECOND


def _of_checkpoint(look: _Look) -> Iterator[Alarm]:
    progress, waiting = look.seen.progress, sum(feed.waiting for feed in look.seen.feeds)
    if progress is not None and progress.judged_ns is not None and look.seen.is_running and waiting:
        age, allowed = look.seconds(progress.judged_ns), 2 * look.limits.cadence_s
        if min(age, look.uptime_s) > allowed:
            says = f"What the correlator remembers was written {age:.0f} s ago, and {waiting:,} events wait."
            yield _alarm("checkpoint-old", says, "correlator")


def _of_dead_letters(look: _Look) -> Iterator[Alarm]:
    for surge in look.memory.surges.lasting(look.seen.at_ns):
        operator, kind = surge.mostly
        minutes = look.seconds(surge.since_ns) / 60
        says = (
            f"{surge.now:.0f} dead letters a minute for {minutes:.0f} min, {surge.usual:.1f} before: "
            f"mostly {kind} at {operator}."
        )
        yield _alarm("dead-letters", says, surge.kind)


def _of_consumers(look: _Look) -> Iterator[Alarm]:
    for sensor in look.seen.edge.sensors if look.seen.edge else ():
        for consumer, lag in sensor.consumer_lag.items():
            if lag > look.limits.consumer_lag:
                yield _alarm("consumer-behind", f"{consumer} is {lag:,} events behind {sensor.log}.", sensor.log)


def _of_processes(look: _Look) -> Iterator[Alarm]:
    memory = look.memory
    if memory.edge_gone_ns is not None:
        yield _alarm("edge-silent", f"The edge has not answered for {look.seconds(memory.edge_gone_ns):.0f} s.")
    if memory.fusion_gone_ns is not None:
        says = f"Nobody has answered for fusion for {look.seconds(memory.fusion_gone_ns):.0f} s; it was not stopped."
        yield _alarm("fusion-down", says)
    if memory.restarted_ns is not None and look.seconds(memory.restarted_ns) <= look.limits.told_s:
        yield _alarm("operator-crashed", f"The query of fusion failed and was started again: {memory.restarts} times.")


def _of_pipeline(look: _Look) -> Iterator[Alarm]:
    for finding in look.seen.pipeline.findings if look.seen.pipeline else ():
        says = f"{finding.component}: {finding.cause} {finding.remedy}"
        yield _alarm("pipeline", says, f"{finding.alarm} of {finding.component}")


def _of_delay(look: _Look) -> Iterator[Alarm]:
    delay, sinks = look.seen.delay, look.seen.pipeline.sinks if look.seen.pipeline else ()
    if not delay.is_met:
        late = f"{delay.words - delay.within} of {delay.words} words on alerts came more than {delay.target_s:.0f} s"
        says = f"{late} after their observation, the slowest after {delay.whole.worst_s:.0f} s."
        is_by_outage = delay.otherwise is not None and delay.otherwise.is_met
        remedy = _AFTER_OUTAGE if is_by_outage else None
        yield _alarm("alerts-late", f"{says} {why_late(delay)}", remedy=remedy)
    for sink in sinks:
        if sink.sink in _ALERTING and sink.age_s > delay.target_s:
            says = f"{sink.sink} lacks {sink.lag_batches} batches, the oldest for {sink.age_s:.0f} s."
            yield _alarm("alerts-late", says, sink.sink)


def _of_accounts(look: _Look) -> Iterator[Alarm]:
    accounts = look.seen.accounts
    named = [*accounts.edge.items(), *([("fusion", accounts.fusion)] if accounts.fusion else [])]
    for name, account in named:
        if account.unexplained:
            parts = ", ".join(f"{count:,} {what}" for what, count in account.went.items())
            says = f"{name}: {account.unexplained:,} of {account.came:,} observations are nowhere ({parts})."
            yield _alarm("unaccounted", says, name)


_RULES: tuple[Callable[[_Look], Iterator[Alarm]], ...] = (
    _of_sources,
    _of_late_drops,
    _of_regression,
    _of_stall,
    _of_eviction,
    _of_checkpoint,
    _of_dead_letters,
    _of_consumers,
    _of_processes,
    _of_pipeline,
    _of_delay,
    _of_accounts,
)
_ALERTING = ("alerts", "words", "conjunctions")
_EDGE_NAMES = {"drops": "drops", "clock_ahead": "clock-ahead"}
REMEDIES = {
    "drops": "See which way is too slow, and why.",
    "clock-ahead": "Have the clock of the sensor or of the edge set.",
    "edge": "See the log of the edge.",
    "source-ended": "Mend the cause and start the edge again; the other sources go on.",
    "watermark-regressed": "See whether an older copy of the state or of a log was put in place.",
    "watermark-stalled": "Bring the source back, or see why fusion does not keep up, as it says.",
    "eviction-late": "See which source holds the watermark up; memory grows until it moves.",
    "checkpoint-old": "See whether a batch takes so long, and the disk of the pipeline.",
    "dead-letters": "Look at the newest entries; mend the cause, then reprocess them.",
    "consumer-behind": "See why it does not keep up; nothing is lost while the disk has room.",
    "edge-silent": "See whether its process runs, and the end of its log.",
    "fusion-down": "Start it again: it goes on where it was.",
    "operator-crashed": "See the log of fusion for the cause.",
    "pipeline": "Do what it says.",
    "alerts-late": "If it took long to come in, see the source; if it took long from then on, see the bottleneck.",
    "unaccounted": "Compare the counters of the edge and of fusion; keep the logs.",
}
"""What to do about each alarm; the page of the runbook has a section of the same name."""
_AFTER_OUTAGE = "Nothing is lost, and the alarm ends by itself within ten minutes. If nobody stopped it, find out why."
_CRITICAL = {"source-ended", "edge-silent", "fusion-down", "operator-crashed", "alerts-late", "unaccounted"}


def _alarm(name: str, says: str, about: str = "", *, remedy: str | None = None) -> Alarm:
    severity = "critical" if name in _CRITICAL else "warning"
    what_to_do = f"{remedy or REMEDIES[name]} See {RUNBOOK}#{name}."
    return Alarm(name=name, says=says, remedy=what_to_do, severity=severity, about=about)

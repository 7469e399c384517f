"""Makes what a source took durable: observations, dead letters and raw bytes, each in a log of its own.

What is taken in one piece lands in up to three legs; it is settled when all have arrived. A leg that fails for want of
disk or room is flown again, by itself: the others have arrived. Who waits for it is the affair of `pump`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Protocol

import google_crc32c

from holdfast.flow import by_type
from holdfast.log import Appended, DeadLetterEntry
from holdfast.model.errors import LogFull, LogQuota, LogReadOnly, LogUnavailable
from holdfast.model.positions import Seq
from meridian.sensors.events import events_of, raw_events, time_of
from meridian.sensors.meters import Meter

if TYPE_CHECKING:
    from holdfast.log import DeadLetterLog, Inbox
    from meridian.sensors.columns import ObservationColumns
    from meridian.sensors.screening import Refusal
    from meridian.sensors.source import Taken

log_trouble = by_type(transient=(LogQuota, LogFull, LogReadOnly, LogUnavailable))
"""What an error of a log means: these the disk may say today and not tomorrow; all others are for good."""
_EDGE = "edge"
_PUT_TIMEOUT = 1.0


class Repeats(Enum):
    """What becomes of an observation that was in the log before."""

    LEFT_OUT = "left out"
    KEPT = "kept"
    """Radar has no redelivery, and no time to look every frame up. What the network doubled is left out by a stage."""


class Stage(Protocol):
    """Something that observations pass on their way to the log. It may leave some out as repeats, and changes none."""

    def __call__(self, columns: ObservationColumns, now_ns: int) -> ObservationColumns:
        """Those that go on.

        :param now_ns: when they were taken in.
        """


@dataclass(slots=True, eq=False)
class Leg:
    """One log that something is on its way to."""

    begin: Callable[[], Future[object]]
    arrived: Callable[[object], None]
    future: Future[object] | None = None


@dataclass(slots=True, eq=False)
class Flight:
    """What was taken in one piece, on its way to disk."""

    count: int
    legs: list[Leg]
    settled: Callable[[], None]

    @property
    def has_landed(self) -> bool:
        """Whether everything is durable."""
        return all(leg.future is not None and leg.future.done() and leg.future.exception() is None for leg in self.legs)


class TokenBucket:
    """So many a second and no more, with a reserve. The time is passed in."""

    def __init__(self, rate: float, reserve: int) -> None:
        self._rate, self._reserve = rate, reserve
        self._left = float(reserve)
        self._at: float | None = None

    def take(self, wanted: int, now: float) -> int:
        """How many of these there may be now."""
        if self._at is not None:
            self._left = min(self._reserve, self._left + (now - self._at) * self._rate)
        self._at = now
        given = min(wanted, int(self._left))
        self._left -= given
        return given


@dataclass(slots=True, eq=False, kw_only=True)
class Landing:
    """The logs of one source."""

    inbox: Inbox
    dead: DeadLetterLog
    executor: Executor
    """Does what waits for the disk; one thread, so that what is given to it is done in that order."""
    raw: Inbox | None = None
    meter: Meter = field(default_factory=Meter)
    letters: TokenBucket = field(default_factory=lambda: TokenBucket(rate=100.0, reserve=1000))
    """How many dead letters there may be: a flood of bad frames must not become a flood of syncs."""
    repeats: Repeats = Repeats.LEFT_OUT
    stages: Sequence[Stage] = ()
    """What observations pass, one after the other, before the log."""

    def flight(self, taken: Taken, now: float) -> Flight:
        """What has to be done for something that was taken; nothing is begun yet."""
        letters, good = self._letters(taken, now), self._passed(taken)
        legs = []
        if self.raw is not None and taken.raw:
            legs.append(self._raw_leg(taken))
        if taken.mark is not None:
            legs.append(self._appended_leg(good, taken.mark, letters))
        else:
            if letters:
                legs.append(Leg(lambda: self.executor.submit(self.bury, self.inbox.name, letters), _ignore))
            if len(good):
                legs.append(self._pushed_leg(good))
        return Flight(taken.count, legs, taken.settled)

    def heartbeat(self, columns: ObservationColumns, mark: int | None) -> Flight:
        """The same for the row of a silent source."""

        def begin() -> Future[object]:
            events = events_of(columns, self.inbox.name)
            if mark is None:
                return self.inbox.push(events, timeout=0)  # type: ignore[return-value]
            return self.executor.submit(self.inbox.append, events, position=Seq(mark), timeout=_PUT_TIMEOUT)

        def arrived(_: object) -> None:
            self.meter.heartbeats += 1

        return Flight(1, [Leg(begin, arrived)], settled=lambda: None)

    def bury(self, where: str, letters: Sequence[DeadLetterEntry]) -> None:
        """Make durable what is given up; waits for the disk.

        :param where: who gives it up.
        """
        if letters:
            self.dead.put(letters, timeout=_PUT_TIMEOUT)

    def _passed(self, taken: Taken) -> ObservationColumns:
        good = taken.screened.good
        for stage in self.stages:
            good = stage(good, taken.taken_ns)
        self.meter.repeated += len(taken.screened.good) - len(good)
        return good

    def _pushed_leg(self, good: ObservationColumns) -> Leg:
        events = events_of(good, self.inbox.name)
        keys = good.keys() if self.repeats is Repeats.LEFT_OUT else None

        def begin() -> Future[object]:
            return self.inbox.push(events, keys=keys, timeout=0)  # type: ignore[return-value]

        return Leg(begin, self._counted(events.nbytes))

    def _appended_leg(self, good: ObservationColumns, mark: int, letters: list[DeadLetterEntry]) -> Leg:
        """Dead letters first, then the records with the mark: behind the mark nothing is asked for again."""
        events = events_of(good, self.inbox.name)

        def land() -> object:
            self.bury(self.inbox.name, letters)
            return self.inbox.append(events, position=Seq(mark), keys=good.keys(), timeout=_PUT_TIMEOUT)

        return Leg(lambda: self.executor.submit(land), self._counted(events.nbytes))

    def _raw_leg(self, taken: Taken) -> Leg:
        assert self.raw is not None
        raw, events = self.raw, raw_events(taken.raw, self.raw.name, now_ns=taken.taken_ns)
        return Leg(lambda: raw.push(events, timeout=0), _ignore)  # type: ignore[return-value, arg-type]

    def _counted(self, nbytes: int) -> Callable[[object], None]:
        def arrived(result: object) -> None:
            assert isinstance(result, Appended)
            self.meter.durable += result.rows
            self.meter.repeated += result.left_out
            self.meter.bytes_written += nbytes

        return arrived

    def _letters(self, taken: Taken, now: float) -> list[DeadLetterEntry]:
        refused = taken.screened.refused
        allowed = self.letters.take(len(refused), now) if refused else 0
        self.meter.suppressed.update(refusal.kind.value for refusal in refused[allowed:])
        return [dead_letter(refusal, self.inbox.name, taken.taken_ns) for refusal in refused[:allowed]]


def dead_letter(refusal: Refusal, log: str, now_ns: int) -> DeadLetterEntry:
    """The entry of a refusal. Its id is made of what was refused, so a record that comes again is the same entry."""
    stage = f"{_EDGE}:{log}"
    digest = hashlib.sha256(f"{stage}\n{refusal.kind}\n".encode() + refusal.payload)
    return DeadLetterEntry(
        entry_id=digest.hexdigest()[:32],
        time=time_of(now_ns),
        pipeline=_EDGE,
        stage=stage,
        oseq=0,
        ordinal=0,
        event_id=None,
        error_kind=refusal.kind.value,
        error_code="HF-651",
        message=refusal.reason,
        attempts=1,
        position=None,
        event_schema_version=None,
        payload=refusal.payload,
        checksum=google_crc32c.value(refusal.payload),
    )


def _ignore(_: object) -> None:
    """Nothing follows from its arrival."""

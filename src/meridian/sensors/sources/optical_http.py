"""The optical archive over HTTP: polled with a mark, or held open until something comes.

The mark is the newest time that was taken in; it moves with the records into the log and nowhere else. Asking goes back
a little before it, and a record that came before is left out, so records of one time are neither lost nor taken twice.
What a record means is the affair of `optical_record`.
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass
from enum import Enum
from random import Random
from typing import TYPE_CHECKING, ClassVar

import aiohttp
import numpy as np

from holdfast.flow import SERVICE, Breaker, BreakerPolicy, BreakerState, RetryPolicy, Tries
from meridian.sensors.observation import SourceKind
from meridian.sensors.optical_record import Unreadable, decode, no_records
from meridian.sensors.screening import Candidates, Screened
from meridian.sensors.source import ObservationSource, Taken

if TYPE_CHECKING:
    from collections.abc import Callable

    from meridian.sensors.screening import Refusal, Screen
    from meridian.sensors.source import Nanoclock

logger = logging.getLogger(__name__)

_DAY_NS = 24 * 3600 * 1_000_000_000
_LARGEST = 64 * 2**20
_WAIT_MARGIN = 2.0
"""So many seconds longer than the archive may wait, we wait for its answer."""
_TOO_MANY = 429
_LONGEST_WAIT = 300.0
"""So long at most we wait when the archive asks us to."""
_STATES = {BreakerState.CLOSED: 0, BreakerState.OPEN: 1, BreakerState.HALF_OPEN: 2}


class Mode(Enum):
    """How the archive is asked."""

    POLL = "poll"
    """Every interval."""
    LONG_POLL = "long_poll"
    """Once more as soon as it has answered; it answers when it has something, or after a while."""


@dataclass(frozen=True, slots=True)
class Polling:
    """How and how often."""

    mode: Mode = Mode.POLL
    interval: float = 5.0
    wait_ms: int = 500
    """How long the archive may hold a long poll."""
    timeout: float = 10.0
    overlap_ns: int = 30_000_000_000
    """How far before the mark is asked for again: as far as a record may come late."""
    archive_keeps_ns: int = _DAY_NS
    retry: RetryPolicy = RetryPolicy(base=0.5, cap=30.0)  # noqa: RUF009 (a frozen value)
    breaker: BreakerPolicy = SERVICE


@dataclass(frozen=True, slots=True)
class _Trouble:
    """An answer that is none."""

    why: str
    passes: bool
    """Whether to ask again soon makes sense."""
    after: float = 0.0
    """How many seconds the archive asked us to wait."""


class OpticalHttp(ObservationSource):
    """The archive of the telescopes.

    :param mark_ns: where the log stands; 0 when it is new.
    :param random: draws the pauses between attempts.
    """

    kind: ClassVar[SourceKind] = SourceKind.OPTICAL

    def __init__(
        self,
        name: str,
        endpoint: str,
        screen: Screen,
        now_ns: Nanoclock,
        *,
        polling: Polling | None = None,
        mark_ns: int = 0,
        random: Random | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(name)
        self._endpoint = endpoint
        self._screen = screen
        self._now_ns = now_ns
        self._polling = polling or Polling()
        self._random = random or Random()
        self._clock = clock
        self._breaker = Breaker(self._polling.breaker)
        self._retries = 0
        self._mark = self._covered = mark_ns
        self._seen: dict[bytes, int] = {}
        """The ids of the records in the overlap, and their times."""
        self._refused_before: frozenset[Refusal] = frozenset()
        """What the last answer held that is none: it comes again while it is asked for."""
        self._tries = Tries(self._polling.retry)
        self._pause = 0.0
        self._is_caught_up = False
        self._stopping = asyncio.Event()
        self._asking: asyncio.Timeout | None = None
        self._session: aiohttp.ClientSession | None = None
        self._answered_ns: int | None = None

    @property
    def where(self) -> str:
        """The archive that is asked."""
        return self._endpoint

    @property
    def mark(self) -> int:
        """The newest time that was taken in, in nanoseconds."""
        return self._mark

    async def open(self) -> None:
        """Make the client; whether the archive answers shows when it is asked."""
        self._session = aiohttp.ClientSession()

    async def next(self) -> Taken | None:
        """The records of the next answer that has new ones."""
        while not self._stopping.is_set():
            await self._paused()
            if self._stopping.is_set():
                break
            self._note_gap()
            asked_ns = self._now_ns()
            answer = await self._let_through()
            if isinstance(answer, _Trouble):
                self._note_trouble(answer)
            elif answer is not None and (taken := self._taken(answer, asked_ns)):
                return taken
        return None

    def stop(self) -> None:
        """Ask no more, and wait for no answer."""
        self._stopping.set()
        if self._asking is not None:
            self._asking.reschedule(0.0)

    async def close(self) -> None:
        """Give up the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def quiet_until_ns(self, now_ns: int) -> int | None:
        """Only the archive knows whether there was nothing: as long ago as it last said so."""
        return self._answered_ns

    def gauges(self) -> dict[str, float]:
        """How the archive does."""
        state = _STATES[self._breaker.state(self._clock())]
        return {"circuit_breaker_state": state, "retry_attempts_total": self._retries}

    def request(self, mode: Mode) -> tuple[dict[str, int], float]:
        """What to ask for, and how many seconds to wait for the answer."""
        polling = self._polling
        if mode is Mode.LONG_POLL:
            query = {"since": self._mark + 1, "wait_ms": polling.wait_ms}
            return query, polling.wait_ms / 1000 + _WAIT_MARGIN
        return {"since": max(0, self._mark - polling.overlap_ns)}, polling.timeout

    @property
    def _mode(self) -> Mode:
        """How to ask next: the archive may hold a request only once everything that it has was taken."""
        return self._polling.mode if self._is_caught_up else Mode.POLL

    async def _paused(self) -> None:
        """Wait out the pause that is due. A wait that is cut short is waited again from its beginning."""
        if self._pause:
            try:
                await asyncio.wait_for(self._stopping.wait(), self._pause)
            except TimeoutError:
                self._pause = 0.0

    async def _let_through(self) -> bytes | _Trouble | None:
        """An answer, or what kept it away; None while the breaker lets nothing through, and when asking was stopped."""
        permit = self._breaker.admit(self._clock())
        if permit is None:
            self._pause = max(self._breaker.wait(self._clock()), self._polling.retry.base)
            return None
        try:
            async with asyncio.timeout(None) as self._asking:
                answer = await self._asked(self._mode)
        except TimeoutError:  # set by `stop`
            self._breaker.given_back(permit)
            return None
        except BaseException:
            self._breaker.given_back(permit)
            raise
        finally:
            self._asking = None
        if isinstance(answer, _Trouble) and answer.passes:
            self._breaker.failed(permit, self._clock())
        else:
            self._breaker.succeeded(permit, self._clock())
        return answer

    async def _asked(self, mode: Mode) -> bytes | _Trouble:
        assert self._session is not None, "the source is not open"
        query, seconds = self.request(mode)
        try:
            async with self._session.get(
                self._endpoint, params=query, timeout=aiohttp.ClientTimeout(total=seconds)
            ) as response:
                if response.status != 200:
                    return _trouble_of(response.status, response.headers.get("Retry-After", ""))
                return await _whole(response.content)
        except (TimeoutError, aiohttp.ClientConnectionError) as error:
            return _Trouble(f"{type(error).__name__}: {error}", passes=True)
        except aiohttp.ClientError as error:
            return _Trouble(f"{type(error).__name__}: {error}", passes=False)

    def _taken(self, body: bytes, asked_ns: int) -> Taken | None:
        """What an answer has that is new. Nothing is awaited from here on, so it is handed over whole."""
        now = self._now_ns()
        decoded = decode(body, now)
        self._tries = Tries(self._polling.retry)
        if isinstance(decoded, Unreadable):
            self._pause = self._polling.interval
            self.drops["answers"] += 1
            return Taken(Screened(no_records(), (decoded.refusal,)), body, now, self._mark)
        self._answered_ns = asked_ns
        self._covered = max(self._covered, asked_ns)
        fresh = self._fresh(decoded)
        if not len(fresh.columns) and not fresh.refused:
            self._is_caught_up = True
            self._pause = 0.0 if self._polling.mode is Mode.LONG_POLL else self._polling.interval
            return None
        self._is_caught_up = False
        return Taken(self._screen(fresh), body, now, self._mark)

    def _fresh(self, decoded: Candidates) -> Candidates:
        """The records that did not come before. The mark moves, also over those that will be refused."""
        records = decoded.columns.records
        ids = [each.tobytes() for each in records["observation_id"]]
        is_new = np.fromiter((each not in self._seen for each in ids), bool, len(ids))
        times = records["sensor_ts_ns"].tolist()
        self._mark = max(self._mark, *times) if times else self._mark
        self._seen.update(zip(ids, times, strict=True))
        oldest = self._mark - self._polling.overlap_ns
        self._seen = {each: time for each, time in self._seen.items() if time >= oldest}
        refused = tuple(each for each in decoded.refused if each not in self._refused_before)
        self._refused_before = frozenset(decoded.refused)
        raw = [each for each, is_chosen in zip(decoded.raw, is_new, strict=True) if is_chosen]
        return Candidates(decoded.columns.where(is_new), raw, refused=refused)

    def _note_trouble(self, trouble: _Trouble) -> None:
        self.drops["answers"] += 1
        if trouble.passes:
            self._tries = self._tries.after_failure(self._clock(), self._random, at_least=trouble.after)
            self._pause = self._tries.pause
            self._retries += 1
        else:
            self._pause = self._polling.interval
        logger.warning("archive.no_answer", extra={"source": self.name, "why": trouble.why, "pause_s": self._pause})

    def _note_gap(self) -> None:
        """The archive has forgotten what came behind the mark: that is said, counted, and never passed over."""
        oldest = self._now_ns() - self._polling.archive_keeps_ns
        if not self._covered or self._covered >= oldest:
            return
        self.drops["gaps"] += 1
        self.alarms["gap"] = f"The archive has forgotten what came between {self._covered} and {oldest} ns."
        logger.error("archive.gap", extra={"source": self.name, "after_ns": self._covered, "until_ns": oldest})
        self._covered = self._now_ns()


def _trouble_of(status: int, retry_after: str) -> _Trouble:
    after = float(retry_after) if retry_after.isdecimal() else 0.0
    return _Trouble(f"status {status}", passes=status >= 500 or status == _TOO_MANY, after=min(after, _LONGEST_WAIT))


async def _whole(content: aiohttp.StreamReader) -> bytes | _Trouble:
    data = bytearray()
    async for piece in content.iter_any():
        data += piece
        if len(data) > _LARGEST:
            return _Trouble(f"the answer is larger than {_LARGEST} bytes", passes=False)
    return bytes(data)

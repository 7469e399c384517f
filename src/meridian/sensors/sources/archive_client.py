"""Asks the optical archive over HTTP: what may be asked again, after which pause, and when not to ask at all.

It knows nothing of records. What to ask for, and what an answer means, is the affair of `optical_http`.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import aiohttp

from holdfast.flow import SERVICE, Breaker, BreakerPolicy, BreakerState, RetryPolicy, Tries

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

_DAY_NS = 24 * 3600 * 1_000_000_000
_LARGEST = 64 * 2**20
_WAIT_MARGIN = 2.0
"""So many seconds longer than the archive may hold a request, we wait for its answer."""
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

    def request(self, mode: Mode, mark_ns: int) -> tuple[dict[str, int], float]:
        """What to ask for, and how many seconds to wait for the answer."""
        if mode is Mode.LONG_POLL:
            return {"since": mark_ns + 1, "wait_ms": self.wait_ms}, self.wait_ms / 1000 + _WAIT_MARGIN
        return {"since": max(0, mark_ns - self.overlap_ns)}, self.timeout


@dataclass(frozen=True, slots=True)
class Trouble:
    """An answer that is none."""

    why: str
    passes: bool
    """Whether to ask again soon makes sense."""
    after: float = 0.0
    """How many seconds the archive asked us to wait."""


class ArchiveClient:
    """The way to one archive, behind a breaker. A cancelled question was not asked."""

    def __init__(self, endpoint: str, polling: Polling, *, random: Random, clock: Callable[[], float]) -> None:
        self._endpoint = endpoint
        self._polling = polling
        self._random = random
        self._clock = clock
        self._breaker = Breaker(polling.breaker)
        self._tries = Tries(polling.retry)
        self._session: aiohttp.ClientSession | None = None
        self._asking: asyncio.Timeout | None = None
        self.retries = 0
        """How often it was asked again because no answer came."""

    @property
    def breaker_state(self) -> int:
        """0 closed, 1 open, 2 half-open."""
        return _STATES[self._breaker.state(self._clock())]

    def open(self) -> None:
        """Make the client; whether the archive answers shows when it is asked."""
        self._session = aiohttp.ClientSession()

    def stop(self) -> None:
        """Wait for no answer any more."""
        if self._asking is not None:
            self._asking.reschedule(0.0)

    async def close(self) -> None:
        """Give up the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def wait(self) -> float:
        """How many seconds nothing may be asked; 0 when something may."""
        if self._breaker.state(self._clock()) is not BreakerState.OPEN:
            return 0.0
        return max(self._breaker.wait(self._clock()), self._polling.retry.base)

    def pause_after(self, trouble: Trouble) -> float:
        """How many seconds to wait after no answer came."""
        if not trouble.passes:
            return self._polling.interval
        self._tries = self._tries.after_failure(self._clock(), self._random, at_least=trouble.after)
        self.retries += 1
        return self._tries.pause

    async def ask(self, mode: Mode, mark_ns: int) -> bytes | Trouble | None:
        """The answer, or what kept it away; None when asking was stopped, or the breaker lets nothing through."""
        permit = self._breaker.admit(self._clock())
        if permit is None:
            return None
        try:
            async with asyncio.timeout(None) as self._asking:
                answer = await self._asked(*self._polling.request(mode, mark_ns))
        except TimeoutError:  # set by `stop`
            self._breaker.given_back(permit)
            return None
        except BaseException:
            self._breaker.given_back(permit)
            raise
        finally:
            self._asking = None
        if isinstance(answer, Trouble) and answer.passes:
            self._breaker.failed(permit, self._clock())
            return answer
        self._breaker.succeeded(permit, self._clock())
        self._tries = Tries(self._polling.retry)
        return answer

    async def _asked(self, query: dict[str, int], seconds: float) -> bytes | Trouble:
        assert self._session is not None, "the source is not open"
        limit = aiohttp.ClientTimeout(total=seconds)
        try:
            async with self._session.get(self._endpoint, params=query, timeout=limit) as response:
                if response.status != 200:
                    return _trouble_of(response.status, response.headers.get("Retry-After", ""))
                return await _whole(response.content)
        except (TimeoutError, aiohttp.ClientConnectionError) as error:
            return Trouble(f"{type(error).__name__}: {error}", passes=True)
        except aiohttp.ClientError as error:
            return Trouble(f"{type(error).__name__}: {error}", passes=False)


def _trouble_of(status: int, retry_after: str) -> Trouble:
    after = float(retry_after) if retry_after.isdecimal() else 0.0
    return Trouble(f"status {status}", passes=status >= 500 or status == _TOO_MANY, after=min(after, _LONGEST_WAIT))


async def _whole(content: aiohttp.StreamReader) -> bytes | Trouble:
    data = bytearray()
    async for piece in content.iter_any():
        data += piece
        if len(data) > _LARGEST:
            return Trouble(f"the answer is larger than {_LARGEST} bytes", passes=False)
    return bytes(data)

"""The optical archive as a source: polled with a mark, or held open until something comes.

The mark is the newest time that was taken in; it moves with the records into the log and nowhere else. Asking goes back
a little before it, and a record that came before is left out, so records of one time are neither lost nor taken twice.
What a record means is the affair of `optical_record`, and how the archive is reached that of `archive_client`.
"""

from __future__ import annotations

import asyncio
import logging
import time
from random import Random
from typing import TYPE_CHECKING, ClassVar

from meridian.sensors.observation import SourceKind
from meridian.sensors.optical_record import Unreadable, decode, no_records
from meridian.sensors.screening import Screened
from meridian.sensors.source import ObservationSource, Taken
from meridian.sensors.sources.archive_client import ArchiveClient, Mode, Polling, Trouble
from meridian.sensors.sources.overlap import Overlap

if TYPE_CHECKING:
    from collections.abc import Callable

    from meridian.sensors.screening import Screen
    from meridian.sensors.source import Nanoclock

logger = logging.getLogger(__name__)


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
        super().__init__(name, screen)
        self._endpoint = endpoint
        self._now_ns = now_ns
        self._polling = polling or Polling()
        self._client = ArchiveClient(endpoint, self._polling, random=random or Random(), clock=clock)
        self._overlap = Overlap(self._polling.overlap_ns, mark_ns)
        self._covered = mark_ns
        """Until when it is known what the archive had."""
        self._pause = 0.0
        self._is_caught_up = False
        self._stopping = asyncio.Event()
        self._answered_ns: int | None = None

    @property
    def where(self) -> str:
        """The archive that is asked."""
        return self._endpoint

    @property
    def mark(self) -> int:
        """The newest time that was taken in, in nanoseconds."""
        return self._overlap.mark_ns

    async def open(self) -> None:
        """Make the client; whether the archive answers shows when it is asked."""
        self._client.open()

    async def next(self) -> Taken | None:
        """The records of the next answer that has new ones."""
        while not self._stopping.is_set():
            await self._paused()
            if self._stopping.is_set():
                break
            self._note_gap()
            asked_ns = self._now_ns()
            match await self._client.ask(self._mode, self.mark):
                case None:
                    self._pause = self._client.wait()
                case Trouble() as trouble:
                    self._note_trouble(trouble)
                case bytes() as body if taken := self._taken(body, asked_ns):
                    return taken
        return None

    def stop(self) -> None:
        """Ask no more, and wait for no answer."""
        self._stopping.set()
        self._client.stop()

    async def close(self) -> None:
        """Give up the connections."""
        await self._client.close()

    def quiet_until_ns(self, now_ns: int) -> int | None:
        """Only the archive knows whether there was nothing: as long ago as it last said so."""
        return self._answered_ns

    def gauges(self) -> dict[str, float]:
        """How the archive does."""
        return {
            "circuit_breaker_state": self._client.breaker_state,
            "retry_attempts_total": self._client.retries,
        }

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

    def _taken(self, body: bytes, asked_ns: int) -> Taken | None:
        """What an answer has that is new. Nothing is awaited from here on, so it is handed over whole."""
        now = self._now_ns()
        decoded = decode(body, now)
        if isinstance(decoded, Unreadable):
            self._pause = self._polling.interval
            self.drops["answers"] += 1
            return Taken(Screened(no_records(), (decoded.refusal,)), body, now, self.mark)
        self._answered_ns = asked_ns
        self._covered = max(self._covered, asked_ns)
        fresh = self._overlap.fresh(decoded, now)
        if not len(fresh.columns) and not fresh.refused:
            self._is_caught_up = True
            self._pause = 0.0 if self._polling.mode is Mode.LONG_POLL else self._polling.interval
            return None
        self._is_caught_up = False
        return Taken(self.screen(fresh), body, now, self.mark)

    def _note_trouble(self, trouble: Trouble) -> None:
        self.drops["answers"] += 1
        self._pause = self._client.pause_after(trouble)
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

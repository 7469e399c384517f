"""Stations of an edge in this process: those of a document, synthetic ones, and sources that fail as they are told."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import ClassVar

from holdfast.flow import Backpressure, EdgePlan
from holdfast.log import DeadLetterLog, Inbox
from meridian.sensors import Screened, SourceKind, Taken
from meridian.sensors.config import EdgeDocument, parse
from meridian.sensors.consumers import Retention
from meridian.sensors.landing import Landing, Repeats
from meridian.sensors.pump import Pump
from meridian.sensors.radar_frame import RadarFrame, decode
from meridian.sensors.source import ObservationSource
from meridian.sensors.station import Assembly, Station
from meridian.sensors.watch import LagWatch

AT = 1_760_000_000_000_000_000


def document(directory: Path, *, archive: str = "http://127.0.0.1:9/none", radar: str = "") -> EdgeDocument:
    """A document of all three sources, in production's manner.

    :param radar: further lines of its table.
    """
    return parse(f"""
        [radar]
        bind_addrs = ["127.0.0.1:0"]
        {radar}
        [optical]
        endpoint = "{archive}"
        [isl]
        listen_addr = "127.0.0.1:0"
        [sink]
        output_dir = "{directory}"
        flush_ms = 1
        [control_plane]
        bind_addr = "127.0.0.1:0"
    """)


@contextmanager
def stations(directory: Path, *, radar: str = "") -> Iterator[list[Station]]:
    """Those of the document, made and not begun."""
    with ExitStack() as held:
        yield list(Assembly(document(directory, radar=radar), 1, time.time_ns, held).stations())


def frame(number: int) -> bytes:
    return RadarFrame(
        array_id=7, target_track_id=25544, timestamp_ns=AT + number, range_m=9e5, range_rate_m_s=-6e3,
        azimuth_rad=1.0, elevation_rad=0.5, sigma_range_m=10.0, sigma_rate_m_s=0.1,
    ).to_bytes()  # fmt: skip


class Synthetic(ObservationSource):
    """Gives so many observations, one at a time, raises what it is told to between them, and waits to be stopped.

    :param errors: each is raised once, before the next observation.
    """

    kind: ClassVar[SourceKind] = SourceKind.RADAR
    where = "nowhere"

    def __init__(self, name: str, count: int, errors: list[Exception] | None = None) -> None:
        super().__init__(name)
        self._left = list(range(count))
        self._errors = errors or []
        self._stopped = asyncio.Event()
        self._takes_turns = False
        self.settled = 0

    async def open(self) -> None:
        """Nothing to do."""

    async def next(self) -> Taken | None:
        await asyncio.sleep(0)
        self._takes_turns = not self._takes_turns
        if self._errors and self._takes_turns:
            raise self._errors.pop(0)
        if not self._left:
            await self._stopped.wait()
            return None
        data = frame(self._left.pop(0))
        return Taken(Screened(decode(data, AT).columns), data, AT, settled=self._settle)

    def _settle(self) -> None:
        self.settled += 1

    def stop(self) -> None:
        self._stopped.set()

    async def close(self) -> None:
        """Nothing to do."""


def synthetic(directory: Path, source: Synthetic, held: ExitStack, *, capacity: int = 1024) -> Station:
    """A station of such a source, with logs of its own."""
    name = f"obs.{source.name}"
    inbox = held.enter_context(Inbox.open(directory / name, name=name, epoch=1, flush_interval=0.001))
    dead = held.enter_context(DeadLetterLog.open(directory / f"dead.{source.name}", epoch=1))
    executor = held.enter_context(ThreadPoolExecutor(1))
    landing = Landing(inbox=inbox, dead=dead, executor=executor, repeats=Repeats.KEPT)
    plan = EdgePlan(capacity, Backpressure("The test waits."))
    pump = Pump(source, landing, plan=plan, now_ns=time.time_ns)
    retention = Retention(directory, inbox, None, age=timedelta(0), raw_age=timedelta(hours=1))
    return Station(pump, landing, None, retention, LagWatch(300.0))

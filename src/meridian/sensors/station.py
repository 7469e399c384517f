"""Makes of a document the sources that it names, each with its pump and its logs. Nothing runs yet."""

from __future__ import annotations

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.capture.reception import KeptKeys
from holdfast.flow import Backpressure, BurstProfile, EdgePlan
from holdfast.log import DeadLetterLog, Inbox
from meridian.sensors.config import host_and_port
from meridian.sensors.consumers import Retention
from meridian.sensors.landing import Landing, Repeats
from meridian.sensors.letters import FOLDER, LIMITS, LetterUpkeep, owned
from meridian.sensors.observation import SourceKind
from meridian.sensors.pump import Pump
from meridian.sensors.recent import recent_ids
from meridian.sensors.screening import Screen
from meridian.sensors.second_look import screen_of
from meridian.sensors.sightings import Sightings
from meridian.sensors.sources.isl_tcp import IslTcp
from meridian.sensors.sources.optical_http import OpticalHttp
from meridian.sensors.sources.radar_udp import RadarUdp
from meridian.sensors.watch import LagWatch, Sample, Watch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Future
    from contextlib import ExitStack

    from meridian.sensors.config import EdgeDocument
    from meridian.sensors.source import Nanoclock, ObservationSource

KEYS_KEPT = 1_000_000
"""So many of the newest ids of a log are remembered: hours of beacons and records."""

OPTICAL_EDGE = EdgePlan(1, Backpressure("One answer at a time: the mark moves with each, and never back."))
RADAR_BURST = BurstProfile(peak_rate=5_000, peak_seconds=60, processing_rate=4_500, safety=2.0)
"""What the network sends after a fragmentation, while the disk is at its slowest."""


def radar_edge(capacity: int) -> EdgePlan:
    """From an array to its log."""
    return EdgePlan(capacity, Backpressure("Arrays cannot wait: the kernel drops, and counts what."), RADAR_BURST)


def isl_edge(capacity: int) -> EdgePlan:
    """From satellites to their log."""
    return EdgePlan(capacity, Backpressure("A satellite keeps what is not answered, and its window closes."))


@dataclass(slots=True, eq=False)
class Station:
    """One source with its pump and its logs."""

    pump: Pump
    landing: Landing
    keys: KeptKeys | None
    """Bounds the ids that are remembered, where ids are."""
    retention: Retention
    lag_watch: LagWatch
    """Raises the alarm when a consumer of the log stays behind."""
    told: Counter[str] = field(default_factory=Counter)
    """What had been dropped when that was last logged."""
    raised: dict[str, str] = field(default_factory=dict)
    """The alarms that the watch has raised."""
    watch: Watch = field(default_factory=Watch)
    lags: dict[str, int] = field(default_factory=dict)
    """How many events each consumer of the log is behind."""
    letters: LetterUpkeep = field(init=False)
    """Lets dead letters go whose time is over."""
    _tending: Future[None] | None = None
    _upkeep: dict[str, str] = field(default_factory=dict)
    _lagging: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.letters = LetterUpkeep(self.landing.dead)

    @property
    def source(self) -> ObservationSource:
        """What it takes from."""
        return self.pump.source

    @property
    def operators(self) -> tuple[str, str]:
        """How its source and its log are called in the graph."""
        return self.source.name, self.landing.inbox.name

    @property
    def alarms(self) -> dict[str, str]:
        """All that somebody has to know, by name."""
        return {**self.source.alarms, **self.raised}

    def watched(self, now: float) -> dict[str, str]:
        """What the watch says of it now, and what keeps it from forgetting what nobody needs."""
        drops, meter = self.source.drops, self.pump.meter
        sample = Sample(now, meter.taken, drops["kernel"] + drops["wrong_size"], meter.lags.negative)
        return {**self.watch.alarms(sample), **self._upkeep, **self._lagging}

    def tend(self) -> None:
        """Forget what nobody needs, in the thread that waits for the disk. What that meets is an alarm."""
        if self._tending is not None:
            if not self._tending.done():
                return
            error = self._tending.exception()
            self._upkeep = {} if error is None else {"upkeep": str(error)}
        self._tending = self.landing.executor.submit(self._forget)

    def _forget(self) -> None:
        meter = self.landing.meter
        if self.keys is not None:
            self.keys.tend(meter.durable)
        self.retention.tend()
        self.letters.tend()
        self.lags = self.retention.lags()
        inbox = self.landing.inbox
        self._lagging = self.lag_watch.alarms(time.monotonic(), inbox.end(), inbox.cursors())


@dataclass(frozen=True, slots=True)
class Assembly:
    """What stations are made of."""

    document: EdgeDocument
    epoch: int
    now_ns: Nanoclock
    held: ExitStack
    """Is given everything that has to be closed."""

    def stations(self) -> Iterator[Station]:
        """One for each source of the document, in its order."""
        document = self.document
        self.held.enter_context(owned(self._directory))
        dead = self.held.enter_context(DeadLetterLog.open(self._place(FOLDER), epoch=self.epoch, limits=LIMITS))
        screen = screen_of(document)
        if document.radar:
            for number, address in enumerate(document.radar.bind_addrs, start=1):
                yield self._radar(f"radar-{number}", address, screen, dead)
        if document.optical:
            yield self._optical("optical", screen, dead)
        if document.isl:
            yield self._isl("isl", screen, dead)

    def _radar(self, name: str, address: str, screen: Screen, dead: DeadLetterLog) -> Station:
        settings = self.document.radar
        assert settings is not None
        linger = settings.linger_ms / 1000
        source = RadarUdp(name, host_and_port(address), screen, self.now_ns, linger=linger)
        landing = self._landing(name, SourceKind.RADAR, dead)
        if settings.repeats_within_ms:
            window_ns, log = settings.repeats_within_ms * 1_000_000, self._place(landing.inbox.name)
            landing.stages = (recent_ids(log, window_ns=window_ns, now_ns=self.now_ns()),)
        return self._station(source, landing, radar_edge(settings.capacity))

    def _optical(self, name: str, screen: Screen, dead: DeadLetterLog) -> Station:
        settings = self.document.optical
        assert settings is not None
        landing = self._landing(name, SourceKind.OPTICAL, dead)
        position = landing.inbox.position()
        mark = 0 if position is None else int(str(position))
        source = OpticalHttp(name, settings.endpoint, screen, self.now_ns, polling=settings.polling, mark_ns=mark)
        return self._station(source, landing, OPTICAL_EDGE)

    def _isl(self, name: str, screen: Screen, dead: DeadLetterLog) -> Station:
        settings = self.document.isl
        assert settings is not None
        address, most = host_and_port(settings.listen_addr), settings.most_connections
        source = IslTcp(name, address, screen, self.now_ns, most_connections=most)
        landing = self._landing(name, SourceKind.INTER_SATELLITE_LINK, dead)
        return self._station(source, landing, isl_edge(settings.capacity))

    def _station(self, source: ObservationSource, landing: Landing, plan: EdgePlan) -> Station:
        if self.document.sightings is not None:
            landing.meter.sightings = Sightings(self.document.sightings.window_ms * 1_000_000)
        pump = Pump(source, landing, plan=plan, now_ns=self.now_ns)
        keys = KeptKeys(landing.inbox, KEYS_KEPT) if landing.repeats is Repeats.LEFT_OUT else None
        lag_watch = LagWatch(self.document.sink.lag_alarm_s)
        return Station(pump, landing, keys, self._retention(landing), lag_watch)

    def _retention(self, landing: Landing) -> Retention:
        sink = self.document.sink
        return Retention(
            self._directory,
            landing.inbox,
            landing.raw,
            age=timedelta(hours=sink.keep_hours),
            raw_age=timedelta(hours=sink.raw_keep_hours),
            quota=sink.quota_bytes,
        )

    def _landing(self, name: str, kind: SourceKind, dead: DeadLetterLog) -> Landing:
        executor = ThreadPoolExecutor(1, thread_name_prefix=f"edge-{name}")
        inbox = self._inbox(f"obs.{name}")
        raw = self._inbox(f"raw.{name}") if self.document.sink.keep_raw else None
        self.held.callback(executor.shutdown)
        repeats = Repeats.KEPT if kind is SourceKind.RADAR else Repeats.LEFT_OUT
        return Landing(inbox=inbox, dead=dead, executor=executor, raw=raw, repeats=repeats)

    def _inbox(self, name: str) -> Inbox:
        sink = self.document.sink
        opened = Inbox.open(
            self._place(name), name=name, epoch=self.epoch, quota=sink.quota_bytes, flush_interval=sink.flush_ms / 1000
        )
        return self.held.enter_context(opened)

    def _place(self, name: str) -> Path:
        return self._directory / name

    @property
    def _directory(self) -> Path:
        return Path(self.document.sink.output_dir)

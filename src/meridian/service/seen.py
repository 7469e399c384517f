"""What the parts of an operation say of themselves, as values: the edge, the pipeline, and the way between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class SensorSeen:
    """One source of the edge, as the edge tells of it. Counts are since the edge was started.

    :param source: `radar-1`, `optical`, `isl`; `network` is `radar`, `optical` or `isl`.
    :param why: what ended it, when it does not take in any more.
    :param alarms: what the edge itself has raised, by name.
    :param taken: everything that came in; each is `durable`, `repeated`, `refused`, `outside` or still under way.
    """

    source: str
    network: str
    is_alive: bool = True
    why: str | None = None
    alarms: Mapping[str, str] = field(default_factory=dict)
    rate: float = 0.0
    """Observations a second, over about 30 seconds."""
    channel: tuple[int, int] = (0, 1)
    """How many are under way to disk, and how many may be."""
    taken: int = 0
    durable: int = 0
    repeated: int = 0
    refused: int = 0
    outside: int = 0
    heartbeats: int = 0
    unreadable: int = 0
    """Of the refused, those whose bytes mean nothing."""
    bytes_written: int = 0
    drops: Mapping[str, int] = field(default_factory=dict)
    """What was never taken, by cause."""
    watermark_ns: int | None = None
    """Nothing while nobody can tell."""
    log_end: int = 0
    """How many events its log has ever had, heartbeats and those of earlier runs included."""
    consumer_lag: Mapping[str, int] = field(default_factory=dict)
    """How many events each consumer of its log is behind."""
    breaker: int | None = None
    """Of whatever it asks: 0 closed, 1 open, 2 half-open. Nothing when nobody tells."""
    retries: int = 0

    @property
    def log(self) -> str:
        """The log it writes to."""
        return f"obs.{self.source}"


@dataclass(frozen=True, slots=True)
class OperatorSeen:
    """Something that runs, and is started again when it fails.

    :param restarts: since its process was started; `uptime_s` is since it was last started itself.
    """

    operator: str
    restarts: int = 0
    uptime_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeSeen:
    """The edge as it answers."""

    is_well: bool
    sensors: Sequence[SensorSeen] = ()
    operators: Sequence[OperatorSeen] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedSeen:
    """A log of the edge on its way into fusion, in events: heartbeats count.

    :param passed: up to which event of the edge's log fusion has captured or shed everything.
    :param captured: of these, what lies in fusion's inbox.
    :param judged: of the captured, what the newest row of the progress counts.
    :param shed: of the passed, what was left out on purpose, because it matters least.
    """

    log: str
    passed: int = 0
    captured: int = 0
    judged: int = 0
    shed: int = 0

    @property
    def waiting(self) -> int:
        """What fusion has and has not judged."""
        return max(self.captured - self.judged, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkSeen:
    """A table on its way.

    :param age_s: since the oldest batch was published that it lacks; 0 when it has all.
    :param latency_s: from capture to commit, of the last batches: at the median, the 99th percentile, and the worst.
    """

    sink: str
    state: str
    lag_batches: int = 0
    age_s: float = 0.0
    rows: int = 0
    rows_dead: int = 0
    breaker: int = 0
    """0 closed, 1 open, 2 half-open."""
    attempts: int = 0
    """How often the batch in the worst state has failed so far."""
    latency_s: tuple[float, float, float] = (0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that the pipeline itself has raised: which alarm, about which of its components, and why."""

    alarm: str
    component: str
    cause: str
    remedy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineSeen:
    """The pipeline of fusion as its process answers.

    :param restarts: how often the query was started again in this process.
    :param checkpoint_age_s: since the cursors were written.
    """

    state: str
    uptime_s: float = 0.0
    restarts: int = 0
    waiting: Mapping[str, int] = field(default_factory=dict)
    """Captured and in no published batch, by source."""
    outbox_bytes: int = 0
    outbox_quota: int | None = None
    sinks: Sequence[SinkSeen] = ()
    checkpoint_age_s: float = 0.0
    checkpoint_bytes: int = 0
    starts: Mapping[str, int] = field(default_factory=dict)
    """How often the query was started in this process, by where it began: `fresh`, or from its `local` checkpoint."""
    pauses: Sequence[int] = ()
    """How many batches took how long to write the state, by `COARSE_BOUNDS`."""
    pause_seconds: float = 0.0
    """How long all of them took."""
    findings: Sequence[Finding] = ()


@dataclass(frozen=True, slots=True, order=True)
class DeadLetters:
    """Rows that were ever given up at one place for one kind of reason."""

    operator: str
    kind: str
    count: int

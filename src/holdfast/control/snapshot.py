"""Where a pipeline stands at one moment: the same values whether a process runs it or only its files are there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from holdfast.control.latency import Latency
from holdfast.runtime.timing import Timing


@dataclass(frozen=True, slots=True)
class SourceView:
    """A source and its inbox."""

    name: str
    state: str
    captured: int
    """Events appended by this process."""
    end: int
    """The last event in the inbox."""
    waiting: int
    """Events in the inbox that are in no published batch: how far processing lags behind."""
    age: float
    """Seconds for which the oldest of them waits; 0 when there is none."""
    nbytes: int
    """The size of the inbox."""
    quota: int | None
    position: str | None
    """The last position that was acknowledged to the source: it may forget everything up to there."""
    error: str | None
    silent: float = 0.0
    """Seconds for which it has not come back from being read; 0 when nobody waits for it."""
    is_stalled: bool = False
    """Whether that is longer than it says it may take."""
    waiting_bytes: int = 0
    """The part of the inbox that is still to be processed; the rest is kept until the room is needed."""
    event_lag: float | None = None
    """Seconds from the newest time of an event in the inbox to now; None when events have no time."""
    unacknowledged: str | None = None
    """Why the source cannot be acknowledged; None when it can."""
    unacknowledged_for: float = 0.0
    """Seconds for which that is so."""


@dataclass(frozen=True, slots=True)
class SparkView:
    """What runs the steps."""

    active: bool
    batch_id: int | None
    restarts: int
    replays: int
    starts: Mapping[str, int] = field(default_factory=dict)
    """How often it was started by this process, by where it began: `fresh`, or from its `local` checkpoint."""
    timing: Timing = field(default_factory=Timing)
    """What its batches took in this process."""
    last_failure: str | None = None
    """Why it was last started again by this process."""
    lost_lately: int = 0
    """How often its JVM or a Python worker was lost within the last ten minutes."""


@dataclass(frozen=True, slots=True)
class OutboxView:
    """The batches on their way to the sinks."""

    newest: int
    committed: int
    nbytes: int
    quota: int | None


@dataclass(frozen=True, slots=True)
class LaneView:
    """A sink and its lane."""

    name: str
    kind: str
    tier: str
    required: bool
    state: str
    cursor: int
    lag_batches: int
    lag_rows: int
    age: float
    """Seconds since the oldest batch was published that the sink does not have; 0 when it has all."""
    queued: int
    in_flight: int
    rejected: int
    rows_out: int
    rows_dead: int
    rows_filtered: int
    attempts: int
    breaker: str
    latency: Latency
    error: str | None
    event_lag: float | None = None
    """Seconds from the newest time of an event that the sink has to now; None when that is not known."""


@dataclass(frozen=True, slots=True)
class RemoteCopyView:
    """The copy of the checkpoints in the remote store."""

    health: str
    """`ok`, `lagging` or `failing`."""
    behind: int
    """Commits that are not copied yet."""
    age: float
    """Seconds for which the oldest of them waits."""
    cause: str
    """How the two stores stand to each other, and why the newest attempt to copy failed, if it did."""
    remedy: str | None


@dataclass(frozen=True, slots=True)
class CheckpointView:
    """The cursors on disk."""

    version: int
    age: float
    """Seconds since they were written."""
    nbytes: int
    is_durable: bool
    """Whether they are the current ones."""
    store: str = "sqlite"
    """The kind of store that keeps them."""
    recovery: str | None = None
    """Where this run got its checkpoints: `local`, `local_fallback`, `remote` or `fresh`; None when nothing runs."""
    remote: RemoteCopyView | None = None
    """None without a remote store, and when nothing runs."""


@dataclass(frozen=True, slots=True)
class DeadLettersView:
    """Rows that were given up."""

    kept: int
    new: int
    """Entries that nobody has seen to."""
    arrived: int
    """Rows that were ever given up, also those whose entry is gone."""
    most: int | None
    """How many entries there may be; None when nobody can tell."""
    overflow: str
    """What becomes of the next row when there are so many."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A whole pipeline."""

    pipeline: str
    state: str
    pid: int | None
    """The process that runs it."""
    at: datetime
    error: str | None
    trouble: str | None
    """What keeps decisions from being executed just now."""
    sources: tuple[SourceView, ...]
    spark: SparkView
    outbox: OutboxView
    lanes: tuple[LaneView, ...]
    checkpoint: CheckpointView
    dead_letters: DeadLettersView
    disk_free: int
    """Bytes that are free on the disk of the pipeline's directory."""
    disk_headroom: int = 0
    """Bytes that capture leaves free on that disk; with less, nothing is captured."""

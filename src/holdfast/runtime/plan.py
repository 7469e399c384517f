"""What a pipeline is declared to be: a value, checked when it is made. It starts nothing."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.flow.exits import Budget
from holdfast.ledger import Policy, Required
from holdfast.log import DeadLetterLimits, Keep
from holdfast.model.errors import InvalidPipeline
from holdfast.model.names import NAME
from holdfast.process.refusals import StepText
from holdfast.process.steps import Step
from holdfast.runtime.checkpoints.settings import (
    FileSettings,
    LocalSettings,
    PostgresSettings,
    RemoteSettings,
    SqliteSettings,
)
from holdfast.runtime.isolation import IsolationLimits
from holdfast.runtime.rollback.points import PointsKept
from holdfast.runtime.session import SparkSettings

if TYPE_CHECKING:
    from holdfast.capture.contract import Input
    from holdfast.deliver import SinkSpec

_MIB = 1024 * 1024
KEEP_DELIVERED = 256 * _MIB
_LONGEST_CADENCE = timedelta(seconds=1)
"""With which the alarm about the age of the checkpoint reckons."""
_SHORTEST_REPLICATION = timedelta(milliseconds=100)


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """How large a micro-batch may grow, and how long an event may wait for one."""

    max_events: int = 50_000
    max_bytes: int = 16 * _MIB
    max_wait: timedelta = timedelta(milliseconds=200)
    """How long the first event of a batch waits for more before the batch is admitted."""
    respect_source_tx: bool = True
    """Whether a batch always holds whole transactions, however large they are."""
    max_partitions: int = field(default_factory=lambda: os.cpu_count() or 1)
    """How many tasks of Spark read a large batch; a small one is read by one."""
    partition_bytes: int = 32 * _MIB
    """How much one task reads before another one helps: as few tasks as the size needs, because each costs time."""


@dataclass(frozen=True, slots=True)
class Quotas:
    """How much disk the logs may use before what feeds them has to wait."""

    inbox: int | None = 4096 * _MIB
    """Bytes per source; capture waits."""
    outbox: int | None = 4096 * _MIB
    """Bytes; Spark is given no new batch."""
    detach_after: timedelta = timedelta(seconds=10)
    """How long a full outbox waits for an optional sink before it is detached, unless the sink is to block."""


@dataclass(frozen=True, slots=True)
class Checkpointing:
    """Where checkpoints are kept and copied to, how often cursors are written, and how many versions of them stay."""

    cadence: timedelta = timedelta(0)
    """From one write to the next, so that answers share it; without one they are written when they change."""
    keep_versions: int = 100
    store: LocalSettings = field(default_factory=SqliteSettings)
    remote: RemoteSettings | None = None
    """Where checkpoints are copied to in the background; a start that finds the local store empty recovers there."""
    replicate_every: timedelta = timedelta(seconds=30)
    """From one copy to the next."""

    def __post_init__(self) -> None:
        if self.cadence > _LONGEST_CADENCE:
            raise _invalid(
                f"Cursors that are written every {self.cadence.total_seconds():g} s would look as if they were stuck.",
                "Write them at least once a second.",
            )
        if self.keep_versions < 1:
            raise _invalid(f"{self.keep_versions} versions of the cursors are too few.", "Keep at least one.")
        self._check_remote()

    def _check_remote(self) -> None:
        if self.remote is None:
            return
        if isinstance(self.store, PostgresSettings):
            raise _invalid(
                "A checkpoint store in PostgreSQL has no `remote`: it is on a server already.",
                "Let PostgreSQL replicate it, or keep checkpoints in `sqlite` or `file` and name this server `remote`.",
            )
        if isinstance(self.remote, FileSettings) and self.remote.directory is None:
            raise _invalid("The remote checkpoint store has no directory.", "Name a directory on another disk.")
        if self.replicate_every < _SHORTEST_REPLICATION:
            raise _invalid(
                f"Checkpoints cannot be copied every {self.replicate_every.total_seconds():g} s.",
                f"Copy them every {_SHORTEST_REPLICATION.total_seconds():g} s at most, such as every 30 s.",
            )


@dataclass(frozen=True)
class Plan:
    """A whole pipeline."""

    name: str
    directory: Path
    sources: Sequence[Input]
    sinks: Sequence[SinkSpec]
    steps: Sequence[Step] = ()
    policy: Policy = field(default_factory=Required)
    batch: BatchLimits = field(default_factory=BatchLimits)
    quotas: Quotas = field(default_factory=Quotas)
    keep: Keep = field(default_factory=Keep)
    """What the inboxes keep longer than it is needed, for a rollback or an older copy of Spark's checkpoint."""
    checkpoint: Checkpointing = field(default_factory=Checkpointing)
    keep_delivered: int = KEEP_DELIVERED
    """How many bytes of the newest hundred batches the outbox keeps although every sink has them, for a rollback.

    At most a quarter of the outbox's quota.
    """
    points: PointsKept = field(default_factory=PointsKept)
    dead_letters: DeadLetterLimits = field(default_factory=DeadLetterLimits)
    restarts: Budget = field(default_factory=Budget)
    isolation: IsolationLimits = field(default_factory=IsolationLimits)
    spark: SparkSettings = field(default_factory=SparkSettings)
    output_mode: str = "append"
    step_texts: Sequence[StepText] = field(default=(), compare=False, repr=False)
    """Where each step stands in the document, when there is one."""

    @property
    def outbox_keep(self) -> Keep:
        """What the outbox keeps longer than it is needed."""
        quota = self.quotas.outbox
        return Keep(nbytes=self.keep_delivered if quota is None else min(self.keep_delivered, quota // 4))

    def __post_init__(self) -> None:
        for what, names in (
            ("pipeline", [self.name]),
            ("source", [source.name for source in self.sources]),
            ("sink", [sink.name for sink in self.sinks]),
        ):
            _check_names(what, names)
        if not self.sources or not self.sinks:
            raise _invalid(f"Pipeline {self.name!r} has no {'source' if not self.sources else 'sink'}.", "Add one.")
        if min(self.batch.max_events, self.batch.max_bytes, self.batch.partition_bytes) < 1:
            raise _invalid(f"{self.batch} admits nothing.", "Give limits from 1 on.")
        self.keep.check_against(self.quotas.inbox)


def _check_names(what: str, names: Sequence[str]) -> None:
    for name, times in Counter(names).items():
        if not re.fullmatch(NAME, name):
            raise _invalid(
                f"{name!r} is not a name for a {what}.", "Use up to 63 of a-z, 0-9, - and _, not starting with - or _."
            )
        if times > 1:
            raise _invalid(f"There are {times} {what}s named {name!r}.", "Give each a name of its own.")


def _invalid(what: str, remedy: str) -> InvalidPipeline:
    return InvalidPipeline(what, remedy=remedy)

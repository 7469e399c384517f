"""The blocks of a pipeline document from its root down. Sources, sinks and steps have modules of their own."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, StringConstraints, WithJsonSchema, WrapValidator
from pydantic_core.core_schema import ValidatorFunctionWrapHandler

from holdfast.config.checkpoint import CheckpointBlock
from holdfast.config.fields import Block, Count, Duration, Flag, Name, Size, Text, Whole
from holdfast.config.references import Expanded
from holdfast.config.sinks import AnySink
from holdfast.config.sources import AnySource
from holdfast.config.steps import StepBlock
from holdfast.flow.exits import Budget
from holdfast.ledger import All, Policy, Quorum, Required
from holdfast.log import DeadLetterLimits, Keep, Overflow
from holdfast.model.errors import InvalidPipeline
from holdfast.runtime.isolation import IsolationLimits
from holdfast.runtime.plan import KEEP_DELIVERED, BatchLimits, Quotas
from holdfast.runtime.rollback.points import PointsKept
from holdfast.runtime.session import SparkSettings

_BATCH = BatchLimits()
_QUOTAS = Quotas()
_POINTS = PointsKept()
_DEAD = DeadLetterLimits()
_RESTARTS = Budget()
_ISOLATION = IsolationLimits()


class Metadata(Block):
    """What the pipeline is called."""

    name: Name
    """The name of the pipeline. It never changes: everything the pipeline remembers is kept under it."""


class BatchBlock(Block):
    """How large a micro-batch may grow, and how long an event may wait for one."""

    max_events: Count = _BATCH.max_events
    """Events in a batch. Chosen because at 50,000 rows a batch the way through outbox and lane costs nothing beside
    plain Spark (1.03 times its rate), and at 400,000 a quarter of the rate (docs/benchmarks.md)."""
    max_bytes: Size = _BATCH.max_bytes
    """Bytes in a batch."""
    max_ms: Whole = int(_BATCH.max_wait / timedelta(milliseconds=1))
    """Milliseconds that the first event of a batch waits for more."""
    respect_source_tx: Flag = _BATCH.respect_source_tx
    """Whether a batch always holds whole transactions, however large they are."""
    max_partitions: Count | None = None
    """How many tasks of Spark read a large batch; without it, as many as the machine has cores."""
    partition_bytes: Size = _BATCH.partition_bytes
    """How much one task reads before another one helps, since each costs time."""

    def limits(self) -> BatchLimits:
        """The value."""
        given = {} if self.max_partitions is None else {"max_partitions": self.max_partitions}
        return BatchLimits(
            max_events=self.max_events,
            max_bytes=self.max_bytes,
            max_wait=timedelta(milliseconds=self.max_ms),
            respect_source_tx=self.respect_source_tx,
            partition_bytes=self.partition_bytes,
            **given,
        )


Quota = Size | Literal["unlimited"]


class QuotasBlock(Block):
    """How much disk the logs may use before what feeds them has to wait."""

    inbox: Quota = _QUOTAS.inbox or "unlimited"
    """For each source; capture waits."""
    outbox: Quota = _QUOTAS.outbox or "unlimited"
    """For all sinks together; Spark is given no new batch."""
    detach_after: Duration = _QUOTAS.detach_after
    """How long a full outbox waits for a sink that is not required, before it is detached."""

    def quotas(self) -> Quotas:
        """The value."""
        return Quotas(
            inbox=None if self.inbox == "unlimited" else self.inbox,
            outbox=None if self.outbox == "unlimited" else self.outbox,
            detach_after=self.detach_after,
        )


class KeepBlock(Block):
    """What is kept although nobody needs it any more, so that one can go back. It never shortens anything."""

    age: Duration | None = None
    """Events that were processed and are younger stay."""
    size: Size | None = None
    """The newest events of each source stay, up to this size: at most half of the inbox's quota."""
    delivered: Size = KEEP_DELIVERED
    """The newest batches that every sink has stay, up to this size: at most a quarter of the outbox's quota."""

    def keep(self) -> Keep:
        """What the inboxes keep."""
        return Keep(age=self.age, nbytes=self.size)


class PointsBlock(Block):
    """Points to go back to: copies of Spark's checkpoint by hard links. Inboxes keep what came since the oldest."""

    every: Duration = _POINTS.every
    """From one point to the next."""
    kept: Duration = _POINTS.kept
    """How long a point stays; `0s` makes none."""

    def points(self) -> PointsKept:
        """The value."""
        return PointsKept(every=self.every, kept=self.kept)


class DeadLettersBlock(Block):
    """How many rows that can never be processed or delivered are kept, and how long."""

    max_entries: Count = _DEAD.max_entries
    """How many entries; those that were acknowledged or reprocessed go first when a new one needs their place."""
    max_age: Duration = _DEAD.max_age
    """After which time an entry goes, whatever its state; `0s` keeps entries for ever."""
    overflow: Annotated[Overflow, Field(strict=False)] = _DEAD.overflow
    """What becomes of a row without room for its entry: it waits, the oldest entry goes, or the row is dropped."""

    def limits(self) -> DeadLetterLimits:
        """The value."""
        return DeadLetterLimits(max_entries=self.max_entries, max_age=self.max_age, overflow=self.overflow)


class RestartsBlock(Block):
    """How many failures are forgiven before the pipeline is left alone."""

    failures: Whole = _RESTARTS.failures
    """How many."""
    within: Duration = _RESTARTS.within
    """In which time."""

    def budget(self) -> Budget:
        """The value."""
        return Budget(failures=self.failures, within=self.within)


class IsolationBlock(Block):
    """How much is done to find the events that make a batch fail, before the pipeline fails as a whole."""

    max_rows: Whole = _ISOLATION.max_rows
    """So many events of one batch may be given up; if more fail, the steps are wrong and not the events."""
    max_probes: Whole = _ISOLATION.max_probes
    """How many pieces of the batch are tried."""
    max_time: Duration = _ISOLATION.max_time
    """For how long."""

    def limits(self) -> IsolationLimits:
        """The value."""
        return IsolationLimits(max_rows=self.max_rows, max_probes=self.max_probes, max_time=self.max_time)


class CommitBlock(Block):
    """When a batch is committed, so that its source may forget it."""

    policy: Literal["required", "all", "quorum"] = "required"
    """When every required sink has it, when every sink has it, or when any `quorum` of them have it."""
    quorum: Count | None = None
    """How many sinks; only with the policy `quorum`."""

    def check(self) -> None:
        """A quorum has a number, and nothing else has."""
        if (self.policy == "quorum") != (self.quorum is not None):
            raise InvalidPipeline(
                f"The policy `{self.policy}` {'needs' if self.quorum is None else 'has no'} number of sinks.",
                remedy="Write both `policy: quorum` and `quorum: 2`, or neither.",
            )

    def rule(self) -> Policy:
        """The value."""
        if self.quorum is not None:
            return Quorum(self.quorum)
        return All() if self.policy == "all" else Required()


def _words_of_spark(value: object) -> object:
    """Spark takes text; numbers and flags may be written as they are."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else value


def _still_redacted(value: object, check: ValidatorFunctionWrapHandler) -> str:
    checked: str = check(value)
    return Expanded(checked) if isinstance(value, Expanded) else checked


SparkKey = Annotated[str, StringConstraints(pattern=r"^spark\.\S+$")]
SparkValue = Annotated[
    str,
    WrapValidator(_still_redacted),
    BeforeValidator(_words_of_spark),
    WithJsonSchema({"type": ["string", "number", "boolean"]}),
]


class SparkBlock(Block):
    """Where Spark runs, and what differs from our settings of it."""

    master: Text = SparkSettings().master
    """The master, such as `local[*]`, `spark://host:7077` or `yarn`."""
    conf: dict[SparkKey, SparkValue] = Field(default_factory=dict, json_schema_extra={"additionalProperties": False})
    """Properties of Spark, which win over ours."""

    def settings(self) -> SparkSettings:
        """The value."""
        return SparkSettings(master=self.master, conf=self.conf)


class Spec(Block):
    """What the pipeline does."""

    source: AnySource | None = None
    """Where events come from; `sources` when there are several."""
    sources: Annotated[list[AnySource], Field(min_length=1)] | None = None
    """Where events come from, when there are several places."""
    process: list[StepBlock] = Field(default_factory=list)
    """The steps between events and rows, in order."""
    output_mode: Literal["append", "update"] = "append"
    """Spark's output mode of a query with state."""
    sinks: Annotated[list[AnySink], Field(min_length=1)]
    """Where rows go."""
    commit: CommitBlock = Field(default_factory=CommitBlock)
    """When a batch is committed, so that its source may forget it."""
    batch: BatchBlock = Field(default_factory=BatchBlock)
    """How large a micro-batch may grow, and how long an event may wait for one."""
    quotas: QuotasBlock = Field(default_factory=QuotasBlock)
    """How much disk the logs may use before what feeds them has to wait."""
    keep: KeepBlock = Field(default_factory=KeepBlock)
    """What is kept although nobody needs it any more, so that one can go back."""
    points: PointsBlock = Field(default_factory=PointsBlock)
    """How often a point to go back to is made, and how long it stays."""
    checkpoint: CheckpointBlock = Field(default_factory=CheckpointBlock)
    """Where checkpoints are kept and copied to, and how often cursors are written."""
    dead_letters: DeadLettersBlock = Field(default_factory=DeadLettersBlock)
    """How many rows that can never be processed or delivered are kept, and how long."""
    restarts: RestartsBlock = Field(default_factory=RestartsBlock)
    """How many failures are forgiven before the pipeline is left alone."""
    isolation: IsolationBlock = Field(default_factory=IsolationBlock)
    """How much is done to find the events that make a batch fail."""
    spark: SparkBlock = Field(default_factory=SparkBlock)
    """Where Spark runs, and what differs from our settings of it."""
    directory: Text | None = None
    """Where everything of the pipeline is kept; without it, `holdfast-data/` and its name, beside the document."""

    def check(self) -> None:
        """What is kept leaves capture room to go on."""
        self.keep.keep().check_against(self.quotas.quotas().inbox)

    @property
    def all_sources(self) -> Sequence[AnySource]:
        """The sources, whichever key declares them."""
        return self.sources or ([self.source] if self.source else [])


class PipelineDocument(Block):
    """A pipeline: what it reads, what it does, and where it delivers."""

    apiVersion: Literal["holdfast/v1"]  # noqa: N815 (as such documents spell it)
    """The version of this format."""
    kind: Literal["Pipeline"]
    """What the document declares."""
    metadata: Metadata
    """What the pipeline is called."""
    spec: Spec
    """What the pipeline does."""

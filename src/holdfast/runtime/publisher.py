"""What happens to a micro-batch: it is published in the outbox once, however often Spark runs it.

The publisher knows no Spark. Whoever runs batches (Spark's `foreachBatch`, or a driver without a JVM in tests) hands in
a function that evaluates the batch: once, into parts and a digest.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol

from holdfast.log.values import Digest, NewBatch, PartRef, Published
from holdfast.model.errors import BatchDiverged, NotDeterministic
from holdfast.process.guarding import FailedRow

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from holdfast.log.outbox import Outbox
    from holdfast.model.positions import Position
    from holdfast.runtime.spark_checkpoint import Plan, SparkCheckpoint


class Keep(Enum):
    """Whether the rows of an evaluation are written, or only counted and hashed."""

    PARTS = "parts"
    DIGEST = "digest"


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What a batch came to."""

    digest: Digest
    parts: tuple[PartRef, ...] = ()
    failed: tuple[FailedRow, ...] = ()
    """Rows that a step gave up, so that they are in no part."""


class Evaluate(Protocol):
    """Evaluates the batch at hand, in one pass."""

    def __call__(self, keep: Keep) -> Evaluation:
        """The digest, and the parts when they are to be kept."""


class Replayed(Enum):
    """How a batch that came again compares with what was published."""

    EQUAL = "equal"
    STEPS_CHANGED = "the steps were changed since it was published"
    NOT_DETERMINISTIC = "the same steps gave other rows: a step is not deterministic"


@dataclass(frozen=True, slots=True)
class Replay:
    """A published batch came again; its first publication stands."""

    batch: Published
    verdict: Replayed
    digest: Digest


class Positions(Protocol):
    """Tells where the sources stand after an offset."""

    def __call__(self, ends: Mapping[str, int], /) -> Mapping[str, Position]:
        """The position of each source by its name."""


class Bury(Protocol):
    """Makes rows of a batch that failed durable as dead letters, each once however often it is told."""

    def __call__(self, plan: Plan, failed: Sequence[FailedRow], /) -> None:
        """They are durable when this returns."""


class Publisher:
    """Publishes the batches of one query, each once."""

    def __init__(
        self,
        outbox: Outbox,
        checkpoint: SparkCheckpoint,
        *,
        query_id: str,
        fingerprint: str,
        stateful: bool,
        positions: Positions,
        bury: Bury,
        published: Callable[[Published], None],
        replayed: Callable[[Replay], None],
    ) -> None:
        self._outbox = outbox
        self._checkpoint = checkpoint
        self._query_id = query_id
        self._fingerprint = fingerprint
        self._stateful = stateful
        self._positions = positions
        self._bury = bury
        self._published = published
        self._replayed = replayed

    def run(self, batch_id: int, evaluate: Evaluate) -> None:
        """Evaluate the batch and publish it, or find that it was published before."""
        plan = self._checkpoint.plan(batch_id)
        self._checkpoint.sync_plan(batch_id)
        before = self._outbox.find(batch_id)
        if before is None:
            self._publish(plan, evaluate(Keep.PARTS))
        else:
            self._check_same(before, plan)
            self._compare(before, evaluate(Keep.DIGEST))

    def _publish(self, plan: Plan, evaluation: Evaluation) -> None:
        """Dead letters first: a crash in between repeats them, which changes nothing, and loses none."""
        if evaluation.failed:
            self._bury(plan, evaluation.failed)
        batch = NewBatch(
            batch_id=plan.batch_id,
            query_id=self._query_id,
            fingerprint=self._fingerprint,
            starts=plan.starts,
            ends=plan.ends,
            positions=self._positions(plan.ends),
            parts=evaluation.parts,
            digest=evaluation.digest,
        )
        self._published(self._outbox.publish(batch))

    def _check_same(self, before: Published, plan: Plan) -> None:
        was = (before.query_id, dict(before.starts), dict(before.ends))
        now = (self._query_id, dict(plan.starts), dict(plan.ends))
        if was != now:
            raise BatchDiverged(
                f"Spark runs batch {plan.batch_id} as {now}, but it was published as {was}.",
                kept="The outbox and every sink stay as they were.",
                remedy="Restore the checkpoint that published the batch, or continue in a new generation.",
                batch_id=plan.batch_id,
                oseq=before.oseq,
            )

    def _compare(self, before: Published, again: Evaluation) -> None:
        verdict = self._verdict(before, again)
        self._replayed(Replay(before, verdict, again.digest))
        if verdict is Replayed.NOT_DETERMINISTIC and self._stateful:
            raise NotDeterministic(
                f"Batch {before.batch_id} came to {again.digest} and was published with {before.digest}: its state "
                "would no longer belong to what the sinks have.",
                kept="Spark has not committed the new state, and the outbox stays as it was.",
                remedy="Make the steps deterministic (no rand, no current time), or accept the difference once.",
                batch_id=before.batch_id,
                oseq=before.oseq,
            )

    def _verdict(self, before: Published, again: Evaluation) -> Replayed:
        if again.digest == before.digest:
            return Replayed.EQUAL
        changed = before.fingerprint != self._fingerprint
        return Replayed.STEPS_CHANGED if changed else Replayed.NOT_DETERMINISTIC

"""Whether Spark's checkpoint and the outbox belong together, and where reading goes on. Pure.

The outbox is the truth about what was published, Spark's checkpoint about what was planned and about state. Between a
plan and its publication a crash is normal; anything else that does not fit is explained, never started afresh.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from holdfast.model.errors import PipelineDiverged

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True)
class SparkStands:
    """What Spark's checkpoint says. `None` for a directory in which Spark was never started."""

    query_id: str
    planned: int | None
    """The newest batch planned."""
    finished: int | None
    ends: Mapping[int, Mapping[str, int]]
    """The ends of the planned batches still on disk."""


@dataclass(frozen=True, slots=True)
class OutboxBatch:
    """A published batch, as far as it matters here."""

    batch_id: int
    query_id: str
    ends: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Continuation:
    """Where the reader takes up."""

    reads_from: Mapping[str, int]
    """After the newest batch that Spark finished: it reads everything behind this again."""
    start: Mapping[str, int]
    """After the newest batch that Spark planned."""
    recorded: Sequence[Mapping[str, int]] = ()
    """Ends of published batches that Spark has to plan again, exactly so."""


def agree(spark: SparkStands | None, outbox: Sequence[OutboxBatch], initial: Mapping[str, int]) -> Continuation:
    """Where reading goes on, or `PipelineDiverged` with what does not fit.

    :param outbox: the batches of the current generation that the outbox remembers, ascending by batch id.
    :param initial: where the generation begins.
    """
    if spark is None:
        if outbox:
            raise _diverged(
                f"Spark's checkpoint is gone, but this generation has published {len(outbox)} batches, "
                f"the newest with Spark's batch id {outbox[-1].batch_id}.",
                "Put the checkpoint directory back. Without it, continue in a new generation behind the newest batch: "
                "nothing is lost or repeated, but what a stateful step had counted is gone.",
            )
        return Continuation(dict(initial), dict(initial))
    _same_query(spark, outbox)
    _nothing_finished_unpublished(spark, outbox)
    _same_ends(spark, outbox)
    return Continuation(
        reads_from=_ends(spark, spark.finished, initial),
        start=_ends(spark, spark.planned, initial),
        recorded=_to_repeat(spark, outbox),
    )


def _same_query(spark: SparkStands, outbox: Sequence[OutboxBatch]) -> None:
    foreign = next((batch for batch in outbox if batch.query_id != spark.query_id), None)
    if foreign is not None:
        raise _diverged(
            f"Spark's checkpoint belongs to query {spark.query_id}, but batch {foreign.batch_id} of this generation "
            f"was published by query {foreign.query_id}.",
            "Put the checkpoint of that query back, or continue in a new generation.",
        )


def _nothing_finished_unpublished(spark: SparkStands, outbox: Sequence[OutboxBatch]) -> None:
    newest = outbox[-1].batch_id if outbox else -1
    if spark.finished is not None and spark.finished > newest:
        raise _diverged(
            f"Spark has finished batch {spark.finished}, but the newest batch in the outbox is {newest}: what lies "
            "between was published and is gone.",
            "The outbox was replaced by an older copy: restore the newer one, or roll the pipeline back to the copy.",
        )


def _same_ends(spark: SparkStands, outbox: Sequence[OutboxBatch]) -> None:
    for batch in outbox:
        planned = spark.ends.get(batch.batch_id)
        if planned is not None and dict(planned) != dict(batch.ends):
            raise _diverged(
                f"Batch {batch.batch_id} was published up to {dict(batch.ends)}, but Spark has planned it up to "
                f"{dict(planned)}.",
                "The checkpoint is not the one that published this batch: restore that one, or continue in a new "
                "generation.",
            )


def _ends(spark: SparkStands, batch_id: int | None, initial: Mapping[str, int]) -> Mapping[str, int]:
    return dict(initial) if batch_id is None else dict(spark.ends.get(batch_id, initial))


def _to_repeat(spark: SparkStands, outbox: Sequence[OutboxBatch]) -> tuple[Mapping[str, int], ...]:
    planned = -1 if spark.planned is None else spark.planned
    ahead = [batch for batch in outbox if batch.batch_id > planned]
    if ahead and ahead[0].batch_id != planned + 1:
        raise _diverged(
            f"Spark's checkpoint ends with batch {planned}, and the outbox remembers batches only from "
            f"{ahead[0].batch_id} on: it cannot be said where those between ended.",
            "The checkpoint is an older copy than the outbox can bridge: put a newer one back, or continue in a new "
            "generation.",
        )
    return tuple(dict(batch.ends) for batch in ahead)


def _diverged(what: str, remedy: str) -> PipelineDiverged:
    return PipelineDiverged(what, kept="Inbox, outbox, cursors and sinks are untouched.", remedy=remedy)

"""The durable steps of a pipeline by name, so that a test can end the process at any of them.

A step is *reached* just before what it names is done; whoever is told may end the process there. Code that does durable
work takes a `StepHook` and calls it; in production nobody listens.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol


class Step(StrEnum):
    """Every durable step on the way of an event, in the order of the way. The crash matrix walks all of them.

    `spark.plan` and `spark.finish` are Spark's own: they are reached where a driver without a JVM keeps Spark's books.
    """

    INBOX_WRITE = "inbox.write"
    INBOX_FSYNC = "inbox.fsync"
    INBOX_INDEX = "inbox.index"
    INBOX_INDEXED = "inbox.indexed"
    INBOX_TRIM = "inbox.trim"
    INBOX_TRIMMED = "inbox.trimmed"
    INBOX_SKIP = "inbox.skip"
    INBOX_SKIPPED = "inbox.skipped"
    SPARK_PLAN = "spark.plan"
    PART_WRITE = "outbox.part.write"
    PART_FSYNC = "outbox.part.fsync"
    PART_WRITTEN = "outbox.part.written"
    SPARK_OFFSETS_FSYNC = "spark.offsets.fsync"
    OUTBOX_PUBLISH = "outbox.publish"
    OUTBOX_PUBLISHED = "outbox.published"
    SPARK_FINISH = "spark.finish"
    SPARK_COMMIT_FSYNC = "spark.commit.fsync"
    SPARK_COMMIT_SYNCED = "spark.commit.synced"
    DELIVER_READ = "deliver.read"
    SINK_WRITE = "sink.write"
    SINK_COMMIT = "sink.commit"
    SINK_COMMITTED = "sink.committed"
    DEAD_LETTER_WRITE = "dead_letter.write"
    DEAD_LETTER_FSYNC = "dead_letter.fsync"
    DEAD_LETTER_INDEX = "dead_letter.index"
    DEAD_LETTER_WRITTEN = "dead_letter.written"
    DEAD_LETTER_MARK = "dead_letter.mark"
    DEAD_LETTER_TRIM = "dead_letter.trim"
    DEAD_LETTER_TRIMMED = "dead_letter.trimmed"
    CURSOR_WRITE = "cursor.write"
    CURSOR_WRITTEN = "cursor.written"
    SOURCE_ACKNOWLEDGE = "source.acknowledge"
    SOURCE_ACKNOWLEDGED = "source.acknowledged"
    OUTBOX_TRIM = "outbox.trim"
    OUTBOX_TRIMMED = "outbox.trimmed"
    OUTBOX_REMOVED = "outbox.removed"


class RollbackStep(StrEnum):
    """Every durable step of a rollback, and of the points that it may go back to, in order.

    They have a matrix of their own: an operator takes them, and no event passes them.
    """

    POINT_LINK = "point.link"
    POINT_MAKE = "point.make"
    POINT_MADE = "point.made"
    INTEND = "rollback.intend"
    INTENDED = "rollback.intended"
    HOLD = "rollback.hold"
    LINK = "rollback.link"
    LINKED = "rollback.linked"
    SINK = "rollback.sink"
    SINK_WENT_BACK = "rollback.sink.back"
    GENERATION = "rollback.generation"
    SWITCH = "rollback.switch"
    SWITCHED = "rollback.switched"


class StepHook(Protocol):
    """Told the name of every step when it is reached."""

    def __call__(self, step: str, /) -> None:
        """The named step is next."""


def no_hook(step: str, /) -> None:
    """Nobody wants to know."""

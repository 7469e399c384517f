"""Runs the query of a pipeline in Spark: from its inboxes through its steps into the publisher."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Protocol

from holdfast.log.datasource import SOURCE_NAME, Reading
from holdfast.model.steps import StepHook, no_hook
from holdfast.process.steps import Step, applied
from holdfast.runtime.evaluation import PartWriter, Reported, evaluated, warm_up
from holdfast.runtime.publisher import Evaluation, Keep, Publisher

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from py4j.java_gateway import JavaObject
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

log = logging.getLogger("holdfast")


@dataclass(frozen=True)
class Work:
    """What a processor is to do."""

    pipeline: str
    reading: Reading
    checkpoint: Path
    parts: Path
    epoch: int
    generation: int


class Processor(Protocol):
    """Runs micro-batches until it is stopped. Spark is one; a test may have one without a JVM."""

    def start(self, work: Work, publisher: Callable[[str, bool], Publisher]) -> None:
        """Start; `publisher` is called with the query's id and whether it has state."""

    def is_active(self) -> bool:
        """Whether it still runs."""

    def is_idle(self) -> bool:
        """Whether no batch is being run."""

    def failure(self) -> BaseException | None:
        """Why it ended, if it ended by itself."""

    def stop(self) -> None:
        """Let the running batch finish, then end. Stopping twice is fine."""


class SparkProcessor:
    """A streaming query with our source, the user's steps and `foreachBatch`."""

    def __init__(
        self,
        session: Callable[[], SparkSession],
        steps: Sequence[Step],
        *,
        schemas: Mapping[str, str] | None = None,
        output_mode: str = "append",
        hook: StepHook = no_hook,
    ) -> None:
        self._session = session
        self._steps = tuple(steps)
        self._schemas = dict(schemas or {})
        self._output_mode = output_mode
        self._hook = hook
        self._query: StreamingQuery | None = None
        self._callback_error: BaseException | None = None

    def start(self, work: Work, publisher: Callable[[str, bool], Publisher]) -> None:
        """Start the query. It goes on from its checkpoint, or from the start of the reading."""
        session = self._session()
        Thread(target=_warm_up, args=(session,), name=f"warm-up-{work.pipeline}", daemon=True).start()
        reported = Reported(session)
        steps = [step.reporting(reported.report) for step in self._steps]
        frame = applied(steps, self._events(session, work.reading))
        stateful = has_state(frame)
        bound: list[Publisher] = []

        def run_batch(batch: DataFrame, batch_id: int) -> None:
            if not bound:
                bound.append(publisher(query_id_of(work.checkpoint), stateful))
            try:
                bound[0].run(batch_id, lambda keep: self._evaluate(batch, batch_id, work, keep, reported))
            except BaseException as error:
                self._callback_error = error
                raise

        self._query = (
            frame.writeStream.queryName(work.pipeline)
            .outputMode(self._output_mode)
            .foreachBatch(run_batch)
            .option("checkpointLocation", str(work.checkpoint))
            .trigger(processingTime="0 seconds")
            .start()
        )

    def is_active(self) -> bool:
        """Whether the query still runs."""
        return self._query is not None and bool(self._query.isActive)

    def is_idle(self) -> bool:
        """Whether the query waits for data."""
        return self._query is None or not self._query.status["isTriggerActive"]

    def failure(self) -> BaseException | None:
        """Our own error if a batch ended with one, else Spark's."""
        if self._callback_error is not None:
            return self._callback_error
        return None if self._query is None else self._query.exception()

    def stop(self) -> None:
        """Stop the query after the batch that runs."""
        if self._query is not None:
            self._query.stop()

    def _events(self, session: SparkSession, reading: Reading) -> DataFrame:
        stream = session.readStream.format(SOURCE_NAME).option("reading", reading.to_option()).load()
        return typed(stream, self._schemas)

    def _evaluate(self, batch: DataFrame, batch_id: int, work: Work, keep: Keep, reported: Reported) -> Evaluation:
        writer = PartWriter(str(work.parts), work.epoch, work.generation, batch_id, keep=keep, hook=self._hook)
        return replace(evaluated(batch, writer), failed=reported.taken())


def _warm_up(session: SparkSession) -> None:
    """What the first batch needs is made ready while Spark still reads the query: workers, their imports, classes."""
    try:
        warm_up(session)
    except Exception as error:  # the first batch will find it cold, or meet the same trouble and say so
        log.info("Spark could not be warmed up: %s", error)


def typed(frame: DataFrame, schemas: Mapping[str, str]) -> DataFrame:
    """The events with `before` and `after` as typed columns when the pipeline names exactly one table."""
    from pyspark.sql import functions as f

    if len(schemas) != 1:
        return frame
    ddl = next(iter(schemas.values()))
    images = {name: f.from_json(name, ddl) for name in ("before", "after")}
    return frame.withColumns(images)


_STATEFUL = frozenset(
    {
        "Aggregate",
        "Deduplicate",
        "DeduplicateWithinWatermark",
        "FlatMapGroupsInPandasWithState",
        "FlatMapGroupsWithState",
        "GlobalLimit",
        "Join",
        "TransformWithState",
        "TransformWithStateInPySpark",
    }
)


def has_state(frame: DataFrame) -> bool:
    """Whether the query may keep state from batch to batch, as the operators of its plan say."""
    plan = frame._jdf.queryExecution().analyzed()  # noqa: SLF001 (the Python face has no plan)
    return any(name in _STATEFUL for name in _operators(plan))


def _operators(plan: JavaObject) -> Iterator[str]:
    if plan.isStreaming():
        yield plan.nodeName()
        children = plan.children()
        for number in range(children.size()):
            yield from _operators(children.apply(number))


def query_id_of(checkpoint: Path) -> str:
    """The id Spark gave the query in this checkpoint."""
    from holdfast.runtime.spark_checkpoint import SparkCheckpoint

    found = SparkCheckpoint(checkpoint).query_id()
    assert found is not None, "Spark writes its metadata before the first batch"
    return found

"""Runs the query of a pipeline in Spark: from its inboxes through its steps into the publisher."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from holdfast.log.datasource import SOURCE_NAME, Reading
from holdfast.model.errors import HoldfastError, SparkDied, StepRefused
from holdfast.model.steps import StepHook, no_hook
from holdfast.process.steps import Step, applied
from holdfast.runtime.analysis import analysed, check_output, events_of, typed
from holdfast.runtime.causes import is_of_a_lost_jvm, is_of_a_lost_worker, reason_of
from holdfast.runtime.evaluation import PartWriter, Reported, evaluated, warm_up
from holdfast.runtime.publisher import Evaluation, Keep, Publisher
from holdfast.runtime.timing import BatchTime

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from py4j.java_gateway import JavaObject
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from holdfast.log.values import Range
    from holdfast.process.guarding import FailedRow
    from holdfast.process.refusals import StepText
    from holdfast.runtime.gateway import Jvm

log = logging.getLogger("holdfast")
_TO_BE_REAPED = 5.0
"""Seconds within which the end of a process is known whose sockets are closed."""
T = TypeVar("T")


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

    def took(self) -> Sequence[BatchTime]:
        """What the batches took that ended since it was last asked, in order."""

    def stop(self) -> None:
        """Let the running batch finish, then end. Stopping twice is fine."""

    def probe(self, work: Work, ranges: Sequence[Range]) -> None:
        """Run the steps over these events alone and keep nothing; raises what they raise. It has ended before."""


class SparkProcessor:
    """A streaming query with our source, the user's steps and `foreachBatch`."""

    def __init__(
        self,
        session: Callable[[], SparkSession],
        steps: Sequence[Step],
        *,
        jvm: Jvm | None = None,
        schemas: Mapping[str, str] | None = None,
        output_mode: str = "append",
        step_texts: Sequence[StepText] = (),
        hook: StepHook = no_hook,
    ) -> None:
        self._session = session
        self._jvm = jvm
        self._in_callback = Lock()
        """Held while a batch is run here, also when the JVM that asked for it is gone."""
        self._steps = tuple(steps)
        self._step_texts = tuple(step_texts)
        self._schemas = dict(schemas or {})
        self._output_mode = output_mode
        self._hook = hook
        self._query: StreamingQuery | None = None
        self._callback_error: BaseException | None = None
        self._timed = ""
        """When the newest progress began that was looked at, as Spark writes it."""

    def start(self, work: Work, publisher: Callable[[str, bool], Publisher]) -> None:
        """Start the query. It goes on from its checkpoint, or from the start of the reading."""
        try:
            self._start(work, publisher)
        except Exception as error:
            raise self._explained(error) from error

    def _start(self, work: Work, publisher: Callable[[str, bool], Publisher]) -> None:
        session = self._session()
        Thread(target=_warm_up, args=(session,), name=f"warm-up-{work.pipeline}", daemon=True).start()
        reported = Reported(session)
        events = events_of(session, work.reading, self._schemas)
        frame = analysed(self._steps, events, self._step_texts, report=reported.report)
        check_output(frame, self._output_mode)
        stateful = has_state(frame)
        bound: list[Publisher] = []

        def run_batch(batch: DataFrame, batch_id: int) -> None:
            with self._in_callback:
                try:
                    if not bound:
                        bound.append(publisher(query_id_of(work.checkpoint), stateful))
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
        """Whether the query still runs; not in a JVM that does not answer any more."""
        return self._query is not None and _asked(lambda query: bool(query.isActive), self._query, gone=False)

    def took(self) -> Sequence[BatchTime]:
        """What Spark tells of the batches that ended since; of the last hundred, when nobody asked for longer."""
        if self._query is None:
            return []
        nothing: list[dict[str, Any]] = []
        told = _asked(lambda query: list(_progress_since(self._timed, query)), self._query, gone=nothing)
        self._timed = max((each["timestamp"] for each in told), default=self._timed)
        return [_time_of(each) for each in reversed(told) if "addBatch" in each["durationMs"]]

    def is_idle(self) -> bool:
        """Whether the query waits for data, or is over."""
        return self._query is None or _asked(lambda query: not query.status["isTriggerActive"], self._query, gone=True)

    def failure(self) -> BaseException | None:
        """Our own error if a batch ended with one, that the JVM has died if it has, else Spark's."""
        with self._in_callback:
            error = self._callback_error
        try:
            error = error or (None if self._query is None else self._query.exception())
        except Exception as unanswered:
            error = unanswered
        return None if error is None else self._explained(error)

    def _explained(self, error: BaseException) -> BaseException:
        """The death of the JVM or of a worker when that is behind an error, else the error itself."""
        if isinstance(error, HoldfastError) and not isinstance(error, StepRefused):
            return error
        died = self._death_behind(error)
        if died is None:
            return error
        died.__cause__ = error
        return died

    def _death_behind(self, error: BaseException) -> SparkDied | None:
        within = _TO_BE_REAPED if is_of_a_lost_jvm(error) else 0.0
        died = None if self._jvm is None else self._jvm.death(within=within)
        if died is not None or not is_of_a_lost_worker(error):
            return died
        return SparkDied(
            "A Python worker of Spark was killed, or ended by itself.",
            kept="Capture and delivery go on without it; nothing is lost.",
            remedy="It is started again by itself. If this repeats, look for the kernel's out-of-memory killer in "
            "`dmesg`, and for a step that crashes its interpreter.",
        )

    def stop(self) -> None:
        """Stop the query after the batch that runs; one whose JVM is gone has stopped."""
        if self._query is not None:
            _asked(lambda query: query.stop(), self._query, gone=None)
            with self._in_callback:
                """A batch that the JVM asked for before it died has come to its end here too."""

    def probe(self, work: Work, ranges: Sequence[Range]) -> None:
        """Run the steps as a plain query, up to the first that only a stream can take.

        A step that aggregates is among them: over one event it fails only if that event alone makes it fail.
        """
        session = self._session()
        source = session.read.format(SOURCE_NAME).option("reading", work.reading.to_option())
        events = typed(source.option("ranges", json.dumps(ranges)).load(), self._schemas)
        writer = PartWriter("", epoch=0, generation=0, batch_id=0, keep=Keep.DIGEST)
        evaluated(applied(self._probed_steps(session, work), events), writer)

    def _probed_steps(self, session: SparkSession, work: Work) -> Sequence[Step]:
        steps = [step.reporting(_nobody) for step in self._steps]
        frame = events_of(session, work.reading, self._schemas)
        for number, step in enumerate(steps):
            frame = step.apply(frame)
            if _ONLY_STREAMING & set(operators(frame)):
                return steps[:number]
        return steps

    def _evaluate(self, batch: DataFrame, batch_id: int, work: Work, keep: Keep, reported: Reported) -> Evaluation:
        writer = PartWriter(str(work.parts), work.epoch, work.generation, batch_id, keep=keep, hook=self._hook)
        return replace(evaluated(batch, writer), failed=reported.taken())


def _progress_since(began: str, query: StreamingQuery) -> Iterator[dict[str, Any]]:
    """What Spark tells of batches that began later, the newest first, and of times at which there was none to run."""
    told = query._jsq.recentProgress()  # noqa: SLF001 (the Python face reads the texts of all hundred)
    for number in range(len(told) - 1, -1, -1):
        progress: dict[str, Any] = json.loads(told[number].json())
        if progress["timestamp"] <= began:
            return
        yield progress


def _time_of(progress: dict[str, Any]) -> BatchTime:
    state = [operator["commitTimeMs"] / 1000 for operator in progress["stateOperators"]]
    phases = {name: milliseconds / 1000 for name, milliseconds in progress["durationMs"].items()}
    return BatchTime(progress["batchId"], phases, state=sum(state) if state else None)


def _asked(question: Callable[[StreamingQuery], T], query: StreamingQuery, *, gone: T) -> T:
    """What the JVM answers about a query; what it means when it is gone, as after a signal to the whole group."""
    from py4j.protocol import Py4JError

    try:
        return question(query)
    except (Py4JError, OSError):
        return gone


def _nobody(failed: Sequence[FailedRow]) -> None:
    """Rows that a step gives up are no failure of a probe."""


def _warm_up(session: SparkSession) -> None:
    """What the first batch needs is made ready while Spark still reads the query: workers, their imports, classes."""
    try:
        warm_up(session)
    except Exception as error:  # the first batch will find it cold, or meet the same trouble and say so
        log.info("Spark could not be warmed up: %s", reason_of(error))


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


_ONLY_STREAMING = _STATEFUL - {"Aggregate", "Deduplicate", "GlobalLimit", "Join"}
"""Whose state is the user's own, so that an event may fail for want of it; or that a plain query cannot have."""


def has_state(frame: DataFrame) -> bool:
    """Whether the query may keep state from batch to batch, as the operators of its plan say."""
    return not _STATEFUL.isdisjoint(operators(frame))


def operators(frame: DataFrame) -> Iterator[str]:
    """The operators of a query that see its stream."""
    return _operators(frame._jdf.queryExecution().analyzed())  # noqa: SLF001 (the Python face has no plan)


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

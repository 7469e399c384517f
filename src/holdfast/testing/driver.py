"""Runs micro-batches without a JVM, keeping Spark's books: the same files in the same order, the same callback.

A restart with a JVM costs ten seconds and more; with this one a test can end a process at every durable step there is.
What Spark itself does is not tested by it: the same pipelines run in Spark elsewhere.
"""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING
from uuid import uuid4

import google_crc32c
import pyarrow as pa

from holdfast.log.datasource import InboxesReader, RangesReader
from holdfast.log.parts import part_name, write_part
from holdfast.log.values import Digest, PartRef
from holdfast.model.envelope import ENVELOPE
from holdfast.model.steps import Step as Durable
from holdfast.model.steps import StepHook, no_hook
from holdfast.process import Step
from holdfast.process.functions import Guarded
from holdfast.process.guarding import FailedRow
from holdfast.runtime.publisher import Evaluation, Keep
from holdfast.runtime.spark_checkpoint import Plan, SparkCheckpoint
from holdfast.runtime.timing import BatchTime

if TYPE_CHECKING:
    from holdfast.log.slices import Slices
    from holdfast.log.values import Range
    from holdfast.runtime.processor import Work
    from holdfast.runtime.publisher import Publisher

Transform = Callable[[pa.Table], pa.Table]


def unchanged(events: pa.Table) -> pa.Table:
    """The events as they are."""
    return events


class LocalProcessor:
    """A processor that applies one function to the events of each partition. It keeps no state between batches.

    :param step: a step of `rows` or `batches` that comes before the function and keeps the shape of events.
    :param poll: how often, in seconds, an idle one asks for news.
    :param monotonic: the time by which events wait for a fuller batch.
    """

    def __init__(
        self,
        transform: Transform = unchanged,
        *,
        step: Step | None = None,
        hook: StepHook = no_hook,
        poll: float = 0.005,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._step = step
        self._transform = transform
        self._hook = hook
        self._poll = poll
        self._monotonic = monotonic
        self._stop = threading.Event()
        self._failure: BaseException | None = None
        self._idle = False
        self._thread: threading.Thread | None = None
        self._times: deque[BatchTime] = deque(maxlen=100)

    def start(self, work: Work, publisher: Callable[[str, bool], Publisher]) -> None:
        """Go on from the books."""
        self._work = work
        self._books = _Books(SparkCheckpoint(work.checkpoint, initial=work.reading.initial), self._hook)
        self._publisher = publisher(self._books.query_id(), False)
        self._thread = threading.Thread(target=self._loop, name="local-processor", daemon=True)
        self._thread.start()

    def is_active(self) -> bool:
        """Whether it still runs."""
        return self._thread is not None and self._thread.is_alive()

    def is_idle(self) -> bool:
        """Whether no batch is being run."""
        return self._idle

    def took(self) -> Sequence[BatchTime]:
        """What the batches took that ended since."""
        return [self._times.popleft() for _ in range(len(self._times))]

    def failure(self) -> BaseException | None:
        """Why it ended."""
        return self._failure

    def stop(self) -> None:
        """End after the batch that runs."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def probe(self, work: Work, ranges: Sequence[Range]) -> None:
        """Apply the function to these events, and keep nothing."""
        reader = RangesReader(work.reading, ranges)
        self._outputs(reader, reader.partitions(), [])

    def _loop(self) -> None:
        reader = InboxesReader(self._work.reading, monotonic=self._monotonic)
        try:
            self._finish_what_was_planned(reader)
            while not self._stop.is_set():
                self._next_batch(reader)
        except BaseException as error:  # the engine asks for it
            self._failure = error
        finally:
            reader.stop()

    def _finish_what_was_planned(self, reader: InboxesReader) -> None:
        checkpoint = self._books.checkpoint
        planned, finished = checkpoint.newest_planned(), checkpoint.newest_finished()
        if planned is not None and planned != finished:
            self._run(reader, checkpoint.plan(planned))

    def _next_batch(self, reader: InboxesReader) -> None:
        checkpoint = self._books.checkpoint
        newest = checkpoint.newest_planned()
        starts = checkpoint.plan(newest).ends if newest is not None else reader.initialOffset()
        ends = reader.latestOffset()
        self._idle = ends == starts
        if self._idle:
            self._stop.wait(self._poll)
            return
        plan = Plan(0 if newest is None else newest + 1, starts, ends)
        self._books.write_plan(plan)
        self._run(reader, plan)

    def _run(self, reader: InboxesReader, plan: Plan) -> None:
        self._idle, began = False, self._monotonic()
        partitions = reader.partitions(dict(plan.starts), dict(plan.ends))
        self._publisher.run(plan.batch_id, lambda keep: self._evaluate(plan.batch_id, reader, partitions, keep))
        self._books.write_finished(plan.batch_id)
        self._times.append(BatchTime(plan.batch_id, {"run": self._monotonic() - began}, state=None))

    def _evaluate(self, batch_id: int, reader: InboxesReader, partitions: Sequence[Slices], keep: Keep) -> Evaluation:
        failed: list[FailedRow] = []
        outputs = self._outputs(reader, partitions, failed)
        parts = self._written(batch_id, outputs) if keep is Keep.PARTS else ()
        return Evaluation(digest_of(outputs), tuple(parts), tuple(failed))

    def _outputs(
        self, reader: InboxesReader | RangesReader, partitions: Sequence[Slices], failed: list[FailedRow]
    ) -> list[pa.Table]:
        guarded = self._guarded(failed)
        inputs = [pa.Table.from_batches(guarded(reader.read(partition)), ENVELOPE) for partition in partitions]
        return [output for output in map(self._transform, inputs) if output.num_rows]

    def _guarded(self, failed: list[FailedRow]) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
        """The events of a partition after the step, if there is one."""
        if self._step is None:
            return iter
        step = self._step.reporting(failed.extend)
        assert isinstance(step, Guarded), "other steps need Spark"
        return step.guard(ENVELOPE)

    def _written(self, batch_id: int, outputs: Sequence[pa.Table]) -> Iterator[PartRef]:
        for number, output in enumerate(outputs):
            name = part_name(
                epoch=self._work.epoch,
                generation=self._work.generation,
                batch_id=batch_id,
                partition=number,
                attempt=uuid4().int,
            )
            yield write_part(self._work.parts, name, output.to_batches(), output.schema, hook=self._hook)


class _Books:
    """Writes what Spark writes, and as Spark does: whole files, never synced."""

    def __init__(self, checkpoint: SparkCheckpoint, hook: StepHook) -> None:
        self.checkpoint = checkpoint
        self._hook = hook

    def query_id(self) -> str:
        """The id in the metadata, made when there is none."""
        known = self.checkpoint.query_id()
        if known is None:
            known = str(uuid4())
            self._write("metadata", json.dumps({"id": known}))
        return known

    def write_plan(self, plan: Plan) -> None:
        """`offsets/n`."""
        self._hook(Durable.SPARK_PLAN)
        self._write(f"offsets/{plan.batch_id}", f"v1\n{{}}\n{json.dumps(dict(plan.ends))}")

    def write_finished(self, batch_id: int) -> None:
        """`commits/n`."""
        self._hook(Durable.SPARK_FINISH)
        self._write(f"commits/{batch_id}", 'v1\n{"nextBatchWatermarkMs":0}')

    def _write(self, name: str, text: str) -> None:
        path = self.checkpoint.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.tmp")
        temporary.write_text(text)
        temporary.rename(path)


def digest_of(tables: Sequence[pa.Table]) -> Digest:
    """Rows counted and hashed, in any order."""
    hashes = [google_crc32c.value(repr(row).encode()) for table in tables for row in table.to_pylist()]
    return Digest(rows=len(hashes), hash_sum=sum(hashes) % (1 << 64))

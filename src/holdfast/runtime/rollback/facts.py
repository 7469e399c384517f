"""Reads what a rollback has to know from the files of a pipeline, beside whoever owns them. It writes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.checkpoint.cursors import CURSORS
from holdfast.deliver.contract import GoingBack
from holdfast.ledger.cursors import Cursors
from holdfast.log import InboxReader, outbox_index
from holdfast.log.opening import open_to_read
from holdfast.runtime.records import GENERATION, LOGS, Generation, Logs
from holdfast.runtime.rollback.points import made_points
from holdfast.runtime.rollback.records import ROLLBACKS, History
from holdfast.runtime.rollback.targets import Facts, SinkMeans
from holdfast.runtime.spark_checkpoint import SparkCheckpoint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.checkpoint.contract import CheckpointStore
    from holdfast.deliver import SinkSpec
    from holdfast.runtime.layout import Layout


def facts_of(layout: Layout, store: CheckpointStore) -> Facts:
    """Everything as it stands on disk."""
    index, _ = open_to_read(layout.outbox, outbox_index.LAYOUT.kind)
    try:
        with index.reading() as db:
            state = outbox_index.read_state(db)
            batches, void = outbox_index.select(db, "oseq > ?", 0), outbox_index.select_void(db, 0)
    finally:
        index.close()
    generation, logs = store.get(GENERATION) or Generation(state.generation), store.get(LOGS) or Logs()
    checkpoint = SparkCheckpoint(layout.spark(generation.number), initial=generation.initial)
    return Facts(
        cursors=store.get(CURSORS) or Cursors({}),
        generation=generation,
        batches=batches,
        void=void,
        trimmed=state.trimmed,
        last_oseq=state.last_oseq,
        planned=checkpoint.planned(),
        finished=checkpoint.finished(),
        points=made_points(layout),
        held_from={uuid: _first(layout, name) for name, uuid in logs.inboxes.items()},
        history=store.get(ROLLBACKS) or History(),
    )


def means_of(sinks: Sequence[SinkSpec]) -> list[SinkMeans]:
    """What the sinks say of themselves. None of them is claimed."""
    return [SinkMeans(spec.name, spec.sink.kind, spec.sink.tier.value, _effect(spec)) for spec in sinks]


def _effect(spec: SinkSpec) -> GoingBack:
    try:
        return spec.sink.going_back()
    finally:
        spec.sink.close()


def _first(layout: Layout, source: str) -> int:
    with InboxReader.open(layout.inbox(source)) as reader:
        return reader.first()

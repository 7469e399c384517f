"""Looks at the whole directory of a pipeline that no process runs, and says what is wrong. It changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.control.doctor.findings import Diagnosis, Severity
from holdfast.control.doctor.log_files import dead_facts, inbox_facts, outbox_facts
from holdfast.control.doctor.logs import gone, judge_dead_letters, judge_log, stranger
from holdfast.control.doctor.spark import Around, judge_spark
from holdfast.control.doctor.spark_files import spark_facts
from holdfast.control.doctor.store import judge_cursors, judge_generation, judge_store, store_facts
from holdfast.control.doctor.surroundings import beside
from holdfast.model.errors import NotRunning
from holdfast.runtime.layout import Layout
from holdfast.runtime.owner import undisturbed
from holdfast.runtime.records import Generation

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from holdfast.control.doctor.findings import Finding
    from holdfast.control.doctor.log_files import LogFacts
    from holdfast.control.doctor.store import StoreFacts


def examine(directory: Path) -> Diagnosis:
    """What is wrong in a pipeline's directory; `PipelineBusy` when a process runs it. Every byte kept is read."""
    with undisturbed(directory):
        return examine_owned(directory)


def examine_owned(directory: Path) -> Diagnosis:
    """The same, for whoever owns the directory."""
    layout = Layout(directory)
    is_known = layout.checkpoints.exists() or layout.checkpoint_kind.exists()
    if not is_known and not layout.outbox.exists():
        raise NotRunning(
            f"No pipeline was started in {directory} yet.", remedy="Start it with `holdfast run`, or name another one."
        )
    return Diagnosis(directory, tuple(_findings(layout)))


def _findings(layout: Layout) -> Iterator[Finding]:
    store = store_facts(layout)
    inboxes = _inboxes(layout, store)
    outbox = outbox_facts(layout.outbox)
    dead = dead_facts(layout.dead_letters)
    logs = [*inboxes.values(), outbox.log, dead.log]
    yield from judge_store(store, newest_epoch=max(log.epoch for log in logs))
    yield from judge_cursors(store, outbox)
    yield from judge_generation(store, outbox)
    generation = store.generation or Generation(outbox.generation)
    around = Around(
        outbox.batches,
        generation.initial,
        {log.uuid: (log.first, log.end) for log in inboxes.values() if log.fault is None and log.uuid},
    )
    done = outbox.batches[-1].ends if outbox.batches else generation.initial
    for source, facts in inboxes.items():
        yield from _of_inbox(source, facts, store, done.get(facts.uuid, 0))
    if store.logs.outbox is not None and not layout.outbox.exists():
        yield gone(outbox.log)
    elif layout.outbox.exists():
        everybody_has = min(store.cursors.delivered.values(), default=0) if store.cursors else 0
        yield from judge_log(outbox.log, expected=store.logs.outbox, done=everybody_has)
    if layout.dead_letters.exists():
        yield from judge_dead_letters(dead)
    elif store.history.runs:
        yield gone(dead.log, Severity.MISSES)  # a start makes new ones, without the entries that these held
    if outbox.log.fault is None and outbox.generation == generation.number:
        yield from judge_spark(spark_facts(layout.spark(generation.number)), around)
    yield from beside(layout.root)


def _inboxes(layout: Layout, store: StoreFacts) -> dict[str, LogFacts]:
    """Those that the pipeline remembers, and those that are there."""
    place = layout.inbox("any").parent
    there = {path.name for path in place.iterdir() if path.is_dir()} if place.is_dir() else set()
    return {source: inbox_facts(layout.inbox(source), source) for source in sorted(there | store.logs.inboxes.keys())}


def _of_inbox(source: str, facts: LogFacts, store: StoreFacts, done: int) -> Iterator[Finding]:
    expected = store.logs.inboxes.get(source)
    if not facts.directory.exists():
        yield gone(facts)
    elif expected is None and store.logs.inboxes:
        yield stranger(facts)
    else:
        yield from judge_log(facts, expected=expected, done=done)

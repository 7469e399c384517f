"""Points to go back to: copies of Spark's checkpoint by hard links, made now and then while the pipeline runs.

Spark itself keeps its last hundred batches; a point reaches further back. It is a directory whose name is given to it
last, so one that is there is whole. What was captured behind the oldest point is kept for as long as the point is.
"""

from __future__ import annotations

import json
import logging
import shutil
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from holdfast.disk.files import sync_directory, sync_file
from holdfast.model.clock import Clock, utc_now
from holdfast.model.errors import CheckpointDamaged, LogError
from holdfast.model.steps import RollbackStep, StepHook, no_hook
from holdfast.runtime.rollback.linking import link_checkpoint
from holdfast.runtime.rollback.records import batch_from_json, batch_to_json
from holdfast.runtime.rollback.targets import Target

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from holdfast.log.values import Published
    from holdfast.runtime.layout import Layout
    from holdfast.runtime.spark_checkpoint import SparkCheckpoint

log = logging.getLogger("holdfast")

_FILE = "point.json"


@dataclass(frozen=True, slots=True)
class PointsKept:
    """How often a point is made, and how long it stays; none is made that would not stay at all."""

    every: timedelta = timedelta(minutes=5)
    kept: timedelta = timedelta(hours=24)


class Points:
    """The points of a pipeline, in the hands of its owner."""

    def __init__(self, layout: Layout, policy: PointsKept, *, hook: StepHook = no_hook, clock: Clock = utc_now) -> None:
        self._layout = layout
        self._policy = policy
        self._hook = hook
        self._clock = clock
        _sweep(layout)
        self._made = {point.oseq: point.batch for point in made_points(layout) if point.batch is not None}

    def keep(self, checkpoint: SparkCheckpoint, newest: Published) -> None:
        """Make a point of the newest batch that is finished and synced, when one is due; let go those too old."""
        is_due = all(newest.published_at - made.published_at >= self._policy.every for made in self._made.values())
        if self._policy.kept and is_due and newest.oseq not in self._made:
            try:
                self._make(checkpoint, newest)
            except (OSError, LogError) as error:  # one point fewer: nobody else is to suffer
                log.warning("no point was made of batch %d: %s", newest.oseq, error)
        oldest = self._clock() - self._policy.kept
        self._drop(oseq for oseq, made in self._made.items() if made.published_at < oldest)

    def read_by_the_oldest(self, inbox: str) -> int | None:
        """Up to which event of an inbox the oldest point had read; None while there is no point."""
        return min((made.ends.get(inbox, 0) for made in self._made.values()), default=None)

    def drop_what_reads_before(self, inbox: str, first: int) -> None:
        """Let the points go that need events of an inbox which are gone."""
        self._drop(oseq for oseq, made in self._made.items() if made.ends.get(inbox, 0) + 1 < first)

    def drop_the_oldest(self) -> None:
        """Let one point go, as when what it needs takes too much room."""
        self._drop(sorted(self._made)[:1])

    def _drop(self, oseqs: Iterable[int]) -> None:
        for oseq in list(oseqs):
            try:
                remove_point(self._layout, oseq)
            except OSError as error:  # a full disk may have no room for another name: it is tried in the next round
                log.warning("rollback point %d could not be removed, it is tried again: %s", oseq, error)
                return
            del self._made[oseq]

    def _make(self, checkpoint: SparkCheckpoint, batch: Published) -> None:
        draft = self._layout.points / f".{batch.oseq}.draft"
        shutil.rmtree(draft, ignore_errors=True)
        self._hook(RollbackStep.POINT_LINK)
        for path in link_checkpoint(checkpoint.directory, draft, batch.batch_id, since=batch.batch_id - 1):
            if path.relative_to(draft).parts[0] != "state":  # that was synced with the batch
                sync_file(path)
        _write(draft / _FILE, {"format": 1, "batch": batch_to_json(batch), "initial": checkpoint.initial})
        self._hook(RollbackStep.POINT_MAKE)
        draft.rename(self._layout.points / str(batch.oseq))
        sync_directory(self._layout.points)
        self._hook(RollbackStep.POINT_MADE)
        self._made[batch.oseq] = batch


def made_points(layout: Layout) -> list[Target]:
    """The points that are there, oldest first."""
    found = [path for path in layout.points.iterdir() if path.name.isdecimal()] if layout.points.is_dir() else []
    return [_read(path) for path in sorted(found, key=lambda path: int(path.name))]


def _sweep(layout: Layout) -> None:
    """Remove what a crash left half made or half removed."""
    for path in layout.points.iterdir() if layout.points.is_dir() else ():
        if path.name.startswith("."):
            shutil.rmtree(path, ignore_errors=True)


def remove_point(layout: Layout, oseq: int) -> None:
    """Remove a point: first its name, so that half of one is never seen."""
    gone = layout.points / f".{oseq}.gone"
    (layout.points / str(oseq)).rename(gone)
    shutil.rmtree(gone, ignore_errors=True)


def _read(path: Path) -> Target:
    try:
        document: Mapping[str, Any] = json.loads((path / _FILE).read_bytes())
        batch = batch_from_json(document["batch"])
        return Target(batch.oseq, batch.published_at, batch, f"points/{path.name}", document["initial"])
    except (OSError, ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise CheckpointDamaged(
            f"The rollback point {path} cannot be read ({type(error).__name__}: {error}).",
            kept="The pipeline's logs and its checkpoint are untouched.",
            remedy=f"Remove the directory {path}: nobody can go back to this point any more.",
        ) from error


def _write(path: Path, document: Mapping[str, object]) -> None:
    path.write_text(json.dumps(document))
    sync_file(path)
    sync_directory(path.parent)

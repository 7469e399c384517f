"""A pipeline that no process can be asked about: what its files say, and what may be done with them.

Reading takes no ownership, so it does no harm beside a process that works without a socket. Writing does take it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from holdfast.checkpoint import CURSORS
from holdfast.control.latency import Latency
from holdfast.control.snapshot import (
    CheckpointView,
    DeadLettersView,
    LaneView,
    OutboxView,
    Snapshot,
    SourceView,
    SparkView,
)
from holdfast.control.status import Status, status_of
from holdfast.control.stores import open_store_at
from holdfast.disk.space import DiskSpace, disk_space
from holdfast.flow.exits import Exit
from holdfast.ledger import Cursors
from holdfast.log import EntryState, Fate, InboxReader, dead_index, dead_queries, outbox_index
from holdfast.log.opening import open_to_read
from holdfast.model.clock import utc_now
from holdfast.model.errors import LogFull, StoreFull
from holdfast.runtime.checkpoints.opening import recorded_kind
from holdfast.runtime.layout import Layout
from holdfast.runtime.owner import LOCK, Ownership, is_owned, recorded
from holdfast.runtime.records import HISTORY, LOGS, PAUSE, Logs, Pause
from holdfast.runtime.restarts import History, Run

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.checkpoint import CheckpointStore
    from holdfast.log import Published


@contextmanager
def reading(directory: Path) -> Iterator[CheckpointStore]:
    """The checkpoint store, to be read beside whoever owns it; `NotRunning` when there never was a pipeline."""
    with open_store_at(directory) as store:
        yield store


@contextmanager
def owning(directory: Path) -> Iterator[tuple[CheckpointStore, int]]:
    """The checkpoint store and an epoch to write under; `PipelineBusy` when a process runs the pipeline."""
    with reading(directory) as store:
        ownership = Ownership.take(directory)
        try:
            yield store, store.take_over()
        finally:
            ownership.release()


def set_pause(directory: Path, pause: Pause) -> None:
    """Let the pipeline be paused, or not, when it is started next."""
    with owning(directory) as (store, epoch):
        store.put(PAUSE, pause, epoch=epoch)


def status_from_files(directory: Path, *, name: str | None = None) -> Status:
    """What the files say: positions that are last known, and how the last run ended.

    On a disk without any room SQLite's files cannot even be read; then the error says who waits for room.
    """
    try:
        with reading(directory) as store:
            return status_of((_snapshot(directory, store, name or directory.name),))
    except (LogFull, StoreFull) as error:
        holder = recorded(directory / LOCK)
        if holder is None or not is_owned(directory):
            raise
        what = f"Process {holder.pid} is about to start the pipeline and waits for its disk. {error.what}"
        raise type(error)(what, remedy="Make room on its disk; it starts by itself.") from error


def _snapshot(directory: Path, store: CheckpointStore, name: str) -> Snapshot:
    cursors = store.get(CURSORS) or Cursors({})
    stored = store.get_raw(CURSORS.name)
    now = utc_now()
    state, pid, error = _life(directory, store.get(HISTORY) or History(), store.get(PAUSE) or Pause())
    last, newest, retained = _outbox(directory)
    space = disk_space(directory) or DiskSpace(0, 0)
    return Snapshot(
        pipeline=name,
        state=state,
        pid=pid,
        at=now,
        error=error,
        trouble=None,
        sources=tuple(_sources(directory, store.get(LOGS) or Logs(), cursors, newest)),
        spark=SparkView(active=False, batch_id=newest.batch_id if newest else None, restarts=0, replays=0),
        outbox=OutboxView(last, cursors.committed, retained, None),
        lanes=tuple(_lane(lane, cursor, last) for lane, cursor in cursors.delivered.items()),
        checkpoint=CheckpointView(
            stored.version.number if stored else 0,
            (now - stored.version.created_at).total_seconds() if stored else 0.0,
            stored.version.size if stored else 0,
            is_durable=True,
            store=recorded_kind(Layout(directory)) or "sqlite",
        ),
        dead_letters=_dead_letters(directory),
        disk_free=space.free,
        disk_headroom=space.headroom,
    )


def _life(directory: Path, history: History, pause: Pause) -> tuple[str, int | None, str | None]:
    """State, process and error, by how the last run ended."""
    last = history.runs[-1] if history.runs else None
    holder = recorded(directory / LOCK)
    if is_owned(directory) and _is_before_its_begin(directory, last):
        return "starting", holder.pid if holder else None, None
    if last is None or last.exit is Exit.OK:
        since = f" It is paused since {pause.since.isoformat()}, and stays so at the next start." if pause.since else ""
        return "stopped", None, f"The pipeline is stopped.{since}" if since else None
    if last.exit is not None:
        return "failed", None, last.reason or None
    if holder is not None and holder.lives:
        return "running", holder.pid, None
    return "crashed", None, None


def _is_before_its_begin(directory: Path, last: Run | None) -> bool:
    """Whether the owner has taken the directory and not noted a run yet: it opens its files, or waits for room."""
    if last is None or last.exit is not None:
        return True
    return (directory / LOCK).stat().st_mtime > last.began.timestamp()


def _outbox(directory: Path) -> tuple[int, Published | None, int]:
    """The number of the newest batch, the newest batch of Spark, and the size.

    Spark's says how far the inboxes were read. The newest of all may be dead letters that were redelivered.
    """
    index, _ = open_to_read(Layout(directory).outbox, outbox_index.LAYOUT.kind)
    try:
        with index.reading() as db:
            state = outbox_index.read_state(db)
            newest = outbox_index.newest(db, state.generation)
            return outbox_index.last_valid(db), newest, outbox_index.retained(db).nbytes
    finally:
        index.close()


def _dead_letters(directory: Path) -> DeadLettersView:
    index, _ = open_to_read(Layout(directory).dead_letters, dead_index.LAYOUT.kind)
    try:
        with index.reading() as db:
            kept = dead_queries.kept(db)
            tallied = dead_queries.tallies(db, None)
    finally:
        index.close()
    arrived = sum(count for (_, fate), count in tallied.items() if fate in (Fate.RECORDED, Fate.REFUSED))
    return DeadLettersView(sum(kept.values()), kept[EntryState.NEW], arrived, None, "unknown")


def _sources(directory: Path, logs: Logs, cursors: Cursors, newest: Published | None) -> Iterator[SourceView]:
    for name in logs.inboxes:
        position = cursors.positions.get(name)
        with InboxReader.open(Layout(directory).inbox(name)) as reader:
            end = reader.end()
            read = newest.ends.get(reader.uuid, 0) if newest else 0
        yield SourceView(
            name=name,
            state="stopped",
            captured=0,
            end=end,
            waiting=max(0, end - read),
            age=0.0,
            nbytes=0,
            quota=None,
            position=None if position is None else str(position),
            error=None,
        )


def _lane(name: str, cursor: int, newest: int) -> LaneView:
    return LaneView(
        name=name,
        kind="unknown",
        tier="unknown",
        required=True,
        state="stopped",
        cursor=cursor,
        lag_batches=max(0, newest - cursor),
        lag_rows=0,
        age=0.0,
        queued=max(0, newest - cursor),
        in_flight=0,
        rejected=0,
        rows_out=0,
        rows_dead=0,
        rows_filtered=0,
        attempts=0,
        breaker="closed",
        latency=Latency(),
        error=None,
    )

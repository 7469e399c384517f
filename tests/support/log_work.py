"""What the killed processes do to a log. Each piece of work goes on from what the log says, as the real callers do."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pyarrow as pa

from holdfast.log import (
    DeadLetterEntry,
    DeadLetterFilter,
    DeadLetterLimits,
    DeadLetterLog,
    Digest,
    EntryState,
    Inbox,
    NewBatch,
    Outbox,
    Overflow,
    part_name,
    write_part,
)
from holdfast.model.positions import Seq
from tests.support.log_events import events

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from holdfast.model.steps import StepHook

TRANSACTIONS = ((1, 2), (3, 7), (8, 8), (9, 12))
"""The first and last event of each transaction of the source; the second and the last come in two appends."""
LAST = TRANSACTIONS[-1][1]
BATCHES = 4
ROWS = pa.schema([("seq", pa.int64())])


def capture(directory: Path, hook: StepHook, tell: Callable[[], None], *, epoch: int) -> None:
    """Append what the inbox lacks of the source, a transaction in two appends where it is long; trim on the way."""
    with Inbox.open(directory, name="orders", epoch=epoch, hook=hook) as inbox:
        done = inbox.position()
        for first, last in TRANSACTIONS:
            if done is not None and last <= done.value:
                continue
            middle = (first + last) // 2
            if middle < last and last - first > 1:
                inbox.append(events(middle - first + 1, start=first, ends=()), position=Seq(middle))
                first = middle + 1
            inbox.append(events(last - first + 1, start=first, ends={last}), position=Seq(last))
            tell()
            if inbox.end() >= 8:
                inbox.set_cursor("spark", 2)
                inbox.trim()


def push(directory: Path, hook: StepHook, tell: Callable[[], None], *, epoch: int) -> None:
    """Push three events, each when the one before it is durable."""
    with Inbox.open(directory, name="orders", epoch=epoch, hook=hook, flush_interval=0.001) as inbox:
        for number in range(inbox.end() + 1, 4):
            inbox.push(events(1, start=number), keys=[f"key-{number}"]).result(30)
            tell()


def publish(directory: Path, hook: StepHook, tell: Callable[[], None], *, epoch: int) -> None:
    """Write and publish the batches that are not published, and release all but the newest."""
    with Outbox.open(directory, epoch=epoch, hook=hook) as outbox:
        for batch_id in range(BATCHES):
            parts = tuple(
                write_part(
                    outbox.parts_directory,
                    part_name(epoch=epoch, generation=1, batch_id=batch_id, partition=number, attempt=0),
                    [pa.record_batch([[batch_id * 10 + number]], schema=ROWS)],
                    ROWS,
                    hook=hook,
                )
                for number in range(2)
            )
            batch = NewBatch(
                batch_id=batch_id,
                query_id="q",
                fingerprint="f",
                starts={"u": batch_id},
                ends={"u": batch_id + 1},
                positions={"orders": Seq(batch_id + 1)},
                parts=parts,
                digest=Digest(2, batch_id),
            )
            oseq = outbox.publish(batch).oseq
            tell()
            if oseq > 2:
                outbox.release(oseq - 2)


def entry(ordinal: int, **changes: object) -> DeadLetterEntry:
    """A dead letter of the row at this place."""
    values: dict[str, object] = {
        "time": datetime(2026, 1, 1, tzinfo=UTC),
        "pipeline": "p",
        "stage": "sink:a",
        "oseq": 7,
        "error_kind": "Rejected",
        "error_code": "HF-404",
        "message": "no",
        "attempts": 3,
        "payload": b"{}",
    }
    return DeadLetterEntry.of(ordinal=ordinal, **(values | changes))  # type: ignore[arg-type]


def bury(directory: Path, hook: StepHook, tell: Callable[[], None], *, epoch: int) -> None:
    """Put three dead letters, two of them at once, and one of them twice."""
    with DeadLetterLog.open(directory, epoch=epoch, hook=hook) as dead:
        for group in ((1,), (1, 2, 3)):
            dead.put([entry(ordinal) for ordinal in group])
            tell()


def see_to(directory: Path, hook: StepHook, tell: Callable[[], None], *, epoch: int) -> None:
    """Put five dead letters where four have room, acknowledge two, look through all, and let all go."""
    limits = DeadLetterLimits(4, overflow=Overflow.DROP_OLDEST)
    with DeadLetterLog.open(directory, epoch=epoch, limits=limits, hook=hook) as dead:
        for ordinal in range(1, 6):
            dead.put([entry(ordinal)])
        chosen = DeadLetterFilter(ids={entry(2).entry_id, entry(3).entry_id})
        dead.mark(chosen, EntryState.ACKED)
        tell()
        dead.note_review(dead.review())
        dead.remove(chosen)
        tell()
        dead.remove(DeadLetterFilter())

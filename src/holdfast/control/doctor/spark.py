"""What is wrong with Spark's checkpoint, and with how it fits the logs around it. Pure.

Spark needs its newest plan and the one before it, its newest commit, and the state that this names. When one of them
cannot be used, Spark can go back to an earlier batch that is whole: the outbox remembers where the batches after it
ended, so Spark plans them again exactly so, and nothing is published twice. That is possible as long as the inboxes
hold what those batches were made of.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from holdfast.control.doctor.findings import Code, Finding, Severity
from holdfast.control.doctor.repairs import Remove, Repair, SetAside, WriteMetadata
from holdfast.control.doctor.spark_files import (
    COMMITS,
    METADATA,
    OFFSETS,
    Book,
    Fault,
    SparkFacts,
    checksum_of,
    state_missing,
)
from holdfast.runtime.agreement import OutboxBatch

_KEPT = "Inboxes, outbox, cursors and sinks are untouched."
_RESTORE = "Put the file back from a copy, or continue in a new generation with `holdfast run --new-generation`."
_GO_BACK = "Spark goes back to batch {0} and repeats what follows as the outbox remembers it; nothing is sent twice."


@dataclass(frozen=True, slots=True)
class Around:
    """What Spark's checkpoint has to fit."""

    batches: Sequence[OutboxBatch]
    """What this generation has published, ascending."""
    initial: Mapping[str, int]
    """Where the generation begins."""
    held: Mapping[str, tuple[int, int]]
    """The first and the last event of each inbox, by its uuid."""

    @property
    def newest(self) -> int:
        """The newest batch published; -1 when there is none."""
        return self.batches[-1].batch_id if self.batches else -1


def judge_spark(facts: SparkFacts, around: Around) -> Iterator[Finding]:
    """What is wrong with a checkpoint of Spark."""
    yield from _of_identity(facts, around)
    yield from _of_books(facts, around)
    yield from _of_fit(facts, around)
    for path in facts.torn_checksums:
        what = f"The checksum {path.name} is torn, so Spark refuses the file that it belongs to, which is whole."
        remedy = "Remove it: a file without a checksum is read as it is."
        yield Finding(Code.SPARK_CHECKSUM_WRONG, Severity.BREAKS_START, what, path, _KEPT, remedy, repair=Remove(path))
    for path in facts.leftovers:
        what = f"{path.name} was being written when Spark ended, or belongs to a file that is gone."
        remedy = "Nothing needs to be done; it is not read."
        yield Finding(Code.SPARK_LEFTOVER, Severity.LEFTOVER, what, path, _KEPT, remedy, repair=Remove(path))


def _of_identity(facts: SparkFacts, around: Around) -> Iterator[Finding]:
    path = facts.directory / METADATA
    known = around.batches[-1].query_id if around.batches else None
    if facts.metadata_fault is not None:
        what = f"Spark's metadata is torn ({facts.metadata_fault}), so it cannot be said which query this is."
        repair = WriteMetadata(path, known) if known else SetAside((path, checksum_of(path)), "Spark makes it anew.")
        yield Finding(Code.SPARK_METADATA_TORN, Severity.BREAKS_START, what, path, _KEPT, _RESTORE, repair=repair)
    elif facts.query_id is None and (around.batches or facts.offsets):
        has_books = bool(facts.offsets)
        what = (
            "Spark's metadata is gone, so it would begin again as another query."
            if has_books
            else f"Spark's checkpoint is gone, but batches up to {around.newest} of this generation were published."
        )
        can_repeat = has_books or _can_bridge(facts, around, -1)
        anew = WriteMetadata(path, known) if known and can_repeat else None
        yield Finding(Code.SPARK_MISSING, Severity.BREAKS_START, what, path, _KEPT, _RESTORE, repair=anew)
    elif known is not None and facts.query_id is not None and facts.query_id != known:
        what = f"This checkpoint is of query {facts.query_id}, but query {known} has published this generation."
        remedy = f"Put the checkpoint of query {known} back, or continue in a new generation."
        yield Finding(Code.SPARK_QUERY_FOREIGN, Severity.BREAKS_START, what, path, _KEPT, remedy)


def _of_books(facts: SparkFacts, around: Around) -> Iterator[Finding]:
    planned, finished = max(facts.offsets, default=-1), max(facts.commits, default=-1)
    going_back = _going_back(facts, around, planned, finished)
    for number, book in facts.offsets.items():
        if book.fault is not None:
            is_needed = number >= planned - 1
            alone = SetAside(_files(facts, OFFSETS, number), "Spark needs it no more.")
            yield _faulty(facts, OFFSETS, number, book, going_back if is_needed else alone)
    for number, book in facts.commits.items():
        if book.fault is not None:
            yield _faulty(facts, COMMITS, number, book, going_back if number == finished else None, number == finished)
    for number in sorted(set(range(min(facts.offsets, default=0), planned)) - facts.offsets.keys()):
        yield _hole(facts, OFFSETS, number, going_back if number == planned - 1 else None, number == planned - 1)
    oldest = min(facts.commits, default=min(facts.offsets, default=0))
    for number in sorted(set(range(oldest, planned)) - facts.commits.keys()):
        yield _hole(facts, COMMITS, number, going_back if number > finished else None, number > finished)
    for number in sorted(set(facts.commits) - set(facts.offsets)):
        if number > planned:
            path = facts.path(COMMITS, number)
            what = f"Spark has finished batch {number} according to its commits, but its plan is not there."
            yield Finding(
                Code.SPARK_COMMIT_ALONE, Severity.BREAKS_START, what, path, _KEPT, _RESTORE, repair=going_back
            )
    for name in state_missing(facts, finished):
        what = f"The state that batch {finished} left is not whole: {name} is gone."
        path = facts.directory / name
        yield Finding(Code.SPARK_STATE_MISSING, Severity.BREAKS_START, what, path, _KEPT, _RESTORE, repair=going_back)


def _faulty(
    facts: SparkFacts, folder: str, number: int, book: Book, repair: Repair | None, is_needed: bool = True
) -> Finding:
    path = facts.path(folder, number)
    what = f"{folder}/{number} of Spark's checkpoint cannot be read: {book.why}."
    severity = Severity.BREAKS_START if is_needed else Severity.LOSES_NOTHING
    if book.fault is Fault.VERSION:
        remedy = "Use the version of Spark that wrote it, or put the file back from a copy."
        return Finding(Code.SPARK_VERSION_UNKNOWN, severity, what, path, _KEPT, remedy)
    code = Code.SPARK_OFFSET_TORN if folder == OFFSETS else Code.SPARK_COMMIT_TORN
    remedy = _RESTORE if is_needed else "Nothing needs to be done: Spark does not read it again."
    return Finding(code, severity, what, path, _KEPT, remedy, repair=repair)


def _hole(facts: SparkFacts, folder: str, number: int, repair: Repair | None, is_needed: bool) -> Finding:
    code = Code.SPARK_OFFSET_HOLE if folder == OFFSETS else Code.SPARK_COMMIT_HOLE
    path = facts.path(folder, number)
    if is_needed:
        what = f"There is a hole in Spark's {folder}: {number} is gone, and Spark cannot go on without it."
        return Finding(code, Severity.BREAKS_START, what, path, _KEPT, _RESTORE, repair=repair)
    what = f"There is a hole in Spark's {folder}: {number} is gone, and Spark does not need it any more."
    remedy = "Nothing needs to be done; only going back to that batch is not possible."
    return Finding(code, Severity.LOSES_NOTHING, what, path, _KEPT, remedy)


def _of_fit(facts: SparkFacts, around: Around) -> Iterator[Finding]:
    planned, finished = max(facts.offsets, default=-1), max(facts.commits, default=-1)
    for batch in around.batches:
        book = facts.offsets.get(batch.batch_id)
        if book is not None and book.fault is None and dict(book.ends) != dict(batch.ends):
            what = (
                f"Batch {batch.batch_id} was published up to {dict(batch.ends)}, but planned up to {dict(book.ends)}."
            )
            path = facts.path(OFFSETS, batch.batch_id)
            remedy = "This is the checkpoint of another run: put the right one back, or continue in a new generation."
            yield Finding(Code.SPARK_ENDS_DIFFER, Severity.BREAKS_START, what, path, _KEPT, remedy)
    if finished > around.newest:
        what = f"Spark has finished batch {finished}, but the newest batch of the outbox is {around.newest}."
        remedy = "The outbox is an older copy: put the newer one back."
        path = facts.path(COMMITS, finished)
        yield Finding(Code.SPARK_AHEAD_OF_OUTBOX, Severity.BREAKS_START, what, path, _KEPT, remedy)
    ahead = [batch.batch_id for batch in around.batches if batch.batch_id > planned]
    if facts.query_id is not None and ahead and ahead[0] != planned + 1:
        what = f"Spark's checkpoint ends with batch {planned}, and the outbox remembers only {ahead[0]} and later ones."
        remedy = "The checkpoint is an older copy: put a newer one back, or continue in a new generation."
        yield Finding(Code.SPARK_BEHIND_OUTBOX, Severity.BREAKS_START, what, facts.directory, _KEPT, remedy)
    yield from _of_inboxes(facts, around, planned, finished)


def _of_inboxes(facts: SparkFacts, around: Around, planned: int, finished: int) -> Iterator[Finding]:
    reached = [_ends(facts, around, planned), *(batch.ends for batch in around.batches)]
    reads_from = _ends(facts, around, finished)
    for uuid, (first, end) in around.held.items():
        newest = max((ends.get(uuid, 0) for ends in reached if ends is not None), default=0)
        if newest > end:
            what = f"Spark has planned up to event {newest} of inbox {uuid}, which ends with {end}."
            remedy = "The inbox is an older copy: put the newer one back, or continue in a new generation."
            yield Finding(Code.SPARK_AHEAD_OF_INBOX, Severity.BREAKS_START, what, facts.directory, _KEPT, remedy)
        if reads_from is not None and reads_from.get(uuid, 0) + 1 < first:
            what = f"Spark goes on behind event {reads_from.get(uuid, 0)} of inbox {uuid}, which begins with {first}."
            remedy = "The checkpoint is an older copy: put a newer one back, or continue in a new generation."
            yield Finding(Code.SPARK_BEHIND_INBOX, Severity.BREAKS_START, what, facts.directory, _KEPT, remedy)


def _going_back(facts: SparkFacts, around: Around, planned: int, finished: int) -> Repair | None:
    """To the newest batch that is whole and from which everything that follows can be repeated."""
    is_foreign = any(book.fault is Fault.VERSION for book in (*facts.offsets.values(), *facts.commits.values()))
    if is_foreign or (around.batches and facts.query_id not in (None, around.batches[-1].query_id)):
        return None
    for batch in range(min(planned, finished), -2, -1):
        if _is_whole(facts, batch) and _can_bridge(facts, around, batch):
            numbers = range(batch + 1, max(planned, finished) + 1)
            files = (path for number in numbers for book in (OFFSETS, COMMITS) for path in _files(facts, book, number))
            return SetAside(tuple(files), _GO_BACK.format(batch if batch >= 0 else "0, the first,"))
    return None


def _is_whole(facts: SparkFacts, batch: int) -> bool:
    """Whether Spark can go on behind a batch."""
    plans = [facts.offsets.get(number) for number in (batch - 1, batch) if number >= 0]
    commits = [facts.commits.get(batch)] if batch >= 0 else []
    usable = all(book is not None and book.fault is None for book in (*plans, *commits))
    return usable and next(state_missing(facts, batch), None) is None


def _can_bridge(facts: SparkFacts, around: Around, batch: int) -> bool:
    """Whether what follows a batch can be repeated exactly: the ends are on record and the events are there."""
    after = [each.batch_id for each in around.batches if each.batch_id > batch]
    ends = _ends(facts, around, batch)
    if ends is None or after != list(range(batch + 1, around.newest + 1)):
        return False
    if batch == -1 and facts.query_id is None and not around.batches:
        return False
    return max(facts.commits, default=-1) <= around.newest and all(
        ends.get(uuid, 0) + 1 >= first for uuid, (first, _) in around.held.items()
    )


def _ends(facts: SparkFacts, around: Around, batch: int) -> Mapping[str, int] | None:
    if batch < 0:
        return around.initial
    book = facts.offsets.get(batch)
    return None if book is None or book.fault is not None else book.ends


def _files(facts: SparkFacts, folder: str, number: int) -> tuple[Path, ...]:
    known = facts.offsets if folder == OFFSETS else facts.commits
    path = facts.path(folder, number)
    return (path, checksum_of(path)) if number in known else ()

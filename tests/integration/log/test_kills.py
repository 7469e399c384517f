"""kill -9 at every durable step of every log: nothing that was told is lost, nothing is doubled, and work goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from holdfast.log import DeadLetterLog, Fate, Inbox, InboxReader, Outbox
from holdfast.model.positions import Seq
from holdfast.model.steps import Step
from tests.support import log_work as work
from tests.support.log_events import ids, read_ids, segment_files
from tests.support.log_process import run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


def killed_at_every_step(task: Callable[..., None], quick_path: Path, steps: set[Step]) -> Iterator[tuple[Path, int]]:
    """For each step the task reaches: the log as a process left it that was killed there, and how much it had told."""
    reached: set[str] = set()
    for number in range(200):
        directory = quick_path / f"log-{number}"
        ended = run(task, directory, quick_path, kill_at=number, epoch=1)
        if not ended.was_killed:
            assert reached >= steps, f"never reached: {steps - reached}"
            return
        reached.add(ended.steps[-1])
        yield directory, ended.told
    pytest.fail("the task never came to its end")


INBOX = {Step.INBOX_WRITE, Step.INBOX_FSYNC, Step.INBOX_INDEX, Step.INBOX_INDEXED, Step.INBOX_TRIM, Step.INBOX_TRIMMED}
PARTS = {Step.PART_WRITE, Step.PART_FSYNC, Step.PART_WRITTEN}
OUTBOX = {
    Step.OUTBOX_PUBLISH,
    Step.OUTBOX_PUBLISHED,
    Step.OUTBOX_TRIM,
    Step.OUTBOX_TRIMMED,
    Step.OUTBOX_REMOVED,
}
DEAD = {Step.DEAD_LETTER_WRITE, Step.DEAD_LETTER_FSYNC, Step.DEAD_LETTER_INDEX, Step.DEAD_LETTER_WRITTEN}


@pytest.mark.req("X2", "X5")
def test_an_inbox_killed_at_any_step_loses_and_doubles_nothing(quick_path: Path) -> None:
    ends = [0, *(last for _, last in work.TRANSACTIONS)]
    for directory, told in killed_at_every_step(work.capture, quick_path, INBOX):
        with Inbox.open(directory, name="orders", epoch=2) as inbox:
            assert inbox.end() in (ends[told], ends[min(told + 1, len(ends) - 1)])
            assert inbox.position() == (Seq(inbox.end()) if inbox.end() else None)
        work.capture(directory, lambda _: None, lambda: None, epoch=3)
        with InboxReader.open(directory) as reader:
            first = reader.first()
        assert first == 3
        assert read_ids(directory, after=2) == ids(*range(3, work.LAST + 1))


@pytest.mark.req("X5")
def test_a_push_that_was_told_as_durable_is_there_after_a_kill(quick_path: Path) -> None:
    for directory, told in killed_at_every_step(work.push, quick_path, INBOX - {Step.INBOX_TRIM, Step.INBOX_TRIMMED}):
        with Inbox.open(directory, name="orders", epoch=2) as inbox:
            assert told <= inbox.end() <= told + 1
        work.push(directory, lambda _: None, lambda: None, epoch=3)
        assert len(read_ids(directory)) == 3


def test_a_reader_needs_nobody_to_tidy_up_after_a_kill(quick_path: Path) -> None:
    directory = quick_path / "inbox"
    ended = run(work.capture, directory, quick_path, kill_at=14, epoch=1)
    assert (ended.was_killed, ended.told) == (True, 2)
    assert read_ids(directory) == ids(*range(1, 8))


def test_a_kill_leaves_no_bytes_behind_that_nobody_names(quick_path: Path) -> None:
    for directory, _ in killed_at_every_step(work.capture, quick_path, INBOX):
        with Inbox.open(directory, name="orders", epoch=2), InboxReader.open(directory) as reader:
            chunks = reader.chunks(reader.first() - 1, reader.end())
            named = {chunk.file: chunk.offset + chunk.length for chunk in chunks}
        assert {f"segments/{file.name}": file.stat().st_size for file in segment_files(directory)} == named


@pytest.mark.req("X5")
def test_an_outbox_killed_at_any_step_publishes_each_batch_once(quick_path: Path) -> None:
    for directory, told in killed_at_every_step(work.publish, quick_path, PARTS | OUTBOX):
        with Outbox.open(directory, epoch=2) as outbox:
            assert told <= outbox.last_oseq() <= told + 1
            for batch in outbox.batches():
                assert outbox.read(batch.oseq)["seq"].to_pylist() == [batch.batch_id * 10, batch.batch_id * 10 + 1]
        work.publish(directory, lambda _: None, lambda: None, epoch=3)
        with Outbox.open(directory, epoch=4) as outbox:
            assert [(batch.oseq, batch.batch_id) for batch in outbox.batches()] == [(3, 2), (4, 3)]
            named = {part.file for batch in outbox.batches() for part in batch.parts}
            assert {file.name for file in outbox.parts_directory.iterdir()} == named


def test_dead_letters_killed_at_any_step_are_there_once(quick_path: Path) -> None:
    for directory, told in killed_at_every_step(work.bury, quick_path, DEAD):
        with DeadLetterLog.open(directory, epoch=2) as dead:
            assert dead.count() in ((0, 1), (1, 3), (3, 3))[told]
        work.bury(directory, lambda _: None, lambda: None, epoch=3)
        with DeadLetterLog.open(directory, epoch=4) as dead:
            assert dead.rejected("sink:a", 7) == {1, 2, 3}
            assert sorted(found.ordinal for found in dead.entries()) == [1, 2, 3]


def test_dead_letters_killed_while_somebody_sees_to_them_are_all_somewhere(quick_path: Path) -> None:
    steps = DEAD | {Step.DEAD_LETTER_MARK, Step.DEAD_LETTER_TRIM, Step.DEAD_LETTER_TRIMMED}
    for directory, told in killed_at_every_step(work.see_to, quick_path, steps):
        with DeadLetterLog.open(directory, epoch=2) as dead:
            there, went = [found.ordinal for found in dead.entries()], [each.ordinal for each in dead.gone()]
            decided = sorted([*there, *went])
            assert decided == list(range(1, len(decided) + 1)), "each is there or gone, and only one of the two"
            assert sum(dead.status().totals.values()) == len(decided) + len(went)
            assert told == 0 or dead.rejected("sink:a", 7) == {1, 2, 3, 4, 5}
        work.see_to(directory, lambda _: None, lambda: None, epoch=3)
        with DeadLetterLog.open(directory, epoch=4) as dead:
            gone = {each.ordinal: each.fate for each in dead.gone()}
            assert gone == {1: Fate.EVICTED, **dict.fromkeys((2, 3, 4, 5), Fate.PURGED)}
            assert (dead.count(), dead.review().since is None, dead.review().unseen) == (0, False, {})
        assert segment_files(directory) == [], "no file is left that nobody needs"

"""What survives a loss of power is what was synced: every byte and every name is, before a row of an index names it."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest

from holdfast.log import DeadLetterLog, Inbox, Outbox, write_part
from holdfast.model.positions import Seq
from holdfast.model.steps import Step
from tests.support.log_events import events
from tests.support.log_work import entry

Trace = list[str]


@pytest.fixture
def trace(monkeypatch: pytest.MonkeyPatch) -> Trace:
    """The names of files and directories as they are synced; a hook adds the steps. SQLite syncs its files itself."""
    seen: Trace = []
    sync = os.fsync

    def note(descriptor: int) -> None:
        seen.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)
        sync(descriptor)

    if not Path("/proc/self/fd").exists():
        pytest.skip("needs /proc to know which file is synced")
    monkeypatch.setattr(os, "fsync", note)
    return seen


SEGMENT = "seg-00000001-000001"


def test_the_names_of_a_new_log_are_synced_up_to_the_first_directory_that_was_there(
    tmp_path: Path, trace: Trace
) -> None:
    Inbox.open(tmp_path / "pipeline" / "inbox", name="orders", epoch=1).close()
    assert trace == [tmp_path.name, "pipeline", "inbox", "inbox"]


def test_an_append_is_synced_with_the_name_of_its_file_before_the_index_names_it(tmp_path: Path, trace: Trace) -> None:
    with Inbox.open(tmp_path, name="orders", epoch=1, hook=trace.append) as inbox:
        trace.clear()
        inbox.append(events(1), position=Seq(1))
        first = trace.copy()
        trace.clear()
        inbox.append(events(1, start=2), position=Seq(2))
    end = [Step.INBOX_INDEX, Step.INBOX_INDEXED]
    assert first == [Step.INBOX_WRITE, Step.INBOX_FSYNC, SEGMENT, "segments", *end]
    assert trace == [Step.INBOX_WRITE, Step.INBOX_FSYNC, SEGMENT, *end]


def test_an_index_syncs_every_commit(tmp_path: Path) -> None:
    with Inbox.open(tmp_path, name="orders", epoch=1) as inbox:
        db = inbox._store.log.index._connection
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert db.execute("PRAGMA synchronous").fetchone() == (2,)


def test_a_part_is_synced_with_its_name_before_it_can_be_published(tmp_path: Path, trace: Trace) -> None:
    with Outbox.open(tmp_path, epoch=1) as outbox:
        trace.clear()
        schema = pa.schema([("seq", pa.int64())])
        batch = pa.record_batch([[1]], schema=schema)
        write_part(outbox.parts_directory, "part", [batch], schema, hook=trace.append)
    assert trace == [Step.PART_WRITE, Step.PART_FSYNC, "part", "parts", Step.PART_WRITTEN]


def test_dead_letters_are_synced_before_the_index_names_them(tmp_path: Path, trace: Trace) -> None:
    with DeadLetterLog.open(tmp_path, epoch=1, hook=trace.append) as dead:
        trace.clear()
        dead.put([entry(1)])
    end = [Step.DEAD_LETTER_INDEX, Step.DEAD_LETTER_WRITTEN]
    assert trace == [Step.DEAD_LETTER_WRITE, Step.DEAD_LETTER_FSYNC, SEGMENT, "segments", *end]

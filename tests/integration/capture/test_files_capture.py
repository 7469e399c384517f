"""Files into an inbox and through a pipeline: no room, a full disk, a damaged position, a drain, several sources."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from holdfast.capture import Capture, CaptureState
from holdfast.capture.files import LogFiles
from holdfast.log import Inbox, InboxReader
from holdfast.model.errors import ModelError, PipelineBusy
from holdfast.testing import LocalProcessor
from tests.support.engine_disks import Ballast
from tests.support.engine_pipelines import wait_until
from tests.support.log_lines import lines, pipeline, table_lines
from tests.support.mounts import small_disk

if TYPE_CHECKING:
    from collections.abc import Iterator


def write(path: Path, first: int, last: int) -> list[bytes]:
    written = [b"%s %d %s" % (path.name.encode(), number, b"x" * 100) for number in range(first, last + 1)]
    with path.open("ab") as file:
        file.write(b"\n".join(written) + b"\n")
    return written


@contextmanager
def capturing(directory: Path, logs: Path, *, quota: int | None = None) -> Iterator[tuple[Capture, Inbox]]:
    failures: list[BaseException] = []
    with Inbox.open(directory, name="files", epoch=1, quota=quota) as inbox:
        capture = Capture(LogFiles(logs / "*.log*"), inbox, failed=failures.append, retry_pause=0.05)
        capture.start()
        yield capture, inbox
        capture.stop()
    assert not failures


def captured(directory: Path) -> list[bytes]:
    with InboxReader.open(directory) as reader:
        return [line for batch in reader.read(reader.first() - 1) for line in batch["payload"].to_pylist()]


@pytest.mark.req("G11")
def test_files_that_are_rotated_while_there_is_no_room_are_read_when_there_is(tmp_path: Path) -> None:
    log = tmp_path / "app.log"
    found: list[bytes] = []
    with capturing(tmp_path / "inbox", tmp_path, quota=20_000) as (capture, inbox):
        inbox.set_cursor("reader", 0)
        written = write(log, 1, 500)
        wait_until(lambda: inbox.end() == 500, "the first lines are captured, as no line was there before them")
        for turn in range(1, 4):
            written += write(log, turn * 500 + 1, (turn + 1) * 500)
            log.rename(tmp_path / f"app.log.{turn}")
        wait_until(lambda: capture.status().state is CaptureState.BLOCKED, "there is no room")
        found += captured(tmp_path / "inbox")
        seen = inbox.end()
        while seen < len(written):
            inbox.set_cursor("reader", seen)
            inbox.trim()
            wait_until(lambda seen=seen: inbox.end() > seen, "more is captured")
            found += captured(tmp_path / "inbox")
            seen = inbox.end()
    assert Counter(found) == Counter(written)


@pytest.mark.req("G13")
def test_a_full_disk_loses_and_doubles_nothing(tmp_path: Path) -> None:
    log = tmp_path / "app.log"
    with small_disk(tmp_path / "disk", "4M") as disk:
        with capturing(disk / "inbox", tmp_path) as (capture, inbox):
            written = write(log, 1, 100)
            wait_until(lambda: inbox.end() == 100, "the first lines are captured")
            ballast = Ballast(disk)
            written += write(log, 101, 5000)
            wait_until(lambda: capture.status().state is CaptureState.RETRYING, "capture waits for room, and says so")
            log.rename(tmp_path / "app.log.1")
            ballast.remove()
            wait_until(lambda: inbox.end() == 5000, "there is room again")
            assert capture.status().state is CaptureState.READING
        assert captured(disk / "inbox") == written


@pytest.mark.req("G13", "G2")
def test_what_only_the_open_file_has_survives_a_full_disk(tmp_path: Path) -> None:
    """The file is removed while its lines wait for room, so they could not be read a second time."""
    log = tmp_path / "app.log"
    with small_disk(tmp_path / "disk", "4M") as disk:
        with capturing(disk / "inbox", tmp_path) as (capture, inbox):
            written = write(log, 1, 100)
            wait_until(lambda: inbox.end() == 100, "the first lines are captured")
            ballast = Ballast(disk)
            written += write(log, 101, 5000)
            wait_until(lambda: capture.status().state is CaptureState.RETRYING, "capture waits for room")
            log.unlink()
            ballast.remove()
            wait_until(lambda: inbox.end() == 5000, "there is room again")
        assert captured(disk / "inbox") == written


@pytest.mark.req("G14", "X19")
@pytest.mark.parametrize("damage", ["", "{", '{"kind":"files","v":1}', '{"kind":"files","v":9,"begun":0,"files":{}}'])
def test_a_damaged_position_never_means_to_start_anew(tmp_path: Path, damage: str) -> None:
    write(tmp_path / "app.log", 1, 10)
    with capturing(tmp_path / "inbox", tmp_path) as (_, inbox):
        wait_until(lambda: inbox.end() == 10, "the lines are captured")
    with closing(sqlite3.connect(tmp_path / "inbox" / "index.db", isolation_level=None)) as db:
        db.execute("UPDATE state SET end_position = ?", (damage,))
    with pytest.raises(ModelError):
        Inbox.open(tmp_path / "inbox", name="files", epoch=2)


@pytest.mark.req("G19", "G20")
def test_a_pipeline_that_was_drained_goes_on_with_the_next_line(tmp_path: Path) -> None:
    logs = {name: tmp_path / name for name in ("a.log", "b.log", "c.txt")}
    written: Counter[str] = Counter()
    for start in (1, 301, 601):
        whole = pipeline(
            tmp_path, LogFiles(tmp_path / "*.log", name="logs"), LogFiles(tmp_path / "*.txt", name="texts")
        )
        whole.start(processor=lambda: LocalProcessor(lines))
        for path in logs.values():
            for first in range(start, start + 300, 100):
                written.update(line.decode() for line in write(path, first, first + 99))
        wait_until(lambda: len(table_lines(tmp_path)) > written.total() // 2, "more than half of them are there")
        whole.drain()
        assert max(Counter(table_lines(tmp_path)).values()) == 1
    whole = pipeline(tmp_path, LogFiles(tmp_path / "*.log", name="logs"), LogFiles(tmp_path / "*.txt", name="texts"))
    whole.start(processor=lambda: LocalProcessor(lines))
    wait_until(lambda: len(table_lines(tmp_path)) >= written.total(), "all lines are there")
    whole.drain()
    assert Counter(table_lines(tmp_path)) == written
    for name in logs:
        numbers = [int(line.split()[1]) for line in table_lines(tmp_path, like=f"{name} %")]
        assert numbers == list(range(1, 901)), "in the order of the file"


@pytest.mark.req("G17")
def test_two_pipelines_cannot_use_one_directory(tmp_path: Path) -> None:
    write(tmp_path / "app.log", 1, 10)
    first = pipeline(tmp_path, LogFiles(tmp_path / "*.log"))
    first.start(processor=lambda: LocalProcessor(lines))
    try:
        with pytest.raises(PipelineBusy):
            pipeline(tmp_path, LogFiles(tmp_path / "*.log")).start(processor=lambda: LocalProcessor(lines))
    finally:
        first.stop()

"""How a capture turns reads into appends: few of them while little comes, and none that waits in vain."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from holdfast import Generator, Pace
from holdfast.capture import Capture, CaptureState
from holdfast.capture.tailing.content import open_content
from holdfast.log import Inbox, InboxReader
from tests.support.engine_pipelines import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.capture import Captured
    from holdfast.model.positions import Position


LIMIT = 20.0


def captured(directory: Path, source: Generator, *, pause: float) -> list[int]:
    """Capture all of a source; how many events each append holds."""
    with Inbox.open(directory, name=source.name, epoch=1) as inbox:
        capture = Capture(source, inbox, failed=_unexpected, pause=pause)
        capture.start()
        wait_until(lambda: capture.status().state is CaptureState.FINISHED, "the source has ended")
        capture.stop()
        with InboxReader.open(directory) as reader:
            return [chunk.last_seq - chunk.first_seq + 1 for chunk in reader.chunks(0, inbox.end())]


def test_what_a_source_gives_one_by_one_is_appended_together(tmp_path: Path) -> None:
    appends = captured(tmp_path, Generator(events=400, chunk=1), pause=0.02)
    assert sum(appends) == 400
    assert len(appends) <= 100, "each append costs a sync"


def test_large_reads_are_appended_as_they_come(tmp_path: Path) -> None:
    assert captured(tmp_path, Generator(events=4000, chunk=1000), pause=0.02) == [1000, 1000, 1000, 1000]


def test_the_first_event_after_a_silence_does_not_wait(tmp_path: Path) -> None:
    with Inbox.open(tmp_path, name="orders", epoch=1) as inbox:
        capture = Capture(Generator(events=2, chunk=1, pace=Pace(rate=1)), inbox, failed=_unexpected, pause=3600)
        capture.start()
        wait_until(lambda: inbox.end() == 1, "the first event is durable, though the pause is an hour")
        capture.stop()


class Hanging(Generator):
    """Orders that do not come while nobody lets them."""

    stalled_after = 0.2

    def __init__(self) -> None:
        super().__init__(events=100)
        self.answers = threading.Event()

    def read(self, wait: float) -> Captured | None:
        self.answers.wait()
        return super().read(wait)


def test_a_source_that_hangs_is_told_left_behind_by_a_stop_and_loses_nothing(tmp_path: Path) -> None:
    source = Hanging()
    with Inbox.open(tmp_path, name="orders", epoch=1) as inbox:
        capture = Capture(source, inbox, failed=_unexpected)
        capture.start()
        wait_until(lambda: capture.status().is_stalled, "it is known to hang")
        assert capture.status().silent > source.stalled_after
        capture.stop()
        source.answers.set()
        wait_until(lambda: capture.status().state is CaptureState.STOPPED, "its thread ends")
        assert inbox.end() == 0
    assert sum(captured(tmp_path, Generator(events=100), pause=0)) == 100


class Closing(Generator):
    """Orders whose files take a while to close; they know how often somebody closed them."""

    def __init__(self) -> None:
        super().__init__(events=1)
        self.closed = 0
        self.may_close = threading.Event()

    def close(self) -> None:
        self.closed += 1
        self.may_close.wait(LIMIT)


def test_two_threads_that_stop_a_capture_at_once_close_its_source_once(tmp_path: Path) -> None:
    source = Closing()
    with Inbox.open(tmp_path, name="orders", epoch=1) as inbox:
        capture = Capture(source, inbox, failed=_unexpected)
        capture.start()
        wait_until(lambda: capture.finished, "the source has ended")
        first, second = (threading.Thread(target=capture.stop) for _ in range(2))
        first.start()
        wait_until(lambda: source.closed == 1, "the first stop closes the source")
        second.start()
        second.join(0.2)
        assert second.is_alive(), "the source is closed when a stop returns, whoever closes it"
        source.may_close.set()
        first.join(LIMIT)
        second.join(LIMIT)
        capture.stop()
        assert source.closed == 1


def test_a_file_that_is_closed_twice_closes_no_other(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("one line\n")
    content = open_content(str(tmp_path / "a.log"))
    assert content is not None
    content.close()
    other = os.open(tmp_path / "a.log", os.O_RDONLY)  # takes the number that was given up
    try:
        content.close()
        assert os.read(other, 3) == b"one"
    finally:
        os.close(other)


class Told(Generator):
    """Orders that note where they are told to be durable, and what the inbox has then."""

    def __init__(self, inbox: Inbox) -> None:
        super().__init__(events=30, chunk=10)
        self._inbox = inbox
        self.told: list[tuple[Position, Position | None]] = []

    def captured(self, position: Position) -> None:
        self.told.append((position, self._inbox.position()))


def test_a_source_is_told_what_is_durable_and_nothing_else(tmp_path: Path) -> None:
    with Inbox.open(tmp_path, name="orders", epoch=1) as inbox:
        source = Told(inbox)
        capture = Capture(source, inbox, failed=_unexpected)
        capture.start()
        wait_until(lambda: capture.status().state is CaptureState.FINISHED, "the source has ended")
        capture.stop()
        assert source.told[-1][0] == inbox.position()
        assert all(told == durable for told, durable in source.told)


def _unexpected(error: BaseException) -> None:
    raise AssertionError from error

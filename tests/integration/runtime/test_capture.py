"""Capture reads a source into its inbox, and again from the last whole transaction after any trouble."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest
from tests.support.engine_pipelines import started, wait_until

from holdfast import Files, Pipeline, State
from holdfast.capture import Capture, Captured, CaptureState, Generator
from holdfast.log import Inbox, InboxReader
from holdfast.model.errors import PipelineFailed, SourceGap, SourceUnavailable

if TYPE_CHECKING:
    from pathlib import Path

    from holdfast.model.positions import Position


class Unsteady(Generator):
    """Orders from a source that is gone for a moment after every third read."""

    reads = 0

    def read(self, wait: float) -> Captured | None:
        self.reads += 1
        if self.reads % 4 == 0:
            raise SourceUnavailable("The connection was cut.", remedy="It is made again by itself.")
        return super().read(wait)


class Faulty(Unsteady):
    """Orders from a source that fails with errors of its own, which nobody foresaw, in everything it is asked."""

    opened = closed = 0

    def open(self, after: Position | None) -> None:
        self.opened += 1
        if self.opened in (1, 3):
            raise ConnectionResetError(104, "Connection reset by peer")
        super().open(after)

    def read(self, wait: float) -> Captured | None:
        try:
            return super().read(wait)
        except SourceUnavailable:
            raise KeyError("lsn") from None

    def captured(self, position: Position) -> None:
        if self.reads == 2:
            raise RuntimeError("the slot is busy")

    def close(self) -> None:
        self.closed += 1
        raise OSError(9, "Bad file descriptor")


def captured(directory: Path, source: Generator) -> list[str]:
    """What is in the inbox once everything was captured."""
    broken: list[BaseException] = []
    with Inbox.open(directory, name=source.name, epoch=1) as inbox:
        capture = Capture(source, inbox, failed=broken.append, retry_pause=0.001)
        capture.start()
        finished = threading.Event()
        while not capture.finished and not broken and not finished.wait(0.01):
            pass
        capture.stop()
        assert not broken
        assert capture.status().state is CaptureState.FINISHED
    with InboxReader.open(directory) as reader:
        return [position for batch in reader.read(0) for position in batch["position"].to_pylist()]


@pytest.mark.req("X2", "D1")
def test_a_source_that_is_cut_off_within_transactions_is_read_again_from_their_beginning(tmp_path: Path) -> None:
    source = Unsteady(events=1000, transactions=(70, 3, 110), chunk=40)
    assert captured(tmp_path / "inbox", source) == [str(n) for n in range(1, 1001)]
    assert source.reads > 25


@pytest.mark.req("X2", "D1")
def test_a_source_that_fails_in_a_way_nobody_foresaw_is_opened_again_and_nothing_is_lost(tmp_path: Path) -> None:
    source = Faulty(events=1000, transactions=(70, 3, 110), chunk=40)
    assert captured(tmp_path / "inbox", source) == [str(n) for n in range(1, 1001)]
    assert source.opened > 3
    assert source.closed > 3


class Forgetful(Generator):
    """A source that no longer has what comes next."""

    def open(self, after: Position | None) -> None:
        raise SourceGap("What comes next is gone.", remedy="Take a new snapshot.")


def test_a_source_that_fails_for_good_at_once_ends_the_run_with_its_own_error(tmp_path: Path) -> None:
    whole = Pipeline("orders", directory=tmp_path / "pipeline").read(Forgetful()).write(Files(tmp_path / "files"))
    with started(whole):
        wait_until(lambda: whole.engine.state is State.FAILED, "it has failed")
        with pytest.raises(PipelineFailed, match="HF-602"):
            whole.drain()


class Mended(Generator):
    """A source that fails until it is mended, and then has nothing to say."""

    is_mended = False

    def read(self, wait: float) -> Captured | None:
        if not self.is_mended:
            raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")
        time.sleep(wait)
        return None

    @property
    def finished(self) -> bool:
        return False


def test_a_source_that_keeps_failing_is_told_with_its_error_until_it_works_again(tmp_path: Path) -> None:
    source = Mended("orders")
    whole = Pipeline("orders", directory=tmp_path / "pipeline").read(source).write(Files(tmp_path / "files"))
    with started(whole):
        wait_until(lambda: whole.status().captures[0].state is CaptureState.RETRYING, "it is retried")
        assert "[HF-604] Source 'orders' failed with UnicodeDecodeError: 'utf-8' codec" in str(
            whole.status().captures[0].error
        )
        assert whole.engine.state is State.RUNNING
        source.is_mended = True
        wait_until(lambda: whole.status().captures[0].state is CaptureState.READING, "it works again")
        assert whole.status().captures[0].error is None
        whole.drain()
    assert whole.engine.state is State.STOPPED

"""Capture reads a source into its inbox, and again from the last whole transaction after any trouble."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from holdfast.capture import Capture, Captured, CaptureState, Generator
from holdfast.log import Inbox, InboxReader
from holdfast.model.errors import SourceUnavailable

if TYPE_CHECKING:
    from pathlib import Path


class Unsteady(Generator):
    """Orders from a source that is gone for a moment after every third read."""

    reads = 0

    def read(self, wait: float) -> Captured | None:
        self.reads += 1
        if self.reads % 4 == 0:
            raise SourceUnavailable("The connection was cut.", remedy="It is made again by itself.")
        return super().read(wait)


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

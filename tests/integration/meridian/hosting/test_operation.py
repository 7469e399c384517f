"""An operation as people run it: killed it goes on, it runs once, and told to stop it ends with all delivered."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.crash.alert_witness import drained, looked_at
from tests.support.operations import Operation
from tests.support.subscribers import Subscriber

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def operation(tmp_path: Path, subscriber: Subscriber) -> Iterator[Operation]:
    operation = Operation.prepared(tmp_path / "home", told=subscriber.url)
    yield operation
    operation.end()


def words(operation: Operation) -> int:
    return len(looked_at(operation.home.directory).words)


def refused(operation: Operation) -> str:
    """What somebody is told who runs it a second time."""
    second = subprocess.run(operation.command, capture_output=True, text=True, timeout=120, check=False)
    assert second.returncode != 0
    return second.stderr


@pytest.mark.req("DLV-14", "DLV-16")
def test_an_operation_that_is_killed_goes_on_alone_and_ends_in_order(
    operation: Operation, subscriber: Subscriber
) -> None:
    home = operation.home.directory
    operation.start()
    operation.until(lambda: words(operation) > 0, "alerts flow")
    assert len(operation.children()) == 2
    operation.killed()
    operation.until(lambda: not operation.children(), "edge and simulator end with who started them")
    told = looked_at(home, subscriber.book)
    assert told.complaints == []

    operation.start()
    operation.until(lambda: words(operation) > len(told.words), "alerts flow again")
    operation.until(lambda: "pipeline_watermark_seconds " in operation.home.metrics.read_text(), "metrics are written")
    owner, children = (home / "owner.lock").read_text(), operation.children()
    assert "HF-801" in refused(operation)
    assert (home / "owner.lock").read_text() == owner
    assert operation.children() == children

    assert operation.stopped() == 0, operation.said()[-2000:]
    assert operation.children() == set()
    found = looked_at(home, subscriber.book)
    assert found.words[: len(told.words)] == told.words
    subscriber.signal(signal.SIGTERM)
    assert [*found.complaints, *drained(home, subscriber.book)] == []

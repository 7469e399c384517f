"""Reading batches: once for lanes that keep together, a few ahead, never more than a few."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest
from tests.support.deliver_world import MemoryOutbox, rows

from holdfast.deliver.core import Halted
from holdfast.deliver.reading import Reader
from holdfast.model.errors import LogDamaged

LIMIT = 10.0


def outbox_of(count: int) -> MemoryOutbox:
    outbox = MemoryOutbox()
    for oseq in range(1, count + 1):
        outbox.add(rows(oseq))
    return outbox


def test_lanes_that_keep_together_share_one_read() -> None:
    outbox = outbox_of(1)
    reader = Reader(outbox)
    assert reader.read(1).equals(reader.read(1))
    assert outbox.reads == [1]


def test_two_lanes_at_the_same_moment_share_one_read() -> None:
    outbox, begun, go_on = outbox_of(1), threading.Event(), threading.Event()
    read = outbox.read

    def slow_read(oseq: int) -> pa.Table:
        begun.set()
        assert go_on.wait(LIMIT)
        return read(oseq)

    outbox.read = slow_read  # type: ignore[method-assign]
    reader = Reader(outbox)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(reader.read, 1)
        assert begun.wait(LIMIT)
        second = pool.submit(reader.read, 1)
        go_on.set()
        assert first.result(LIMIT).equals(second.result(LIMIT))
    assert outbox.reads == [1]


@pytest.mark.req("X20")
def test_no_more_batches_are_kept_than_was_said() -> None:
    reader = Reader(outbox_of(50), capacity=4)
    for oseq in range(1, 51):
        reader.read(oseq)
        assert reader.kept <= 4


def test_a_batch_that_could_not_be_read_is_read_again() -> None:
    outbox = outbox_of(1)
    reader, failures = Reader(outbox), [LogDamaged("The bytes are wrong.", remedy="Restore them.")]
    read = outbox.read

    def fail_once(oseq: int) -> pa.Table:
        if failures:
            raise failures.pop()
        return read(oseq)

    outbox.read = fail_once  # type: ignore[method-assign]
    with pytest.raises(LogDamaged):
        reader.read(1)
    assert reader.read(1).num_rows == 3


def test_what_is_wanted_is_read_ahead_until_closed() -> None:
    outbox, was_read = outbox_of(2), threading.Event()
    read = outbox.read

    def telling_read(oseq: int) -> pa.Table:
        table = read(oseq)
        was_read.set()
        return table

    outbox.read = telling_read  # type: ignore[method-assign]
    reader = Reader(outbox)

    def run() -> str:
        try:
            reader.run()
        except Halted:
            return "halted"

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(run)
        reader.want(2)
        assert was_read.wait(LIMIT)
        reader.close()
        assert running.result(LIMIT) == "halted"
    assert outbox.reads == [2]


@pytest.mark.req("X20")
def test_wishes_are_bounded_too() -> None:
    reader = Reader(outbox_of(0), capacity=3)
    for oseq in range(1, 100):
        reader.want(oseq)
    assert len(reader._wanted) == 3

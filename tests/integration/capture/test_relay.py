"""A pipeline that follows the log of another process: everything once, in order, and under its own name."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from holdfast import BatchLimits, Pipeline, Relay, Sqlite, Until
from holdfast.capture.generator import Generator
from holdfast.log import Inbox, InboxReader, Limits
from holdfast.model.errors import InvalidSource, SourceGap, SourceUnavailable
from holdfast.model.positions import LogPosition, Seq
from holdfast.testing import LocalProcessor
from tests.support.crash.orders import orders
from tests.support.crash.reconcile import table_numbers
from tests.support.local_pipelines import passed


class Writer:
    """The other process: it appends orders to its inbox."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.inbox = Inbox.open(directory, name="theirs", epoch=1)
        self._orders = Generator(transactions=(3, 7, 1), chunk=50)
        self._orders.open(None)

    def append(self, times: int = 1) -> None:
        for _ in range(times):
            some = self._orders.read(1)
            assert some is not None
            self.inbox.append(some.events, position=some.position)


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[Writer]:
    made = Writer(tmp_path / "theirs")
    yield made
    made.inbox.close()


def all_of(relay: Relay) -> pa.Table:
    found = []
    while (some := relay.read(0)) is not None:
        found.append(some.events)
    return pa.Table.from_batches(found)


def numbers(events: pa.Table) -> list[int]:
    return [int(text) for text in events["position"].to_pylist()]


def test_events_keep_their_identity_and_are_of_the_relay(writer: Writer) -> None:
    writer.append(3)
    relay = Relay(writer.directory, name="ours")
    relay.open(None)
    events = all_of(relay)
    with InboxReader.open(writer.directory) as theirs:
        with_seq = pa.Table.from_batches(list(theirs.read(0)))
    assert events["event_id"].to_pylist() == with_seq["event_id"].to_pylist()
    assert events["payload"].to_pylist() == with_seq["payload"].to_pylist()
    assert set(events["source"].to_pylist()) == {"ours"}
    assert numbers(events) == list(range(1, writer.inbox.end() + 1))


def test_it_goes_on_behind_a_position_while_the_owner_appends(writer: Writer) -> None:
    writer.append()
    relay = Relay(writer.directory)
    relay.open(None)
    first = relay.read(0)
    assert first is not None
    writer.append()
    again = Relay(writer.directory)
    again.open(first.position)
    assert numbers(all_of(again))[0] == first.position.seq + 1  # type: ignore[attr-defined]
    assert again.latest() == LogPosition(str(first.position).split(":")[0], writer.inbox.end())
    assert not again.finished


def test_a_log_that_is_not_there_yet_is_waited_for(tmp_path: Path) -> None:
    with pytest.raises(SourceUnavailable, match="no log"):
        Relay(tmp_path / "nowhere").open(None)


def test_another_log_in_its_place_is_refused(writer: Writer, tmp_path: Path) -> None:
    writer.append()
    relay = Relay(writer.directory)
    relay.open(None)
    first = relay.read(0)
    assert first is not None
    relay.close()
    writer.inbox.close()
    shutil.rmtree(writer.directory)
    other = Writer(writer.directory)
    other.append(3)
    with pytest.raises(SourceGap, match="another one"):
        relay.open(first.position)
    with pytest.raises(SourceGap, match="another one"):
        relay.open(Seq(3))
    other.inbox.close()


def test_what_was_trimmed_before_it_was_read_is_told(writer: Writer) -> None:
    writer.append()
    relay = Relay(writer.directory)
    relay.open(None)
    uuid = str(relay.latest()).split(":")[0]
    writer.append(3)
    writer.inbox.set_cursor("somebody", writer.inbox.end())
    writer.inbox.trim()
    with pytest.raises(SourceGap, match="begins at"):
        relay.open(LogPosition(uuid, 1))
    relay.open(None)
    assert relay.read(0) is None


def test_a_large_log_is_read_in_pieces(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holdfast.capture.relay._AT_ONCE", Limits(rows=40, nbytes=1 << 20))
    writer.append(2)
    relay = Relay(writer.directory)
    relay.open(None)
    first = relay.read(0)
    assert first is not None
    assert 0 < first.events.num_rows <= 40
    assert first.events["tx_end"][-1].as_py(), "a piece ends where a transaction does"
    rest = all_of(relay)
    assert first.events.num_rows + rest.num_rows == writer.inbox.end()


def test_one_that_is_not_open_says_so(tmp_path: Path) -> None:
    with pytest.raises(InvalidSource, match="not open"):
        Relay(tmp_path).read(0)


def pipeline(writer: Writer, directory: Path) -> Pipeline:
    return (
        Pipeline("ours", directory=directory / "pipeline")
        .read(Relay(writer.directory, name="theirs"))
        .write(Sqlite(directory / "sink.db", table="orders"))
        .batch(BatchLimits(max_events=60))
    )


def test_a_pipeline_that_is_stopped_and_started_has_everything_once(writer: Writer, tmp_path: Path) -> None:
    for _ in range(3):
        writer.append(2)
        whole = pipeline(writer, tmp_path)
        whole.start(processor=lambda: LocalProcessor(orders), until=Until.AVAILABLE_NOW)
        assert whole.wait(until=Until.AVAILABLE_NOW, timeout=60), whole.status()
        whole.stop()
    assert table_numbers(tmp_path / "sink.db") == passed(300)

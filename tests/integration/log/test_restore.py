"""Events that were dead letters come back to their inbox once, as what and where in the order they were."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from holdfast.log import DeadLetterEntry, Inbox, InboxReader, Limits
from holdfast.log.dead_entry import unpacked
from holdfast.model.envelope import ENVELOPE
from holdfast.model.errors import InvalidAppend, LogClosed, LogQuota
from holdfast.model.positions import Seq
from tests.support.log_events import events, read_ids

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def inbox(tmp_path: Path) -> Iterator[Inbox]:
    """An inbox with six events, in transactions of two."""
    with Inbox.open(tmp_path, name="orders", epoch=1) as inbox:
        inbox.append(events(6, ends={2, 4, 6}), position=Seq(6))
        yield inbox


def all_events(directory: Path) -> list[dict[str, object]]:
    with InboxReader.open(directory) as reader:
        return [row for batch in reader.read(0) for row in batch.to_pylist()]


def event(directory: Path, number: int) -> pa.Table:
    """One event as a step was given it."""
    with InboxReader.open(directory) as reader:
        return pa.Table.from_batches([batch.slice(number - 1, 1) for batch in reader.read(0, 6)])


@pytest.mark.req("X1")
def test_an_event_comes_back_as_what_it_was(inbox: Inbox, tmp_path: Path) -> None:
    before = event(tmp_path, 3).to_pylist()[0]
    assert inbox.restore({"entry-3": event(tmp_path, 3)}).rows == 1
    assert inbox.end() == 7
    after = all_events(tmp_path)[-1]
    changed = {name for name in ENVELOPE.names if after[name] != before[name]}
    assert changed == {"tx_end", "headers"}, "it is a transaction of its own now, and says where it comes from"
    assert (after["seq"], after["event_id"], after["position"]) == (3, "orders/3/0", "3")


@pytest.mark.req("K10")
def test_an_event_comes_back_once_also_after_a_restart_and_a_trim(inbox: Inbox, tmp_path: Path) -> None:
    three, four = event(tmp_path, 3), event(tmp_path, 4)
    inbox.restore({"entry-3": three})
    again = inbox.restore({"entry-3": three, "entry-4": four})
    assert (again.rows, again.left_out) == (1, 1)
    inbox.set_cursor("spark", inbox.end())
    inbox.trim()
    inbox.close()
    with Inbox.open(tmp_path, name="orders", epoch=2) as later:
        assert later.restore({"entry-3": three, "entry-4": four}).left_out == 2
        assert later.end() == 8


def test_the_source_stands_where_it_stood(inbox: Inbox, tmp_path: Path) -> None:
    inbox.restore({f"entry-{number}": event(tmp_path, number) for number in (2, 3, 4)})
    inbox.append(events(2, start=7, ends={8}), position=Seq(8))
    with InboxReader.open(tmp_path) as reader:
        positions = [reader.position_at(seq) for seq in (6, 7, 8, 9, 11)]
    assert positions == [Seq(6), Seq(6), Seq(6), Seq(6), Seq(8)]
    assert inbox.position() == Seq(8)
    inbox.close()
    with Inbox.open(tmp_path, name="orders", epoch=2) as later:
        assert (later.position(), later.end()) == (Seq(8), 11)


def test_a_large_restore_is_cut_and_may_be_read_in_parts(inbox: Inbox, tmp_path: Path) -> None:
    wide = event(tmp_path, 5)
    wide = wide.set_column(ENVELOPE.get_field_index("payload"), ENVELOPE.field("payload"), [[bytes(3_000_000)]])
    inbox.restore({f"entry-{number}": wide for number in range(3)})
    with InboxReader.open(tmp_path) as reader:
        ends = [reader.admit(6, Limits(rows, 2**30)) for rows in (1, 2, 3)]
        assert [reader.position_at(end) for end in ends] == [Seq(6)] * 3
        assert [row["seq"] for batch in reader.read(6, 8) for row in batch.to_pylist()] == [5, 5]


def test_an_event_waits_for_the_end_of_a_transaction(inbox: Inbox, tmp_path: Path) -> None:
    three = event(tmp_path, 3)
    inbox.append(events(1, start=7, ends=()), position=Seq(7))
    with pytest.raises(LogQuota):
        inbox.restore({"entry-3": three}, timeout=0)
    waiting = threading.Thread(target=lambda: inbox.restore({"entry-3": three}))
    waiting.start()
    inbox.append(events(1, start=8, ends={8}), position=Seq(8))
    waiting.join(20)
    assert not waiting.is_alive()
    assert [row["event_id"] for row in all_events(tmp_path)][6:] == ["orders/7/0", "orders/8/0", "orders/3/0"]


def test_an_event_waits_for_the_quota_and_is_let_go_when_the_inbox_is_closed(tmp_path: Path) -> None:
    with Inbox.open(tmp_path, name="orders", epoch=1, quota=100) as inbox:
        inbox.append(events(6), position=Seq(6))
        three = event(tmp_path, 3)
        with pytest.raises(LogQuota):
            inbox.restore({"entry-3": three}, timeout=0)
    with pytest.raises(LogClosed):
        inbox.restore({"entry-3": three})


def test_only_an_event_of_the_source_can_come_back(inbox: Inbox, tmp_path: Path) -> None:
    row = event(tmp_path, 3)
    foreign = row.set_column(row.schema.get_field_index("source"), ENVELOPE.field("source"), [["payments"]])
    for wrong in (row.drop_columns(["headers"]), foreign):
        with pytest.raises(InvalidAppend, match="entry-3"):
            inbox.restore({"entry-3": wrong})
    with Inbox.open(tmp_path / "new", name="orders", epoch=1) as empty, pytest.raises(InvalidAppend, match="never had"):
        empty.restore({"entry-3": row})
    assert len(read_ids(tmp_path)) == 6


def dead(row: pa.Table) -> DeadLetterEntry:
    return DeadLetterEntry.of_event(
        row,
        time=datetime(2026, 1, 1, tzinfo=UTC),
        pipeline="p",
        step="parse",
        error_kind="ValueError",
        error_code="foreign",
        message="no",
    )


def test_an_event_that_fails_again_is_another_dead_letter_that_can_come_back(inbox: Inbox, tmp_path: Path) -> None:
    first = dead(event(tmp_path, 3))
    assert dead(event(tmp_path, 3)) == first, "the same decision is the same entry"
    row = unpacked(first.payload)
    assert row is not None
    inbox.restore({first.entry_id: row})
    with InboxReader.open(tmp_path) as reader:
        second = dead(pa.Table.from_batches(reader.read(6)))
    assert second.entry_id != first.entry_id
    assert (second.event_id, second.ordinal, second.position) == (first.event_id, 3, "3")
    row = unpacked(second.payload)
    assert row is not None
    assert inbox.restore({second.entry_id: row}).rows == 1
    headers = all_events(tmp_path)[-1]["headers"]
    assert headers == [
        {"key": "holdfast.seq", "value": b"3"},
        {"key": "holdfast.entry", "value": second.entry_id.encode()},
    ]

"""The open logs of a pipeline without anybody who works on them, for tests of what operators do."""

from __future__ import annotations

from contextlib import ExitStack
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pyarrow as pa

from holdfast.control import Belongings, DeadLetters
from holdfast.log import DeadLetterEntry, DeadLetterLog, Inbox, InboxReader, Outbox, Published
from holdfast.log.dead_entry import packed
from holdfast.model.envelope import CAPTURED
from holdfast.model.positions import Seq
from holdfast.runtime.layout import Layout
from tests.support.log_events import events

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
EVENTS = 8


class ControlWorld:
    """A source `orders` with eight events about four keys, and the sinks `table` and `archive`."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.lanes = ["table", "archive"]
        self.told: list[Published] = []
        self._opened = ExitStack()
        self.now = NOON
        self.open(epoch=1)
        self.inbox.append(about(events(EVENTS), [f"k{number % 4}" for number in range(EVENTS)]), position=Seq(EVENTS))

    def open(self, epoch: int) -> None:
        """Open everything, as a new owner."""
        self._opened.close()
        layout, enter = Layout(self.directory), self._opened.enter_context
        self.inbox = enter(Inbox.open(layout.inbox("orders"), name="orders", epoch=epoch))
        self.outbox = enter(Outbox.open(layout.outbox, epoch=epoch))
        self.dead = enter(DeadLetterLog.open(layout.dead_letters, epoch=epoch, clock=lambda: self.now))
        self.belongings = Belongings(
            layout, self.dead, {"orders": self.inbox}, self.outbox, lambda: self.lanes, self.told.append
        )
        self.letters = DeadLetters(self.belongings)

    def close(self) -> None:
        self._opened.close()

    def event(self, seq: int) -> pa.Table:
        """An event as a step was given it."""
        with InboxReader.open(Layout(self.directory).inbox("orders")) as reader:
            return pa.Table.from_batches(reader.read(seq - 1, seq))

    def events(self, after: int = 0) -> list[tuple[int, str]]:
        """The seq and the id of the events that are read behind a number."""
        with InboxReader.open(Layout(self.directory).inbox("orders")) as reader:
            rows = [row for batch in reader.read(after) for row in batch.to_pylist()]
        return [(row["seq"], row["event_id"]) for row in rows]

    def bury_event(self, seq: int, kind: str = "ValueError", step: str = "parse") -> str:
        """A dead letter of a step; its id."""
        return self._put(of_step(self.event(seq), kind, step))

    def bury_row(self, ordinal: int, row: pa.Table, *, sink: str = "table", oseq: int = 7) -> str:
        """A dead letter of a sink; its id."""
        return self._put(of_sink(ordinal, row, sink=sink, oseq=oseq))

    def _put(self, entry: DeadLetterEntry) -> str:
        assert self.dead.put([entry]) == 1
        return entry.entry_id


def about(batch: pa.RecordBatch, keys: Sequence[str]) -> pa.RecordBatch:
    """The events, about these keys of a table."""
    place = CAPTURED.get_field_index
    batch = batch.set_column(place("key"), "key", pa.array(keys, pa.string()))
    return pa.RecordBatch.from_arrays(
        batch.set_column(place("table"), "table", pa.array(["orders"] * batch.num_rows, pa.string())).columns,
        schema=CAPTURED,
    )


def of_step(event: pa.Table, kind: str = "ValueError", step: str = "parse") -> DeadLetterEntry:
    return DeadLetterEntry.of_event(
        event,
        time=NOON,
        pipeline="shop",
        step=step,
        error_kind=kind,
        error_code="foreign",
        message=f"{kind}: no\ncaused by KeyError: 'amount'",
    )


def of_sink(ordinal: int, row: pa.Table | bytes, *, sink: str = "table", oseq: int = 7) -> DeadLetterEntry:
    return DeadLetterEntry.of(
        time=NOON,
        pipeline="shop",
        stage=f"sink:{sink}",
        oseq=oseq,
        ordinal=ordinal,
        error_kind="Rejected",
        error_code="HF-404",
        message="Rejected: no",
        attempts=3,
        payload=row if isinstance(row, bytes) else packed(row),
    )


def row(number: int, **values: object) -> pa.Table:
    """A row as the steps of a pipeline might give it."""
    return pa.table(
        {"seq": [number], "source": ["orders"], "key": [f"k{(number - 1) % 4}"], "n": [number]}
        | {name: [value] for name, value in values.items()}
    )

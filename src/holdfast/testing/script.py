"""A source that is a list, in which the death of the process is an element.

    Script([{"n": 1}, {"n": 2}, Delivered(), Crash(), Tx([{"n": 3}, Crash(), {"n": 4}]), {"n": 5}])

It gives one row a read, the same on every run, and goes on behind any position. A crash happens once, between the read
of a row and its append; `holdfast.testing.play` lets the process die of it and starts it again.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from threading import Condition
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa

from holdfast.capture.contract import Captured, Source
from holdfast.model.envelope import CAPTURED, Op, event_id
from holdfast.model.errors import HoldfastError, InvalidSource, LogFenced, SinkFenced
from holdfast.model.positions import Seq

if TYPE_CHECKING:
    from holdfast.model.positions import Position

Row = Mapping[str, object]
"""What a row says: its columns and their values, which JSON can hold."""

_EPOCH = datetime(2030, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Crash:
    """The process dies here, once: the row before is in the inbox, the row behind was read and is not."""


@dataclass(frozen=True, slots=True)
class Delivered:
    """The script goes on when it has been told that every row before is safe in the sinks."""


@dataclass(frozen=True, slots=True)
class Tx:
    """Rows of one transaction. The process may die between them too."""

    rows: Sequence[Row | Crash]


@dataclass(frozen=True, slots=True)
class _Line:
    """A row and where it stands among the transactions."""

    row: Row
    transaction: int
    ends: bool


class Script(Source):
    """A source of rows, one event each; a row that stands alone is a transaction by itself.

    :param elements: what happens, in order.
    :param key: the column that is the key of every row; None for rows without a key.
    :param schema: the columns of the rows in Spark's words, for a pipeline that runs in Spark.
    """

    kind: ClassVar[str] = "script"

    def __init__(
        self,
        elements: Iterable[Row | Tx | Crash | Delivered],
        *,
        name: str = "script",
        key: str | None = None,
        schema: str | None = None,
    ) -> None:
        self.name = name
        self.schema = schema
        self._key = key
        self._lines: list[_Line] = []
        self._crashes: Counter[int] = Counter()
        """How often the process is still to die behind so many rows."""
        self._waits: set[int] = set()
        """Behind how many rows the script waits until they are delivered."""
        for number, element in enumerate(elements):
            self._write_down(number, element)
        if not self._lines:
            raise InvalidSource(f"The script {name!r} has no row.", remedy="Give it one.", source=name)
        self._at = 0
        self._told = 0
        self._is_resting = False
        self._news = Condition()
        self.is_dead = False
        """Whether the process has died and was not started again."""
        self.is_read_on = False
        """Whether somebody went on reading although the process had died: a crash was swallowed."""

    @property
    def crashes(self) -> int:
        """How often the process is still to die."""
        return self._crashes.total()

    def rest(self) -> None:
        """Give no row, and do not die, until `begin`."""
        self.is_dead, self._is_resting = False, True

    def begin(self) -> None:
        """The process has started, or started again."""
        with self._news:
            self._is_resting = False
            self._news.notify_all()

    def open(self, after: Position | None) -> None:
        """Go on with the row behind the position."""
        self._at = after.value if isinstance(after, Seq) else 0

    def read(self, wait: float) -> Captured | None:
        """The next row. When a crash stands before it, nobody may do anything with it any more.

        A row takes a moment to come: whoever does not wait gets none, so each row is captured by itself.
        """
        if not wait:
            return None
        if self.is_dead:
            self.is_read_on = True
            raise died(f"row {self._at} of {self.name!r} was to be read")
        if not self._may_go_on(wait):
            return None
        if self._crashes[self._at]:
            self._crashes[self._at] -= 1
            self.is_dead = True
        if self._at == len(self._lines):
            raise died(f"the script {self.name!r} ended")
        self._at += 1
        return Captured(self._event(self._at, self._lines[self._at - 1]), Seq(self._at))

    @property
    def finished(self) -> bool:
        """Whether the last row was read, and the script has no more to say."""
        return self._at == len(self._lines) and not self._crashes[self._at] and not self.is_dead

    def acknowledge(self, position: Position) -> None:
        """Everything up to here is safe in the sinks."""
        with self._news:
            self._told = position.value if isinstance(position, Seq) else 0
            self._news.notify_all()

    def close(self) -> None:
        """Nothing to give up."""

    def _write_down(self, number: int, element: Row | Tx | Crash | Delivered) -> None:
        match element:
            case Crash():
                self._crashes[len(self._lines)] += 1
            case Delivered():
                self._waits.add(len(self._lines))
            case Tx(rows):
                last = max((place for place, row in enumerate(rows) if not isinstance(row, Crash)), default=-1)
                for place, row in enumerate(rows):
                    if isinstance(row, Crash):
                        self._crashes[len(self._lines)] += 1
                    else:
                        self._lines.append(_Line(row, number, ends=place == last))
            case row:
                self._lines.append(_Line(row, number, ends=True))

    def _may_go_on(self, wait: float) -> bool:
        needed = self._at if self._at in self._waits else 0
        with self._news:
            return self._news.wait_for(lambda: not self._is_resting and self._told >= needed, wait)

    def _event(self, number: int, line: _Line) -> pa.RecordBatch:
        time = _EPOCH + timedelta(milliseconds=number)
        event = {
            "event_id": event_id(self.name, Seq(number), 0),
            "source": self.name,
            "op": Op.CREATE.value,
            "key": None if self._key is None else json.dumps({self._key: line.row[self._key]}),
            "after": json.dumps(line.row),
            "event_time": time,
            "capture_time": time,
            "tx_id": str(line.transaction),
            "tx_end": line.ends,
            "position": str(Seq(number)),
        }
        return pa.RecordBatch.from_pylist([event], schema=CAPTURED)


def died(before: str) -> HoldfastError:
    """What ends whoever goes on after the death of the process: it owns nothing any more, and writes nothing."""
    kind = SinkFenced if before.startswith("sink.") else LogFenced
    return kind(f"The process died before {before}.", remedy="Start it again.")


def rows_of(events: pa.Table) -> pa.Table:
    """The rows of scripts again, with the number, source, key and transaction of each: what `play` lets sinks have."""
    known = events.select(["seq", "source", "key", "tx_id", "tx_end"]).to_pylist()
    rows = [{**about, **json.loads(after)} for about, after in zip(known, events["after"].to_pylist(), strict=True)]
    columns = list(dict.fromkeys(_names(rows)))
    return pa.table({name: [row.get(name) for row in rows] for name in columns})


def _names(rows: Iterable[Row]) -> Iterator[str]:
    return (name for row in rows for name in row)

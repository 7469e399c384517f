"""Made-up orders: unique consecutive integers in transactions of chosen sizes.

Everything that order n says is a function of n alone, so anyone can tell what a sink must hold without asking the
source. The one exception is when it happened: at the moment it is read, unless a start is given.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from holdfast.capture.contract import Captured, Source
from holdfast.model.clock import Clock, utc_now
from holdfast.model.envelope import CAPTURED, Op, event_ids
from holdfast.model.errors import InvalidSource
from holdfast.model.positions import Seq

if TYPE_CHECKING:
    from holdfast.model.positions import Position

_CUSTOMERS = 1000
_CENTS = 99_991
_BEAT = 0.01
"""Paced events come together every so many seconds: one at a time, each would cost a read."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast events come: `rate` a second, and `burst` times as many for the first tenth of every `every` seconds."""

    rate: float
    burst: float = 1.0
    every: float = 10.0

    def due(self, elapsed: float) -> int:
        """How many events have come after so many seconds."""
        cycles, rest = divmod(elapsed, self.every)
        busy = self.every / 10
        extra = (self.burst - 1) * (cycles * busy + min(rest, busy))
        return int(self.rate * (elapsed + extra))


class Generator(Source):
    """A source of orders.

    :param events: how many there are; None for no end.
    :param transactions: the sizes of transactions, repeated in turn.
    :param pace: how fast they come; None for as fast as they are read.
    :param chunk: how many events one read gives at most.
    :param padding: bytes of text that every order carries besides its numbers.
    :param start: order n happened n milliseconds later, on every run. None: an order happens when it is read. One that
        was not in the inbox when the process ended is then read again with a later time, and is still in it once.
    """

    kind: ClassVar[str] = "generator"

    def __init__(
        self,
        name: str = "orders",
        *,
        events: int | None = None,
        transactions: tuple[int, ...] = (1,),
        pace: Pace | None = None,
        chunk: int = 8192,
        padding: int = 0,
        start: datetime | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        now: Clock = utc_now,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if not transactions or min(transactions) < 1 or chunk < 1 or (events is not None and events < 0):
            raise InvalidSource(
                f"Source {name!r} asks for {events} events, {chunk} a read, in transactions of {transactions}.",
                remedy="Give sizes from 1 on.",
                source=name,
            )
        self.name = name
        self.schema = "n BIGINT, customer BIGINT, cents BIGINT, note STRING"
        self._events = events
        self._ends = np.array(list(accumulate(transactions)), dtype=np.int64)
        self._pace = pace
        self._chunk = chunk
        self._note = "x" * padding
        self._start = start
        self._monotonic, self._now, self._sleep = monotonic, now, sleep
        self._at = 0
        self._began: tuple[float, int] | None = None

    def open(self, after: Position | None) -> None:
        """Go on with the event after the position."""
        self._at = after.value if isinstance(after, Seq) else 0
        self._began = (self._monotonic(), self._at)

    def read(self, wait: float) -> Captured | None:
        """The next events that are due."""
        count = min(self._chunk, self._due())
        if count <= 0:
            self._sleep(min(wait, _BEAT))
            return None
        first, self._at = self._at + 1, self._at + count
        return self._captured(first, self._at)

    @property
    def finished(self) -> bool:
        """Whether the last order was read."""
        return self._events is not None and self._at >= self._events

    def latest(self) -> Position | None:
        """The last order that is due now; of endless ones without a pace, those of one read."""
        last = self._at + max(0, self._due())
        return Seq(last) if last else None

    def close(self) -> None:
        """Nothing to give up."""

    def _due(self) -> int:
        left = self._chunk if self._events is None else self._events - self._at
        if self._pace is None or self._began is None:
            return left
        began, at = self._began
        elapsed = self._monotonic() - began
        return min(left, at + self._pace.due(elapsed - elapsed % _BEAT) - self._at)

    def _captured(self, first: int, last: int) -> Captured:
        n = np.arange(first, last + 1, dtype=np.int64)
        cycle, place = np.divmod(n - 1, self._ends[-1])
        within = np.searchsorted(self._ends, place, side="right")
        ends = place + 1 == self._ends[within]
        if self._events is not None:
            ends |= n == self._events
        return Captured(self._batch(n, cycle * len(self._ends) + within, ends), Seq(last))

    def _batch(self, n: np.ndarray, transaction: np.ndarray, ends: np.ndarray) -> pa.RecordBatch:
        count = len(n)
        text = pa.array(n).cast(pa.string())
        customer = pa.array(n % _CUSTOMERS).cast(pa.string())
        after = pc.binary_join_element_wise(
            '{"n":', text, ',"customer":', customer, ',"cents":', pa.array(n * 7919 % _CENTS).cast(pa.string()),
            f',"note":"{self._note}"}}', "",
        )  # fmt: skip
        captured_at = self._now()
        columns = {
            "event_id": event_ids(self.name, text),
            "source": self.name,
            "database": "shop",
            "schema": "public",
            "table": "orders",
            "op": Op.CREATE.value,
            "key": pc.binary_join_element_wise('{"customer":', customer, "}", ""),
            "after": after,
            "event_time": captured_at if self._start is None else _times(self._start, n),
            "capture_time": captured_at,
            "tx_id": pa.array(transaction).cast(pa.string()),
            "tx_end": pa.array(ends),
            "position": text,
            "schema_version": 1,
        }
        return pa.RecordBatch.from_arrays([_column(columns.get(f.name), f, count) for f in CAPTURED], schema=CAPTURED)


def _column(value: object, field: pa.Field, count: int) -> pa.Array:
    if isinstance(value, pa.Array):
        return value.cast(field.type)
    if value is None:
        return pa.nulls(count, field.type)
    return pa.repeat(pa.scalar(value, field.type), count)


def _times(start: datetime, n: np.ndarray) -> pa.Array:
    first = np.datetime64(start.astimezone(UTC).replace(tzinfo=None), "us")
    return pa.array(first + n.astype("timedelta64[ms]"))


def order(n: int) -> dict[str, int]:
    """What order n says: for whoever checks a sink."""
    return {"n": n, "customer": n % _CUSTOMERS, "cents": n * 7919 % _CENTS}


def order_time(n: int, start: datetime) -> datetime:
    """When order n of a generator with this start happened."""
    return start + timedelta(milliseconds=n)

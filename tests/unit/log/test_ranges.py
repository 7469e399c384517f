"""How much a reader is given next, against an oracle that looks at every event by itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.log.ranges import Span, next_end
from holdfast.log.values import Limits


@dataclass(frozen=True)
class Log:
    """Chunks of random sizes and bytes, and which events end a transaction; the last one does."""

    spans: tuple[Span, ...]
    ends: frozenset[int]

    @property
    def end(self) -> int:
        return self.spans[-1].last_seq if self.spans else 0

    def from_chunk_of(self, seq: int) -> list[Span]:
        return [span for span in self.spans if span.last_seq >= seq]


@st.composite
def logs(draw: st.DrawFn) -> Log:
    sizes = draw(st.lists(st.tuples(st.integers(1, 6), st.integers(1, 50)), max_size=8))
    total = sum(rows for rows, _ in sizes)
    marks = draw(st.lists(st.booleans(), min_size=total, max_size=total))
    ends = frozenset(seq for seq, mark in enumerate(marks, start=1) if mark or seq == total)
    spans, first = [], 1
    for rows, length in sizes:
        within = np.array([seq for seq in range(first, first + rows) if seq in ends], dtype=np.int64)
        spans.append(Span(first, first + rows - 1, length, None if len(within) == rows else within))
        first += rows
    return Log(tuple(spans), ends)


def oracle(log: Log, after: int, limits: Limits) -> int:
    """The farthest end that fits; without one, the nearest end."""
    ends = sorted(log.ends if limits.whole_transactions else range(1, log.end + 1))
    behind = [end for end in ends if end > after]
    fitting = [end for end in behind if _rows(after, end) <= limits.rows and _bytes(log, after, end) <= limits.nbytes]
    return (fitting or behind[:1] or [after])[-1]


def _rows(after: int, end: int) -> int:
    return end - after


def _bytes(log: Log, after: int, end: int) -> int:
    """Each chunk counts for the share of its bytes that its events in the range have, rounded down."""
    counts = [(span, min(end, span.last_seq) - max(after, span.first_seq - 1)) for span in log.spans]
    return sum(span.length * rows // span.rows for span, rows in counts if rows > 0)


@settings(max_examples=1000)
@given(logs(), st.data(), st.integers(0, 40), st.integers(0, 200), st.booleans())
def test_as_the_oracle_says(log: Log, data: st.DataObject, rows: int, nbytes: int, whole: bool) -> None:
    after = data.draw(st.integers(0, log.end))
    limits = Limits(rows, nbytes, whole_transactions=whole)
    assert next_end(after, iter(log.from_chunk_of(after + 1)), limits) == oracle(log, after, limits)


@given(logs(), st.integers(1, 10), st.integers(1, 60))
def test_reading_on_from_each_end_gives_every_event_once(log: Log, rows: int, nbytes: int) -> None:
    after, seen = 0, []
    while (end := next_end(after, iter(log.from_chunk_of(after + 1)), Limits(rows, nbytes))) != after:
        seen += range(after + 1, end + 1)
        after = end
    assert seen == list(range(1, log.end + 1))


def test_a_limit_reached_at_the_end_of_a_chunk_does_not_make_an_end_there() -> None:
    in_the_middle = Span(1, 1, 1, np.empty(0, dtype=np.int64))
    assert next_end(0, iter([in_the_middle, Span(2, 2, 1, None)]), Limits(1, 10)) == 2


def test_no_more_chunks_are_looked_at_than_the_range_needs() -> None:
    asked = []

    def spans() -> object:
        for number in range(1000):
            asked.append(number)
            yield Span(number * 10 + 1, number * 10 + 10, 100, None)

    assert next_end(0, spans(), Limits(25, 10**6)) == 25  # type: ignore[arg-type]
    assert len(asked) == 3

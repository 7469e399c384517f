"""The generator: unique consecutive integers, transactions of the sizes asked for, the same on every run."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.capture.generator import Generator, Pace, order, order_time
from holdfast.model.envelope import CAPTURED
from holdfast.model.errors import InvalidSource
from holdfast.model.positions import Seq

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def all_of(generator: Generator, after: Seq | None = None) -> pa.Table:
    generator.open(after)
    batches = []
    while not generator.finished:
        captured = generator.read(0)
        assert captured is not None
        batches.append(captured.events)
    return pa.Table.from_batches(batches, CAPTURED)


def numbers(events: pa.Table) -> list[int]:
    return [json.loads(after)["n"] for after in events["after"].to_pylist()]


def test_every_order_is_a_function_of_its_number() -> None:
    events = all_of(Generator(events=2500, chunk=1000))
    assert numbers(events) == list(range(1, 2501))
    last = json.loads(events["after"][-1].as_py())
    assert {name: last[name] for name in ("n", "customer", "cents")} == order(2500)


@given(
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=4),
    chunk=st.integers(1, 7),
    events=st.integers(1, 60),
)
def test_transactions_have_the_sizes_asked_for_however_the_reads_cut_them(
    sizes: list[int], chunk: int, events: int
) -> None:
    table = all_of(Generator(events=events, transactions=tuple(sizes), chunk=chunk))
    ends = [n for n, end in zip(numbers(table), table["tx_end"].to_pylist(), strict=True) if end]
    expected, total, turn = [], 0, 0
    while total < events:
        total = min(events, total + sizes[turn % len(sizes)])
        turn += 1
        expected.append(total)
    assert ends == expected
    ids = table["tx_id"].to_pylist()
    assert all((a == b) != end for (a, b), end in zip(pairwise(ids), table["tx_end"].to_pylist(), strict=False))


@pytest.mark.req("X1")
@pytest.mark.parametrize(("start", "differing"), [(NOON, ["capture_time"]), (None, ["capture_time", "event_time"])])
def test_a_second_reading_gives_the_same_events_but_for_the_time_of_reading(
    start: datetime | None, differing: list[str]
) -> None:
    first = all_of(Generator(events=100, transactions=(3, 4), start=start))
    again = all_of(Generator(events=100, transactions=(3, 4), chunk=7, start=start), after=Seq(49))
    assert again.drop(differing).equals(first.slice(49).drop(differing).combine_chunks())


def test_an_order_happens_when_it_is_read() -> None:
    now = [NOON]
    generator = Generator(events=4, chunk=2, now=lambda: now[0])
    times = []
    generator.open(None)
    while not generator.finished:
        captured = generator.read(0)
        assert captured is not None
        times.append(captured.events["event_time"].to_pylist())
        now[0] += timedelta(minutes=1)
    assert times == [[NOON, NOON], [NOON + timedelta(minutes=1)] * 2]


def test_with_a_start_order_n_happens_n_milliseconds_later() -> None:
    times = all_of(Generator(events=2500, start=NOON))["event_time"].to_pylist()
    assert (times[0], times[-1]) == (NOON + timedelta(milliseconds=1), NOON + timedelta(milliseconds=2500))
    assert times[6] == order_time(7, NOON)


def test_a_pace_is_kept_and_a_burst_comes_on_top() -> None:
    assert Pace(rate=100).due(2.5) == 250
    assert Pace(rate=100, burst=5, every=10).due(1.0) == 500
    assert Pace(rate=100, burst=5, every=10).due(10.0) == 1400
    assert Pace(rate=100, burst=5, every=10).due(11.0) == 1900


def test_nothing_comes_before_it_is_due() -> None:
    now = [0.0]
    generator = Generator(pace=Pace(rate=10), monotonic=lambda: now[0], sleep=lambda _: None)
    generator.open(None)
    assert generator.read(0) is None
    now[0] = 0.35
    captured = generator.read(0)
    assert captured is not None
    assert captured.events.num_rows == 3
    assert not generator.finished


def test_sizes_that_mean_nothing_are_refused() -> None:
    with pytest.raises(InvalidSource):
        Generator(transactions=(0,))

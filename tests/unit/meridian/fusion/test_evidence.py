"""What observations say, added up."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meridian.fusion.evidence import Evidence

Row = tuple[int, int, float, int, int, int]
ROWS = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.integers(0, 3),
        st.floats(-1e6, 1e6),
        st.integers(0, 2**64 - 1),
        st.integers(0, 2**60) | st.integers(0, 2),
        st.integers(0, 2**60),
    ),
    max_size=40,
)


def evidence(rows: list[Row]) -> Evidence:
    columns = list(zip(*rows, strict=True)) or [()] * 6
    slices, objects, times, received = (np.array(columns[place], np.int64) for place in (0, 1, 4, 5))
    numbers = np.array(columns[2], np.float64).reshape(-1, 1)
    return Evidence.of(slices, objects, numbers, np.array(columns[3], np.uint64), times, received=received)


def in_bytes(found: Evidence) -> bytes:
    columns = (found.slices, found.objects, found.sums.whole, found.sums.part)
    return b"".join(
        column.tobytes() for column in (*columns, found.counts, found.digests, found.newest, found.received)
    )


@given(ROWS, st.integers(), st.lists(st.integers(0, 40), max_size=4))
@pytest.mark.req("LAT-06")
def test_neither_order_nor_batches_show(rows: list[Row], seed: int, cuts: list[int]) -> None:
    shuffled = rows[:]
    Random(seed).shuffle(shuffled)
    borders = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    parts = [evidence(shuffled[start:end]) for start, end in pairwise(borders)]
    assert in_bytes(sum(parts, Evidence.nothing(1))) == in_bytes(evidence(rows))


@given(ROWS)
def test_there_is_one_row_for_each_slice_and_object_with_all_that_was_seen(rows: list[Row]) -> None:
    found = evidence(rows)
    pairs = list(zip(found.slices.tolist(), found.objects.tolist(), strict=True))
    assert pairs == sorted({row[:2] for row in rows})
    for place, pair in enumerate(pairs):
        of_it = [row for row in rows if row[:2] == pair]
        assert found.counts[place] == len(of_it)
        assert found.digests[place] == sum(row[3] for row in of_it) % 2**64
        assert (found.newest[place], found.received[place]) == max(row[4:] for row in of_it)
        assert found.sums.numbers()[place, 0] == pytest.approx(sum(row[2] for row in of_it), abs=1e-6)


@given(ROWS, st.integers(0, 4))
def test_slices_can_be_parted_without_losing_a_row(rows: list[Row], border: int) -> None:
    found = evidence(rows)
    early, late = found.before(border), found.since(border)
    assert in_bytes(early + late) == in_bytes(found)
    assert all(early.slices < border)
    assert all(late.slices >= border)

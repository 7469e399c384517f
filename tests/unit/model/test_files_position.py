"""Positions in a set of files: what a row says, and what is left out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.model.errors import InvalidPosition
from holdfast.model.positions import FilePosition, FilesPosition, Fingerprint, Order


def at(offset: int) -> FilePosition:
    return FilePosition(Fingerprint("aa", 1), 7, offset)


@given(
    st.dictionaries(st.integers(1, 12), st.tuples(st.integers(0, 9), st.lists(st.integers(1, 9), min_size=1))),
    st.dictionaries(st.integers(13, 15), st.integers(0, 9)),
)
def test_after_each_row_the_source_stands_where_the_rows_before_it_led(
    moved: dict[int, tuple[int, list[int]]], still: dict[int, int]
) -> None:
    offsets = {number: start for number, (start, _) in moved.items()} | still
    rows, expected = [], []
    for number, (_, sizes) in moved.items():
        for size in sizes:
            rows.append(f"{number}:{offsets[number]}-{offsets[number] + size}")
            offsets = {**offsets, number: offsets[number] + size}
            expected.append(FilesPosition(15, tuple((n, at(o)) for n, o in offsets.items())))
    for row, position in enumerate(expected):
        assert expected[-1].at_row(rows, row) == position


@pytest.mark.parametrize("rows", [["1:0-1", "nonsense"], ["1:0-1", "2:0-1"], ["2:0-1"]])
def test_a_row_that_is_of_no_known_file_is_refused(rows: list[str]) -> None:
    with pytest.raises(InvalidPosition):
        FilesPosition(2, ((1, at(1)),)).at_row(rows, 0)


def test_a_file_that_is_left_out_is_done_and_one_that_was_not_begun_is_not() -> None:
    begun, done, later = FilesPosition(1, ((1, at(5)),)), FilesPosition(1), FilesPosition(2, ((2, at(0)),))
    assert done.compare(begun) is Order.AFTER
    assert later.compare(done) is Order.AFTER
    assert FilesPosition(2, ((1, at(9)),)).compare(later) is Order.INCOMPARABLE

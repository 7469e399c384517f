"""Positions in a set of files: what a row says, and what is left out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.model.errors import InvalidPosition
from holdfast.model.positions import FilePosition, FilesPosition, Fingerprint, Order


class Rows(list[str]):
    def alike_until(self, row: int, beginning: str) -> int:
        return next((at for at in range(row, len(self)) if not self[at].startswith(beginning)), len(self))


def at(offset: int) -> FilePosition:
    return FilePosition(Fingerprint("aa", 1), 7, offset)


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 9)), min_size=1, max_size=20))
def test_after_each_row_the_source_stands_where_the_rows_before_it_led(moves: list[tuple[int, int]]) -> None:
    offsets = dict.fromkeys([*(number for number, _ in moves), 9], 7)
    rows, expected = Rows(), []
    for number, size in moves:
        rows.append(f"{number}:{offsets[number]}")
        offsets = {**offsets, number: offsets[number] + size}
        expected.append(FilesPosition(15, tuple((n, at(o)) for n, o in offsets.items())))
    for row, position in enumerate(expected):
        assert expected[-1].at_row(rows, row) == position


@pytest.mark.parametrize("rows", [["1:0", "nonsense"], ["1:0", "2:0"]])
def test_a_row_that_is_of_no_known_file_is_refused(rows: list[str]) -> None:
    with pytest.raises(InvalidPosition):
        FilesPosition(2, ((1, at(1)),)).at_row(Rows(rows), 0)


def test_a_file_that_is_left_out_is_done_and_one_that_was_not_begun_is_not() -> None:
    begun, done, later = FilesPosition(1, ((1, at(5)),)), FilesPosition(1), FilesPosition(2, ((2, at(0)),))
    assert done.compare(begun) is Order.AFTER
    assert later.compare(done) is Order.AFTER
    assert FilesPosition(2, ((1, at(9)),)).compare(later) is Order.INCOMPARABLE

"""How many events were left out up to each of them follows from their numbers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.model.position_strategies import UUIDS

from holdfast.model.positions import LogPosition, SiftedPosition


class Texts(list[str]):
    """The places of events."""

    def alike_until(self, row: int, beginning: str) -> int:
        raise AssertionError("numbers are not alike")


@given(st.lists(st.booleans(), min_size=1, max_size=30), st.integers(0, 5), st.data())
def test_each_event_knows_how_many_were_left_out_up_to_it(kept: list[bool], before: int, data: st.DataObject) -> None:
    first = 10
    seqs = [first + place for place, is_kept in enumerate(kept) if is_kept]
    end = SiftedPosition(UUIDS[0], first + len(kept) - 1, before + kept.count(False))
    if seqs:
        row = data.draw(st.integers(0, len(seqs) - 1))
        left_out = before + kept[: seqs[row] - first].count(False)
        assert end.at_row(Texts(map(str, seqs)), row) == SiftedPosition(UUIDS[0], seqs[row], left_out)


def test_its_place_is_one_in_the_log() -> None:
    assert SiftedPosition(UUIDS[0], 9, 4).in_log == LogPosition(UUIDS[0], 9)

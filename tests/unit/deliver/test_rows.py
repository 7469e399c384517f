"""The rows of a batch as one lane sees them: ordinals never shift, units stay whole."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.deliver.rows import Parcel, PoisonUnit, keys_of, parcel_of, units_of, whole_units
from holdfast.model.errors import Fatal


def parcel(**columns: list[object]) -> Parcel:
    return parcel_of(pa.table(columns), only=None)


def ordinals(parcel: Parcel) -> list[int]:
    return list(parcel.ordinals.to_pylist())


def test_a_lane_without_a_route_takes_every_row() -> None:
    assert ordinals(parcel(route=["a", None, "b"])) == [0, 1, 2]


def test_a_lane_with_a_route_takes_its_rows_and_they_keep_their_places() -> None:
    routed = parcel_of(pa.table({"route": ["a", "b", None, "a"], "id": [1, 2, 3, 4]}), only="a")
    assert ordinals(routed) == [0, 3]
    assert routed.rows.column("id").to_pylist() == [1, 4]


def test_a_route_over_rows_that_have_none_is_refused_and_not_taken_for_no_rows() -> None:
    with pytest.raises(Fatal, match="no column 'route'"):
        parcel_of(pa.table({"id": [1]}), only="a")


def test_a_batch_without_rows_and_columns_has_nothing_to_route() -> None:
    assert len(parcel_of(pa.table({}), only="a")) == 0


@given(st.lists(st.sampled_from(["a", "b", None]), max_size=30), st.sets(st.integers(0, 29)))
def test_rows_are_found_by_their_ordinal_whatever_was_left_out(routes: list[str | None], rejected: set[int]) -> None:
    table = pa.table({"route": pa.array(routes, pa.string()), "id": list(range(len(routes)))})
    left = parcel_of(table, only="a").without(frozenset(rejected))
    assert ordinals(left) == [at for at, route in enumerate(routes) if route == "a" and at not in rejected]
    assert left.rows.column("id").to_pylist() == ordinals(left)


def test_rows_at_places_keep_their_ordinals() -> None:
    some = parcel(id=[10, 11, 12, 13]).without({1}).at([range(1, 3)])
    assert ordinals(some) == [2, 3]


def test_a_row_is_a_unit_of_its_own() -> None:
    assert units_of(parcel(tx_id=["t", "t"]), PoisonUnit.ROW) == [range(1), range(1, 2)]


@pytest.mark.parametrize(
    ("ids", "ends", "units"),
    [
        (["a", "a", "b"], [False, True, True], [range(2), range(2, 3)]),
        (["a", "a", "a"], [False, True, True], [range(2), range(2, 3)]),
        (["a", "b", "b"], [False, False, False], [range(1), range(1, 3)]),
        ([None, None], [False, False], [range(1), range(1, 2)]),
        (["a", "a", None, "a"], [False, False, False, True], [range(2), range(2, 3), range(3, 4)]),
        ([], [], []),
    ],
    ids=["by id", "by end", "no end seen", "without an id", "interrupted", "empty"],
)
def test_a_transaction_is_equal_ids_side_by_side_up_to_its_end(
    ids: list[str | None], ends: list[bool], units: list[range]
) -> None:
    table = pa.table({"tx_id": pa.array(ids, pa.string()), "tx_end": pa.array(ends, pa.bool_())})
    assert units_of(parcel_of(table, only=None), PoisonUnit.TRANSACTION) == units


def test_rows_that_know_no_transactions_are_units_of_their_own() -> None:
    assert units_of(parcel(id=[1, 2]), PoisonUnit.TRANSACTION) == [range(1), range(1, 2)]


def test_a_rejected_row_takes_its_transaction_with_it() -> None:
    rows = parcel(tx_id=["a", "a", "b", "b"], tx_end=[False, True, False, True])
    assert whole_units(rows, PoisonUnit.TRANSACTION, frozenset({1})) == {0, 1}
    assert whole_units(rows, PoisonUnit.ROW, frozenset({1})) == {1}


def test_keys_are_what_rows_are_about() -> None:
    assert keys_of(parcel(key=["k", "k", None])) == {"k", None}


def test_rows_without_a_key_may_be_about_anything() -> None:
    assert keys_of(parcel(id=[1])) is None

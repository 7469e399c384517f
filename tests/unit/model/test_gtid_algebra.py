"""GTID sets against a naive model: an explicit set of (source, number) pairs."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.model.position_strategies import TSIDS, UUIDS, gtid_set, interval

from holdfast.model.errors import InvalidPosition
from holdfast.model.positions import GtidSet, Interval, Order, Tsid

Model = frozenset[tuple[Tsid, int]]

HIGHEST = 12
sets = gtid_set(st.sampled_from(TSIDS), HIGHEST)
members = st.lists(st.tuples(st.sampled_from(TSIDS), interval(HIGHEST)), max_size=8)
models = st.frozensets(st.tuples(st.sampled_from(TSIDS), st.integers(1, HIGHEST)))


def model_of(gtids: GtidSet) -> Model:
    return frozenset(
        (tsid, number) for tsid, found in gtids.members for first, last in found for number in range(first, last + 1)
    )


def model_of_text(text: str) -> Model:
    """A second reader of the text form that shares no code with the first."""
    found: set[tuple[Tsid, int]] = set()
    for part in filter(None, text.split(",")):
        uuid, *rest = part.split(":")
        tag = ""
        for token in rest:
            if re.fullmatch(r"[0-9-]+", token):
                ends = [int(end) for end in token.split("-")]
                found.update((Tsid(uuid, tag), number) for number in range(ends[0], ends[-1] + 1))
            else:
                tag = token
    return frozenset(found)


def set_of(model: Model) -> GtidSet:
    return GtidSet(tuple((tsid, ((number, number),)) for tsid, number in model))


@given(members)
def test_building_a_set_neither_adds_nor_loses_a_number(given_members: list[tuple[Tsid, Interval]]) -> None:
    expected = {(tsid, n) for tsid, (first, last) in given_members for n in range(first, last + 1)}
    assert model_of(GtidSet(tuple((tsid, (found,)) for tsid, found in given_members))) == expected


@given(sets)
def test_intervals_are_sorted_and_never_touch(gtids: GtidSet) -> None:
    for _, found in gtids.members:
        assert found
        assert all(left[1] + 1 < right[0] for left, right in pairwise(found))


@given(models, models)
def test_sets_are_equal_exactly_when_their_numbers_are(a: Model, b: Model) -> None:
    assert (set_of(a) == set_of(b)) is (a == b)
    assert set_of(a) == set_of(frozenset(a))


@given(sets, sets)
def test_union_is_the_union_of_numbers(a: GtidSet, b: GtidSet) -> None:
    assert model_of(a.union(b)) == model_of(a) | model_of(b)


@given(sets, sets)
def test_subtraction_is_the_difference_of_numbers(a: GtidSet, b: GtidSet) -> None:
    assert model_of(a.subtract(b)) == model_of(a) - model_of(b)
    assert a.subtract(b) == set_of(model_of(a) - model_of(b))


@given(sets, sets)
def test_containment_is_inclusion_of_numbers(a: GtidSet, b: GtidSet) -> None:
    assert a.contains(b) is (model_of(a) >= model_of(b))
    assert a.union(b).contains(b)


@given(sets, sets)
def test_the_order_is_inclusion_of_numbers(a: GtidSet, b: GtidSet) -> None:
    mine, theirs = model_of(a), model_of(b)
    assert (a.compare(b) is Order.BEFORE) is (mine < theirs)
    assert (a.compare(b) is Order.EQUAL) is (mine == theirs)
    assert (a.compare(b) is Order.AFTER) is (mine > theirs)


@given(sets)
def test_the_text_names_the_same_numbers_to_another_reader(gtids: GtidSet) -> None:
    assert model_of_text(str(gtids)) == model_of(gtids)


@given(st.lists(st.tuples(st.sampled_from(TSIDS), interval(HIGHEST)), min_size=1, max_size=6), st.booleans())
def test_text_in_any_order_case_and_spacing_is_read(parts: list[tuple[Tsid, Interval]], shout: bool) -> None:
    text = " ,\n ".join(f" {t.uuid} : {t.tag + ' : ' if t.tag else ''}{a} - {b} " for t, (a, b) in parts)
    assert GtidSet.from_text(text.upper() if shout else text) == GtidSet(tuple((t, (i,)) for t, i in parts))


U, V = UUIDS
MERGES = [
    (f"{U}:1-3", f"{U}:5-7", f"{U}:1-3:5-7"),
    (f"{U}:1-3", f"{U}:4-7", f"{U}:1-7"),
    (f"{U}:1-3:5-7", f"{U}:4", f"{U}:1-7"),
    (f"{U}:1-9", f"{U}:3-4", f"{U}:1-9"),
    (f"{U}:1", f"{U}:3", f"{U}:1:3"),
    (f"{U}:1", f"{V}:1", f"{V}:1,{U}:1"),
    (f"{U}:1", f"{U}:tag:2", f"{U}:1:tag:2"),
    (f"{U}:b:1", f"{U}:a:1", f"{U}:a:1:b:1"),
    (f"{U}:9223372036854775806", f"{U}:9223372036854775807", f"{U}:9223372036854775806-9223372036854775807"),
    ("", "", ""),
]


@pytest.mark.parametrize(("left", "right", "merged"), MERGES)
def test_example_of_merging(left: str, right: str, merged: str) -> None:
    assert str(GtidSet.from_text(left).union(GtidSet.from_text(right))) == merged


BROKEN = [
    U,
    f"{U}:",
    f"{U}:0",
    f"{U}:5-3",
    f"{U}:1-",
    f"{U}:-1",
    f"{U}:1--2",
    f"{U}::1",
    f"{U}:tag",
    f"{U}:tag:other:1",
    f"{U}:1:tag",
    f"{U}:1tag:1",
    f"{U}:{'t' * 33}:1",
    f"{U}:\u212a:1",
    f"{U}:\u0661",
    f"{U}:1,",
    f",{U}:1",
    f"{U}:9223372036854775808",
    f"{U}:{'9' * 5000}",
    f"{U[:-1]}:1",
    f"{U.replace('-', '')}:1",
    "0-1-100",
]


@pytest.mark.parametrize("text", BROKEN)
def test_text_that_is_not_a_set_is_refused(text: str) -> None:
    with pytest.raises(InvalidPosition):
        GtidSet.from_text(text)


@pytest.mark.parametrize("bad", [(0, 1), (2, 1), (1, 2**63), (True, 2)])
def test_an_interval_that_is_none_is_refused(bad: Interval) -> None:
    with pytest.raises(InvalidPosition):
        GtidSet(((TSIDS[0], (bad,)),))

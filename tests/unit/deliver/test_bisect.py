"""Isolation of bad rows, as properties: exactly the culprits, with few probes, and never anybody's fault but theirs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.deliver.bisect import Isolated, Manner, Search
from holdfast.deliver.classify import Reason
from holdfast.model.errors import Transient

WHY = Reason("Rejected", "HF-404", "no")

sizes = st.integers(1, 200)


class Sink:
    """Refuses groups that hold a bad unit, or two units that do not go together."""

    def __init__(self, bad: set[int], clash: tuple[int, int] | None = None) -> None:
        self.bad = bad
        self.clash = clash
        self.asked: list[tuple[int, ...]] = []

    def refuses(self, units: Sequence[int]) -> bool:
        return bool(self.bad & set(units)) or (self.clash is not None and set(self.clash) <= set(units))

    def __call__(self, units: Sequence[int]) -> Reason | None:
        self.asked.append(tuple(units))
        return WHY if self.refuses(units) else None


@st.composite
def batches(draw: st.DrawFn) -> tuple[int, set[int]]:
    size = draw(sizes)
    return size, draw(st.sets(st.integers(0, size - 1), min_size=1))


@given(batches(), st.sampled_from(Manner))
def test_exactly_the_bad_units_are_found(batch: tuple[int, set[int]], manner: Manner) -> None:
    size, bad = batch
    found = Search(range(size), manner).run(Sink(bad))
    assert [unit for unit, _ in found.refused] == sorted(bad)
    assert found.taken == [unit for unit in range(size) if unit not in bad]


@given(batches(), st.sampled_from(Manner))
def test_no_unit_is_blamed_that_was_not_refused_in_a_probe_of_its_own(
    batch: tuple[int, set[int]], manner: Manner
) -> None:
    size, bad = batch
    sink = Sink(bad)
    found = Search(range(size), manner).run(sink)
    for unit, _ in found.refused:
        assert any(asked[-1] == unit and not bad & set(asked[:-1]) for asked in sink.asked)


@given(sizes, st.data())
def test_one_bad_unit_costs_the_logarithm(size: int, data: st.DataObject) -> None:
    sink = Sink({data.draw(st.integers(0, size - 1))})
    Search(range(size), Manner.ALONE).run(sink)
    assert len(sink.asked) <= 2 * math.ceil(math.log2(size)) + 1


@given(batches())
def test_probes_never_exceed_what_looking_at_every_node_would_cost(batch: tuple[int, set[int]]) -> None:
    size, bad = batch
    sink = Sink(bad)
    Search(range(size), Manner.ALONE).run(sink)
    assert len(sink.asked) <= 2 * size - 1


def test_all_bad_units_are_each_found() -> None:
    found = Search(range(64), Manner.ALONE).run(Sink(set(range(64))))
    assert len(found.refused) == 64


@given(st.integers(2, 100), st.data())
def test_two_units_that_clash_are_found_only_when_looked_at_together(size: int, data: st.DataObject) -> None:
    first, second = sorted(data.draw(st.lists(st.integers(0, size - 1), min_size=2, max_size=2, unique=True)))
    alone = Search(range(size), Manner.ALONE).run(Sink(set(), (first, second)))
    assert alone.refused == []
    together = Search(range(size), Manner.TOGETHER).run(Sink(set(), (first, second)))
    assert [unit for unit, _ in together.refused] == [second], "the later of the two gives way"


@given(batches(), st.sampled_from(Manner), st.integers(1, 30))
def test_a_probe_that_fails_for_a_passing_reason_blames_nobody(
    batch: tuple[int, set[int]], manner: Manner, fail_at: int
) -> None:
    size, bad = batch
    sink, calls = Sink(bad), 0

    def flaky(units: Sequence[int]) -> Reason | None:
        nonlocal calls
        calls += 1
        if calls % fail_at == 0:
            raise Transient("The sink is away.", remedy="Try again.")
        return sink(units)

    search = Search(range(size), manner)
    found: Isolated[int] | None = None
    while found is None and calls < 10_000:
        try:
            found = search.run(flaky)
        except Transient:
            if fail_at == 1:
                return  # it never answers, and nobody was blamed
    assert found is not None
    assert [unit for unit, _ in found.refused] == sorted(bad)


@given(batches(), st.sampled_from(Manner))
def test_an_interrupted_search_asks_nothing_twice(batch: tuple[int, set[int]], manner: Manner) -> None:
    size, bad = batch
    sink, interrupted = Sink(bad), iter([True, False] * 10_000)

    def flaky(units: Sequence[int]) -> Reason | None:
        if next(interrupted):
            raise Transient("The sink is away.", remedy="Try again.")
        return sink(units)

    search = Search(range(size), manner)
    while True:
        try:
            search.run(flaky)
            break
        except Transient:
            continue
    assert len(sink.asked) == len(set(sink.asked))


def test_nothing_is_asked_about_nothing() -> None:
    sink = Sink(set())
    assert Search([], Manner.ALONE).run(sink) == Isolated()
    assert sink.asked == []


@pytest.mark.parametrize("manner", Manner)
def test_a_single_unit_is_asked_about_before_it_is_blamed(manner: Manner) -> None:
    sink = Sink(set())
    assert Search([0], manner).run(sink).taken == [0]


@given(batches(), st.sampled_from(Manner), st.integers(1, 40))
def test_so_many_questions_are_enough_and_every_culprit_is_still_among_the_refused(
    batch: tuple[int, set[int]], manner: Manner, limit: int
) -> None:
    size, bad = batch
    sink = Sink(bad)
    found = Search(range(size), manner, limit=limit).run(sink)
    assert len(sink.asked) <= limit + math.ceil(math.log2(size)) + 1
    refused = [unit for unit, _ in found.refused]
    assert bad <= set(refused)
    assert sorted([*refused, *found.taken]) == list(range(size))


@given(batches(), st.integers(1, 40), st.integers(0, 80))
def test_a_search_with_a_limit_ends_the_same_when_it_was_interrupted(
    batch: tuple[int, set[int]], limit: int, fails_at: int
) -> None:
    size, bad = batch
    whole = Search(range(size), Manner.ALONE, limit=limit).run(Sink(bad))
    sink, search = Sink(bad), Search(range(size), Manner.ALONE, limit=limit)

    def failing(units: Sequence[int]) -> Reason | None:
        if len(sink.asked) == fails_at:
            sink.asked.append(())
            raise Transient("away", remedy="Wait.")
        return sink(units)

    try:
        found = search.run(failing)
    except Transient:
        found = search.run(sink)
    assert found == whole

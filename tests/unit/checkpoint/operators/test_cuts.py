"""Which snapshots go together, and what may be forgotten."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from holdfast.checkpoint.operators import FRESH, Graph, Link, ReplayFrom
from holdfast.checkpoint.operators.cuts import Point, choose, replays
from holdfast.checkpoint.operators.dedup import InputCut
from holdfast.checkpoint.operators.history import Part
from holdfast.checkpoint.operators.retention import PointsKept
from holdfast.checkpoint.operators.snapshot import Cut

CHAIN = Graph((Link("in", "source", "a"), Link("mid", "a", "b"), Link("out", "b", "c")))


def point(snapshot_id: int, link: str, applied: int, emitted: int) -> Point:
    return Point(snapshot_id, {link: ReplayFrom(applied, applied + 1)}, emitted)


def cut(operator: str, snapshot_id: int, link: str, applied: int) -> Cut:
    return Cut(operator, snapshot_id, {link: InputCut(applied, applied)}, applied)


def test_an_operator_goes_back_to_where_it_had_emitted_no_more_than_was_applied_behind_it() -> None:
    points = {
        "c": [point(4, "out", 10, 10)],
        "b": [point(9, "mid", 12, 12), point(8, "mid", 9, 9), point(7, "mid", 2, 2)],
        "a": [point(3, "in", 11, 11), point(2, "in", 10, 10), point(1, "in", 8, 8)],
    }
    chosen = choose(CHAIN, points)
    assert {name: at.snapshot_id for name, at in chosen.items()} == {"c": 4, "b": 8, "a": 1}
    assert replays(CHAIN, chosen) == {"source": ReplayFrom(8, 9)}


def test_an_operator_that_feeds_two_goes_back_to_the_one_further_behind() -> None:
    graph = Graph((Link("in", "source", "a"), Link("x", "a", "b"), Link("y", "a", "c")))
    points = {
        "a": [point(3, "in", 9, 9), point(2, "in", 6, 6), point(1, "in", 4, 4)],
        "b": [point(1, "x", 8, 0)],
        "c": [point(1, "y", 5, 0)],
    }
    assert choose(graph, points)["a"].snapshot_id == 1


def test_without_a_snapshot_downstream_the_operators_upstream_start_fresh() -> None:
    chosen = choose(CHAIN, {"a": [point(1, "in", 5, 5)], "b": [point(1, "mid", 4, 4)]})
    assert chosen == {"c": FRESH, "b": FRESH, "a": FRESH}


def test_a_source_of_two_operators_starts_where_the_one_further_behind_is() -> None:
    graph = Graph((Link("x", "source", "a"), Link("y", "source", "b")))
    chosen = {"a": point(1, "x", 40, 0), "b": point(1, "y", 30, 0)}
    assert replays(graph, chosen) == {"source": ReplayFrom(30, 31)}


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9)), max_size=60))
def test_what_was_forgotten_would_never_have_been_chosen(saves: list[tuple[str, int]]) -> None:
    """The operators of a chain advance, none ahead of its upstream, and save; each save forgets by the books."""
    links, upstream = {"a": "in", "b": "mid", "c": "out"}, {"b": "a", "c": "b"}
    at, everything = dict.fromkeys("abc", 0), {name: list[Point]() for name in "abc"}
    kept, books = {name: list[Point]() for name in "abc"}, PointsKept(CHAIN, {})
    for name, advance in saves:
        at[name] = min(at[name] + advance, at[upstream[name]]) if name in upstream else at[name] + advance
        saved = point(len(everything[name]) + 1, links[name], at[name], at[name])
        oldest = books.oldest_needed(name)
        books.durable(cut(name, saved.snapshot_id, links[name], at[name]), Part(0, 0, 0))
        everything[name].insert(0, saved)
        kept[name] = [saved, *(old for old in kept[name] if old.snapshot_id >= oldest)]
        for spare in range(PointsKept.SPARE + 1):
            assert choose(CHAIN, kept, spare=spare) == choose(CHAIN, everything, spare=spare)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)), max_size=12))
def test_no_operator_is_ever_started_ahead_of_what_is_applied_behind_it(rows: list[tuple[int, int, int]]) -> None:
    points = {
        name: [point(n + 1, link, row[column], row[column]) for n, row in enumerate(rows)][::-1]
        for column, (name, link) in enumerate([("a", "in"), ("b", "mid"), ("c", "out")])
    }
    chosen = choose(CHAIN, points)
    assert chosen["a"].emitted <= chosen["b"].input("mid").next_seq - 1
    assert chosen["b"].emitted <= chosen["c"].input("out").next_seq - 1

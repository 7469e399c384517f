"""The alignment of barriers, as a table of arrivals."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from holdfast.checkpoint.operators.alignment import Alignment, Arrival


def test_an_input_is_held_until_the_others_barriers_have_come() -> None:
    alignment = Alignment(["a", "b", "c"])
    assert [alignment.arrive(name, 1) for name in "ab"] == [Arrival.HOLD, Arrival.HOLD]
    assert (alignment.held, alignment.missing(1)) == (frozenset("ab"), ("c",))
    assert alignment.arrive("c", 1) is Arrival.SNAPSHOT
    assert (alignment.held, alignment.missing(1)) == (frozenset(), ())


def test_a_single_input_is_never_held() -> None:
    assert Alignment(["a"]).arrive("a", 1) is Arrival.SNAPSHOT


def test_a_snapshot_that_was_given_up_holds_nothing_and_its_late_barriers_mean_nothing() -> None:
    alignment = Alignment(["a", "b"])
    alignment.arrive("a", 1)
    alignment.abandon(1)
    assert alignment.held == frozenset()
    assert alignment.arrive("b", 1) is Arrival.IGNORE
    assert alignment.held == frozenset()


def test_a_newer_barrier_lets_go_of_what_the_older_snapshot_held() -> None:
    alignment = Alignment(["a", "b"])
    alignment.arrive("a", 1)
    assert alignment.arrive("b", 2) is Arrival.HOLD
    assert (alignment.held, alignment.missing(2)) == (frozenset("b"), ("a",))


def test_nothing_has_arrived_of_a_snapshot_that_was_not_seen_yet() -> None:
    assert Alignment(["a", "b"]).missing(1) == ("a", "b")


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(1, 5), st.booleans()), max_size=40))
def test_never_are_all_inputs_held_and_a_snapshot_is_taken_once(events: list[tuple[str, int, bool]]) -> None:
    alignment, taken = Alignment("ab"), list[int]()
    for name, snapshot_id, gives_up in events:
        if gives_up:
            alignment.abandon(snapshot_id)
        elif alignment.arrive(name, snapshot_id) is Arrival.SNAPSHOT:
            taken.append(snapshot_id)
        assert len(alignment.held) < 2
    assert taken == sorted(set(taken))

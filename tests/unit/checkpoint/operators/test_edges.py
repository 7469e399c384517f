"""Edges and the choice between them."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.operator_flows import settle

from holdfast.checkpoint.operators import Graph, Item, Link
from holdfast.checkpoint.operators.credits import Edge
from holdfast.checkpoint.operators.items import End
from holdfast.checkpoint.operators.merge import next_by_arrival, next_in_turn
from holdfast.model.errors import InvalidFlow


async def send_all(edge: Edge[int], count: int) -> None:
    for seq in range(1, count + 1):
        await edge.send(Item(edge.name, seq, seq, seq))


def test_never_more_is_under_way_than_credits_were_granted() -> None:
    async def scenario() -> None:
        edge = Edge[int]("left", credits=3)
        sending = asyncio.create_task(send_all(edge, 10))
        for _ in range(10):
            await settle()
            assert len(edge) <= 3
            edge.receive()
            edge.give_back()
        await sending

    asyncio.run(scenario())


def test_a_sender_waits_while_credits_are_withheld_and_goes_on_after_the_release() -> None:
    async def scenario() -> None:
        edge = Edge[int]("left", credits=2)
        sending = asyncio.create_task(send_all(edge, 4))
        await settle()
        edge.withhold()
        for _ in range(2):
            edge.receive()
            edge.give_back()
        await settle()
        assert (len(edge), edge.credits, sending.done()) == (0, 0, False)
        edge.release()
        await settle()
        assert (len(edge), sending.done()) == (2, True)

    asyncio.run(scenario())


def test_credits_that_are_out_may_still_be_spent_while_others_are_withheld() -> None:
    async def scenario() -> None:
        edge = Edge[int]("left", credits=2)
        edge.withhold()
        await edge.send(End())
        assert (len(edge), edge.credits) == (1, 1)

    asyncio.run(scenario())


def test_an_edge_without_credits_is_refused() -> None:
    with pytest.raises(InvalidFlow, match="at least one credit"):
        Edge[int]("left", credits=0)


@given(st.lists(st.sampled_from("abc"), max_size=40))
def test_in_turns_the_order_does_not_depend_on_the_order_of_arrival(arrivals: list[str]) -> None:
    taken, highest, waiting = list[str](), dict.fromkeys("abc", 0), dict.fromkeys("abc", 0)
    for name in arrivals:
        waiting[name] += 1
        while chosen := next_in_turn("abc", {n for n in "abc" if waiting[n]}, highest):
            waiting[chosen] -= 1
            highest[chosen] += 1
            taken.append(chosen)
    assert taken == ["abc"[n % 3] for n in range(len(taken))]
    assert len(taken) >= 3 * min(arrivals.count(name) for name in "abc")


def test_an_input_that_ended_loses_its_turn() -> None:
    assert next_in_turn("abc", {"b", "c"}, {"b": 4, "c": 4}) == "b"


def test_by_arrival_every_input_that_has_something_gets_its_turn() -> None:
    taken = ["a"]
    for _ in range(6):
        taken.append(next_by_arrival("abc", {"a", "c"}, taken[-1]) or "")
    assert all(before != after for before, after in pairwise(taken))


def test_by_arrival_nobody_waits_for_an_input_that_is_empty() -> None:
    assert next_by_arrival("abc", {"b"}, "b") == "b"
    assert next_by_arrival("abc", set(), None) is None


def test_a_graph_puts_every_operator_behind_those_that_feed_it() -> None:
    graph = Graph((Link("z", "b", "c"), Link("y", "a", "b"), Link("x", "s", "a"), Link("w", "s", "c")))
    assert graph.operators == ("a", "b", "c")
    assert graph.sources == ("s",)


def test_a_graph_with_a_cycle_is_refused() -> None:
    with pytest.raises(InvalidFlow, match="cycle"):
        Graph((Link("x", "a", "b"), Link("y", "b", "a")))


def test_two_links_of_one_name_are_refused() -> None:
    with pytest.raises(InvalidFlow, match="different names"):
        Graph((Link("x", "s", "a"), Link("x", "s", "b")))

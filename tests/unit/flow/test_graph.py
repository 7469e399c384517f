"""What makes a graph impossible is found before anything runs, and named."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest
from tests.support.virtual_time import run_virtually

from holdfast.flow import (
    FROM_SOURCE,
    Backpressure,
    BuiltGraph,
    ByPriority,
    Channel,
    CreditEdge,
    Credits,
    Edge,
    EdgePlan,
    Inlet,
    OperatorGraph,
    Outlet,
    Priority,
    PriorityEdge,
    Sends,
    Stop,
    Supervision,
    Takes,
    Through,
    Timed,
    merge,
)
from holdfast.model.errors import InvalidGraph

PLAN = FROM_SOURCE


async def source(outlet: Outlet[int], stop: Stop) -> None: ...
async def operator(inlet: Inlet[int], outlet: Outlet[int]) -> None: ...
async def sink(inlet: Inlet[int]) -> None: ...


class Parts:
    """A graph in the making, whose parts are added by name."""

    def __init__(self) -> None:
        self.graph = OperatorGraph("g")

    def source(self, name: str = "source") -> Sends[int]:
        return self.graph.add_source(name, source)

    def operator(self, name: str = "operator") -> Through[int, int]:
        return self.graph.add_operator(name, operator)

    def fan_in(self, name: str = "fan-in") -> Through[int, int]:
        return self.graph.add_fan_in(name, merge)

    def sink(self, name: str = "sink") -> Takes[int]:
        return self.graph.add_sink(name, sink)

    def line(self, *parts: Sends[int] | Takes[int], plan: EdgePlan = PLAN) -> Parts:
        for upstream, downstream in pairwise(parts):
            assert isinstance(upstream, Sends)
            assert isinstance(downstream, Takes)
            self.graph.connect(upstream, downstream, plan)
        return self

    async def build(self) -> BuiltGraph:
        return self.graph.build()


def problems(parts: Parts) -> tuple[str, ...]:
    with pytest.raises(InvalidGraph) as raised:
        run_virtually(parts.build())
    found = raised.value.context["problems"]
    assert isinstance(found, tuple)
    assert all(problem in str(raised.value) for problem in found)
    return found


def source_without_outgoing() -> Parts:
    parts = Parts()
    parts.source("radar")
    return parts.line(parts.source(), parts.sink())


def source_with_incoming() -> Parts:
    parts = Parts()
    first = parts.source()
    second = parts.source("radar")
    return parts.line(first, Takes[int](second.name)).line(second, parts.sink())


def operator_without_incoming() -> Parts:
    parts = Parts()
    return parts.line(parts.source(), parts.sink()).line(parts.operator("validate"), parts.sink("log"))


def operator_without_outgoing() -> Parts:
    parts = Parts()
    return parts.line(parts.source(), parts.operator("validate"))


def sink_without_incoming() -> Parts:
    parts = Parts()
    parts.sink("log")
    return parts.line(parts.source(), parts.sink())


def sink_with_outgoing() -> Parts:
    parts = Parts()
    end = parts.sink("log")
    return parts.line(parts.source(), end).line(Sends[int](end.name), parts.sink())


@pytest.mark.req("ORC-02")
@pytest.mark.parametrize(
    ("graph", "problem"),
    [
        (source_without_outgoing, "source 'radar' has no outgoing edge"),
        (source_with_incoming, "source 'radar' must have no incoming edge, but has 1"),
        (operator_without_incoming, "operator 'validate' has no incoming edge"),
        (operator_without_outgoing, "operator 'validate' has no outgoing edge"),
        (sink_without_incoming, "sink 'log' has no incoming edge"),
        (sink_with_outgoing, "sink 'log' must have no outgoing edge, but has 1"),
    ],
)
def test_a_role_that_is_broken_is_named_with_its_direction(graph: Callable[[], Parts], problem: str) -> None:
    assert problems(graph()) == (problem,)


@pytest.mark.req("ORC-02")
def test_several_edges_are_for_those_that_are_declared_as_a_fan() -> None:
    parts = Parts()
    middle, fan = parts.operator("normalize"), parts.fan_in()
    parts.line(parts.source("radar"), middle, fan, parts.sink())
    parts.line(parts.source("optical"), fan).line(parts.source("isl"), middle)
    many = "has 2 incoming edges, and only one declared as a fan may have more than one"
    assert problems(parts) == (f"operator 'normalize' {many}",)


@pytest.mark.req("ORC-03")
def test_a_cycle_is_refused_and_its_members_are_named() -> None:
    parts = Parts()
    entry, normalize, dedup = parts.fan_in("entry"), parts.operator("normalize"), parts.operator("dedup")
    back = parts.graph.add_fan_out("back", copy_to_all)
    parts.line(parts.source(), entry, normalize, dedup, back, parts.sink()).line(back, entry)
    (problem,) = problems(parts)
    assert problem.startswith("it has a cycle: ")
    members = problem.removeprefix("it has a cycle: ").split(" -> ")
    assert members[0] == members[-1]
    assert set(members) == {"entry", "normalize", "dedup", "back"}
    at = members.index("normalize")
    assert members[at + 1] == "dedup", "in the direction of the flow"


async def copy_to_all(inlet: Inlet[int], outlets: Sequence[Outlet[int]]) -> None: ...


def test_an_edge_that_hangs_loose_is_named() -> None:
    parts = Parts()
    parts.line(parts.source(), Takes[int]("elsewhere"))
    assert problems(parts) == ("edge 'source -> elsewhere' hangs loose: the graph has no 'elsewhere'",)


def test_names_are_given_once() -> None:
    parts = Parts()
    parts.line(parts.source("a"), parts.sink("b")).line(parts.source("a"), parts.sink("b"))
    assert problems(parts) == (
        "2 operators are called 'a'",
        "2 operators are called 'b'",
        "2 edges are called 'a -> b'",
    )


@pytest.mark.req("FLW-01")
def test_an_edge_without_a_policy_is_refused() -> None:
    parts = Parts()
    parts.line(parts.source(), parts.sink(), plan=EdgePlan(10, None))
    assert problems(parts) == ("edge 'source -> sink' has no flow policy",)


def test_an_edge_that_gives_up_needs_dead_letters_of_its_sender() -> None:
    parts = Parts()
    parts.line(parts.source(), parts.sink(), plan=EdgePlan(10, Timed(0.2, "a test")))
    assert problems(parts) == ("edge 'source -> sink' gives up in time, but 'source' has no dead letters for that",)


def test_a_graph_without_operators_is_refused() -> None:
    assert problems(Parts()) == ("it has no operator",)


@pytest.mark.req("ORC-04")
def test_operators_come_in_the_order_of_the_flow_and_sources_first() -> None:
    parts = Parts()
    end, fan = parts.sink(), parts.fan_in()
    middle = parts.operator()
    parts.line(middle, fan, end).line(parts.source("b"), fan).line(parts.source("a"), middle)
    assert run_virtually(parts.build()).order == ("b", "a", "operator", "fan-in", "sink")


@pytest.mark.req("ORC-01")
@pytest.mark.parametrize(
    ("policy", "kind"),
    [
        (Backpressure("a test"), Edge),
        (Credits("a test"), CreditEdge),
        (Timed(1.0, "a test"), Edge),
        (ByPriority(lambda item: Priority.HIGH, "a test"), PriorityEdge),
    ],
    ids=["backpressure", "credits", "timed", "priority"],
)
def test_each_policy_gets_its_kind_of_edge(policy: Backpressure, kind: type[Channel[int]]) -> None:
    async def built() -> BuiltGraph:
        graph = OperatorGraph("g")
        start = graph.add_source("a", source, Supervision(dead_letters=lambda edge, batch: None))
        graph.connect(start, graph.add_sink("b", sink), EdgePlan(99, policy))
        return graph.build()

    edge = run_virtually(built()).edges["a -> b"]
    assert type(edge) is kind
    assert edge.stats().capacity == 99


@pytest.mark.req("ORC-14")
def test_the_library_knows_no_application() -> None:
    code = "import sys, holdfast.flow as f; [getattr(f, n) for n in f.__all__]; print([m for m in sys.modules if %s])"
    known = "m.split('.')[0] in ('meridian', 'pyspark', 'pyarrow', 'numpy')"
    found = subprocess.run([sys.executable, "-c", code % known], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


@pytest.mark.req("ORC-14")
def test_building_costs_no_more_than_its_size() -> None:
    def steps(operators: int) -> int:
        parts = Parts()
        parts.line(parts.source(), *(parts.operator(f"o{n}") for n in range(operators)), parts.sink())
        counted = 0

        def count(*_: object) -> None:
            nonlocal counted
            counted += 1

        sys.setprofile(count)
        try:
            run_virtually(parts.build())
        finally:
            sys.setprofile(None)
        return counted

    assert steps(80) < 8 * 10 * steps(10), "it grows no faster than the square"

"""The audit names what is amiss and where; a graph with all that it needs passes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from textwrap import dedent

import pytest
from tests.support import careless_operators

from holdfast.flow import (
    FROM_SOURCE,
    Backpressure,
    Edge,
    EdgePlan,
    Finding,
    FindingKind,
    Inlet,
    OperatorGraph,
    Outlet,
    Stop,
    Supervision,
    audit,
    by_type,
    merge,
    require_clean,
    suspicions,
)
from holdfast.model.errors import AuditFailed

CARED_FOR = Supervision(classify=by_type(), dead_letters=lambda where, batch: None)
FOR_EACH_EVENT = FindingKind.DETACHED_TASK
NO_BOUND = FindingKind.UNBOUNDED_CHANNEL


async def source(outlet: Outlet[int], stop: Stop) -> None: ...
async def sink(inlet: Inlet[int]) -> None: ...


def graph(
    plan: EdgePlan = FROM_SOURCE,
    supervision: Supervision = CARED_FOR,
    sink: Callable[[Inlet[int]], careless_operators.Work] = sink,
) -> OperatorGraph:
    declared = OperatorGraph("g")
    start = declared.add_source("radar", source, CARED_FOR)
    declared.connect(start, declared.add_sink("log", sink, supervision), plan)
    return declared


@pytest.mark.req("FLW-07")
def test_a_graph_that_has_all_it_needs_passes() -> None:
    require_clean(graph().declared())


@pytest.mark.req("FLW-07")
def test_an_edge_without_a_policy_is_named() -> None:
    with pytest.raises(AuditFailed, match="radar -> log: no flow policy"):
        require_clean(graph(EdgePlan(10, None)).declared())


@pytest.mark.req("FLW-07")
def test_an_edge_that_is_bounded_by_nothing_but_memory_is_named() -> None:
    with pytest.raises(AuditFailed, match="radar -> log: a channel without a bound"):
        require_clean(graph(EdgePlan(2**40, Backpressure("a test"))).declared())


@pytest.mark.req("FLW-07")
def test_a_channel_that_holds_more_than_is_declared_is_named() -> None:
    declared = OperatorGraph("g")
    ends = declared.add_source("radar", source, CARED_FOR), declared.add_sink("log", sink, CARED_FOR)
    declared.connect(*ends, FROM_SOURCE, channel=Edge("radar -> log", 2**20, Backpressure("a test")))
    with pytest.raises(AuditFailed, match="declared for 1024 items and may hold 1048576"):
        require_clean(declared.declared())


@pytest.mark.req("OBS-06")
@pytest.mark.parametrize(
    ("supervision", "kinds"),
    [
        (Supervision(classify=by_type()), [FindingKind.NO_DEAD_LETTERS]),
        (Supervision(dead_letters=lambda where, batch: None), [FindingKind.NO_CLASSIFIER]),
        (Supervision(), [FindingKind.NO_CLASSIFIER, FindingKind.NO_DEAD_LETTERS]),
    ],
    ids=["no dead letters", "no classifier", "neither"],
)
def test_an_operator_that_lacks_a_part_is_named(supervision: Supervision, kinds: list[FindingKind]) -> None:
    found = audit(graph(supervision=supervision).declared())
    assert [(finding.where, finding.kind) for finding in found] == [("log", kind) for kind in kinds]


@pytest.mark.req("FLW-07")
@pytest.mark.parametrize(
    "code",
    [
        careless_operators.spawning,
        careless_operators.Spawning(),
        careless_operators.Spawning().__call__,
        partial(careless_operators.spawning),
    ],
    ids=["function", "object", "method", "partial"],
)
def test_the_module_of_an_operator_is_looked_at(code: Callable[[Inlet[int]], careless_operators.Work]) -> None:
    found = audit(graph(sink=code).declared())
    module = "tests.support.careless_operators"
    assert found == (Finding("log", FindingKind.DETACHED_TASK, f"{module}, line {careless_operators.LINE}"),)


@pytest.mark.req("FLW-07")
def test_modules_that_operators_use_are_looked_at_when_they_are_named() -> None:
    module = "tests.support.careless_operators"
    assert [finding.where for finding in audit(graph().declared(), modules=[module])] == [module]


@pytest.mark.req("FLW-07")
@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("asyncio.create_task(work())", [FOR_EACH_EVENT]),
        ("create_task(work())", [FOR_EACH_EVENT]),
        ("asyncio.get_running_loop().create_task(work())", [FOR_EACH_EVENT]),
        ("asyncio.ensure_future(work())", [FOR_EACH_EVENT]),
        ("task = asyncio.create_task(work())", []),
        ("for inlet in inlets:\n    group.create_task(work())", []),
        (
            "async def f():\n    async for batch in inlet:\n        tasks.add(asyncio.create_task(work()))",
            [FOR_EACH_EVENT],
        ),
        ("async def f():\n    async for batch in inlet:\n        group.create_task(work())", [FOR_EACH_EVENT]),
        ("while True:\n    frame = read()\n    loop.create_task(work(frame))", [FOR_EACH_EVENT]),
        ("async def f():\n    async for batch in inlet:\n        await outlet.send(batch)", []),
        ("queue = asyncio.Queue()", [NO_BOUND]),
        ("queue = asyncio.Queue(0)", [NO_BOUND]),
        ("queue = Queue(maxsize=0)", [NO_BOUND]),
        ("queue = queue.SimpleQueue()", [NO_BOUND]),
        ("queue = asyncio.Queue(100)", []),
        ("queue = asyncio.Queue(maxsize=size)", []),
    ],
)
def test_what_is_suspected_in_a_source_text(source: str, found: list[FindingKind]) -> None:
    assert [kind for kind, _ in suspicions(dedent(source))] == found


def test_the_library_itself_passes() -> None:
    declared = OperatorGraph("g")
    fan = declared.add_fan_in("merge", merge, CARED_FOR)
    declared.connect(declared.add_source("radar", source, CARED_FOR), fan, FROM_SOURCE)
    declared.connect(fan, declared.add_sink("log", sink, CARED_FOR), FROM_SOURCE)
    require_clean(declared.declared())

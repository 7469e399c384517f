"""Declares a graph of operators, edge by edge, and builds it.

    graph = OperatorGraph("ingest")
    radar = graph.add_source("radar", read_radar)
    log = graph.add_sink("log", write_log)
    graph.connect(radar, log, EdgePlan.for_burst(RADAR_BURST, Backpressure("the kernel counts its drops")))
    outcome = await graph.build().run()

What an operator sends and what the next one takes have to be of one type, which a type checker sees. What is wrong with
the whole is found by `build`, in `shape`, before anything runs.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Generic, TypeAlias, TypeVar

from holdfast.flow.channel import Channel
from holdfast.flow.exits import FOR_SINKS
from holdfast.flow.policy import EdgePlan
from holdfast.flow.ports import Inlet, Outlet
from holdfast.flow.running import BuiltGraph
from holdfast.flow.shape import Declared, EdgeSpec, Role, Start, Supervision, Vertex
from holdfast.flow.stop import Stop
from holdfast.flow.timer import SystemTimer, Timer

In = TypeVar("In")
Out = TypeVar("Out")
Sent_co = TypeVar("Sent_co", covariant=True)
Taken_contra = TypeVar("Taken_contra", contravariant=True)
T = TypeVar("T")

Work: TypeAlias = Coroutine[None, None, None]


class Sends(Generic[Sent_co]):
    """Stands for a vertex where it is connected to the next one."""

    def __init__(self, name: str) -> None:
        self.name = name


class Takes(Generic[Taken_contra]):
    """Stands for a vertex where it is connected to the one before."""

    def __init__(self, name: str) -> None:
        self.name = name


class Through(Sends[Sent_co], Takes[Taken_contra]):
    """Stands for a vertex that takes and sends."""


class OperatorGraph:
    """A graph that is being declared. The functions that are given are called anew for every start of their operator.

    An operator works until its inlet ends, then returns; a source also until the stop is set. What it raises decides
    how it ended.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._vertices: list[Vertex] = []
        self._edges: list[EdgeSpec] = []

    def add_source(
        self, name: str, run: Callable[[Outlet[Out], Stop], Work], supervision: Supervision | None = None
    ) -> Sends[Out]:
        """Something that brings items from outside."""
        self._add(name, Role.SOURCE, lambda ends: run(ends.outputs[0], ends.stop), run, supervision)
        return Sends(name)

    def add_operator(
        self, name: str, run: Callable[[Inlet[In], Outlet[Out]], Work], supervision: Supervision | None = None
    ) -> Through[Out, In]:
        """Something with one edge in and one out."""
        self._add(name, Role.OPERATOR, lambda ends: run(ends.inputs[0], ends.outputs[0]), run, supervision)
        return Through(name)

    def add_fan_in(
        self, name: str, run: Callable[[Sequence[Inlet[In]], Outlet[Out]], Work], supervision: Supervision | None = None
    ) -> Through[Out, In]:
        """Something with several edges in, in the order in which they are connected."""
        self._add(name, Role.FAN_IN, lambda ends: run(ends.inputs, ends.outputs[0]), run, supervision)
        return Through(name)

    def add_fan_out(
        self, name: str, run: Callable[[Inlet[In], Sequence[Outlet[Out]]], Work], supervision: Supervision | None = None
    ) -> Through[Out, In]:
        """Something with several edges out, in the order in which they are connected."""
        self._add(name, Role.FAN_OUT, lambda ends: run(ends.inputs[0], ends.outputs), run, supervision)
        return Through(name)

    def add_sink(
        self, name: str, run: Callable[[Inlet[In]], Work], supervision: Supervision | None = None
    ) -> Takes[In]:
        """Something that brings items outside. By default no error of it is forgiven."""
        self._add(name, Role.SINK, lambda ends: run(ends.inputs[0]), run, supervision or Supervision(FOR_SINKS))
        return Takes(name)

    def connect(
        self,
        upstream: Sends[T],
        downstream: Takes[T],
        plan: EdgePlan,
        *,
        name: str | None = None,
        channel: Channel[T] | None = None,
    ) -> str:
        """Join two vertices, and return the name of the edge.

        :param channel: one that the two bring along, because they keep what is under way themselves; it is as large as
            the plan says. Otherwise one is made.
        """
        edge = name or f"{upstream.name} -> {downstream.name}"
        self._edges.append(EdgeSpec(edge, upstream.name, downstream.name, plan, channel))
        return edge

    def declared(self) -> Declared:
        """What is declared so far, for the audit."""
        return Declared(self._name, tuple(self._vertices), tuple(self._edges))

    def build(self, *, timer: Timer | None = None, grace: float = 5.0) -> BuiltGraph:
        """The graph, ready to run once; `InvalidGraph` with all problems when it cannot. In a running event loop.

        :param grace: seconds from a stop to the abort of whatever has not ended by then.
        """
        return BuiltGraph(self.declared(), timer=timer or SystemTimer(), grace=grace)

    def _add(self, name: str, role: Role, start: Start, code: object, supervision: Supervision | None) -> None:
        self._vertices.append(Vertex(name, role, start, code, supervision or Supervision()))

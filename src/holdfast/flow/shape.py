"""A graph as it is declared: operators, edges, and what makes it impossible. Values and rules; nothing runs here."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any, Never, TypeAlias

from holdfast.flow.exits import FOR_STATELESS, RestartPolicy
from holdfast.flow.policy import EdgePlan, Timed
from holdfast.model.errors import InvalidGraph

if TYPE_CHECKING:
    from holdfast.flow.attempts import Classifier
    from holdfast.flow.channel import Channel
    from holdfast.flow.stop import Stop

MANY = 1_000


@dataclass(frozen=True, slots=True)
class _Degree:
    least: int
    most: int


class Role(Enum):
    """What a vertex is, and with it how many edges it has in and out."""

    SOURCE = ("source", _Degree(0, 0), _Degree(1, 1))
    OPERATOR = ("operator", _Degree(1, 1), _Degree(1, 1))
    FAN_IN = ("fan-in", _Degree(1, MANY), _Degree(1, 1))
    FAN_OUT = ("fan-out", _Degree(1, 1), _Degree(1, MANY))
    SINK = ("sink", _Degree(1, 1), _Degree(0, 0))

    def __init__(self, label: str, incoming: _Degree, outgoing: _Degree) -> None:
        self.label = label
        self.incoming = incoming
        self.outgoing = outgoing


@dataclass(frozen=True, slots=True)
class Ends:
    """The ends of the edges that a vertex owns. They outlive it: a restarted one is given the same."""

    inputs: tuple[Channel[Any], ...]
    outputs: tuple[Channel[Any], ...]
    stop: Stop


Start: TypeAlias = Callable[[Ends], Coroutine[None, None, None]]


class Loss(Enum):
    """What becomes of the others when an operator has failed for good."""

    ENDS_THE_GRAPH = "the graph ends"
    OTHERS_GO_ON = "the others go on"
    """Its edges are closed, and what depends on them ends; health tells of it. For parts that stand side by side."""


@dataclass(frozen=True, slots=True)
class Supervision:
    """How an operator's failures are treated."""

    restart: RestartPolicy = FOR_STATELESS
    classify: Classifier | None = None
    """What its errors mean to those who retry; every operator of a production graph has one."""
    dead_letters: Callable[[str, Sequence[Never]], None] | None = None
    """Takes what it gives up, told the name of the operator or of the edge; every operator of a production graph has
    one."""
    expects: tuple[type[Exception], ...] = ()
    """Errors that are no defect of it, besides those of Holdfast and of the operating system."""
    when_lost: Loss = Loss.ENDS_THE_GRAPH


@dataclass(frozen=True, slots=True)
class Vertex:
    """A source, an operator or a sink."""

    name: str
    role: Role
    start: Start = field(repr=False)
    """Called for every start."""
    code: object = field(repr=False)
    """The function that was declared, for the audit to look at."""
    supervision: Supervision = field(default_factory=Supervision, repr=False)


@dataclass(frozen=True, slots=True)
class EdgeSpec:
    """An edge as declared."""

    name: str
    upstream: str
    downstream: str
    plan: EdgePlan
    channel: Channel[Any] | None = field(default=None, repr=False)
    """The one that its operators bring along; None when it is made as the plan says."""


@dataclass(frozen=True, slots=True)
class Declared:
    """A whole graph."""

    name: str
    vertices: tuple[Vertex, ...]
    edges: tuple[EdgeSpec, ...]

    def into(self, vertex: str) -> tuple[EdgeSpec, ...]:
        """The edges that a vertex receives on."""
        return tuple(edge for edge in self.edges if edge.downstream == vertex)

    def out_of(self, vertex: str) -> tuple[EdgeSpec, ...]:
        """The edges that a vertex sends on."""
        return tuple(edge for edge in self.edges if edge.upstream == vertex)

    def vertex(self, name: str) -> Vertex:
        """The vertex of that name."""
        return next(vertex for vertex in self.vertices if vertex.name == name)


def order_of(declared: Declared) -> tuple[str, ...]:
    """The vertices in the order of the flow, sources first; `InvalidGraph` with all problems when it cannot run."""
    found = [*_names(declared), *_loose(declared)] or [*_degrees(declared), *_policies(declared)]
    order: tuple[str, ...] = ()
    if not found:
        try:
            order = tuple(_sorter(declared).static_order())
        except CycleError as error:
            found.append(f"it has a cycle: {' -> '.join(error.args[1])}")
    if found:
        raise InvalidGraph(
            f"Graph {declared.name!r} cannot be built: {'; '.join(found)}.",
            remedy="Correct what is named where the graph is declared.",
            problems=tuple(found),
        )
    return order


def _sorter(declared: Declared) -> TopologicalSorter[str]:
    sorter: TopologicalSorter[str] = TopologicalSorter()
    for vertex in declared.vertices:
        sorter.add(vertex.name, *(edge.upstream for edge in declared.into(vertex.name)))
    return sorter


def _names(declared: Declared) -> Iterator[str]:
    if not declared.vertices:
        yield "it has no operator"
    for kind, names in (
        ("operators", [vertex.name for vertex in declared.vertices]),
        ("edges", [edge.name for edge in declared.edges]),
    ):
        for name in sorted({name for name in names if names.count(name) > 1}):
            yield f"{names.count(name)} {kind} are called {name!r}"


def _loose(declared: Declared) -> Iterator[str]:
    known = {vertex.name for vertex in declared.vertices}
    for edge in declared.edges:
        for end in sorted({edge.upstream, edge.downstream} - known):
            yield f"edge {edge.name!r} hangs loose: the graph has no {end!r}"


def _degrees(declared: Declared) -> Iterator[str]:
    for vertex in declared.vertices:
        incoming, outgoing = len(declared.into(vertex.name)), len(declared.out_of(vertex.name))
        yield from _degree(vertex, "incoming", incoming, vertex.role.incoming)
        yield from _degree(vertex, "outgoing", outgoing, vertex.role.outgoing)


def _degree(vertex: Vertex, direction: str, found: int, allowed: _Degree) -> Iterator[str]:
    who = f"{vertex.role.label} {vertex.name!r}"
    if found < allowed.least:
        yield f"{who} has no {direction} edge"
    elif found > allowed.most == 0:
        yield f"{who} must have no {direction} edge, but has {found}"
    elif found > allowed.most:
        yield f"{who} has {found} {direction} edges, and only one declared as a fan may have more than one"


def _policies(declared: Declared) -> Iterator[str]:
    for edge in declared.edges:
        if edge.plan.policy is None:
            yield f"edge {edge.name!r} has no flow policy"
        elif isinstance(edge.plan.policy, Timed) and not declared.vertex(edge.upstream).supervision.dead_letters:
            yield f"edge {edge.name!r} gives up in time, but {edge.upstream!r} has no dead letters for that"

"""Looks over a graph for what breaks the chain of pressure, or drops events where nobody decided it.

What is declared is looked at as values: each edge has a bound and a policy, each operator a classifier of errors and
dead letters. What is written is looked at as source text: the modules that the operators are from must start no task
for each event, or one that nobody waits for, and make no queue without a bound. The second part is a heuristic: it sees
what is written, not what is called. To be run as a test on the graph that is used in production.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from holdfast.model.errors import AuditFailed

if TYPE_CHECKING:
    from holdfast.flow.shape import Declared

NO_BOUND = 10_000_000
"""Items; an edge that may hold more is bounded by the memory of the machine alone."""

_SPAWNS = frozenset({"create_task", "ensure_future", "run_coroutine_threadsafe"})
_QUEUES = frozenset({"Queue", "LifoQueue", "PriorityQueue", "SimpleQueue"})


class FindingKind(Enum):
    """What is amiss."""

    UNBOUNDED_CHANNEL = "a channel without a bound"
    NO_FLOW_POLICY = "no flow policy"
    DETACHED_TASK = "a task for each event, or one that nobody waits for"
    NO_CLASSIFIER = "no retry classifier"
    NO_DEAD_LETTERS = "no dead letters"
    CHANGED_IDENTITY = "what comes out is not what went in"
    """For whoever knows what flows; nothing here does."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is amiss."""

    where: str
    """The edge, or the operator."""
    kind: FindingKind
    detail: str

    def __str__(self) -> str:
        return f"{self.where}: {self.kind.value} ({self.detail})"


def audit(declared: Declared, *, modules: Iterable[str] = ()) -> tuple[Finding, ...]:
    """All that is amiss with a graph.

    :param modules: the names of further modules to be read, besides those of the operators: what these use.
    """
    return (*_of_edges(declared), *_of_operators(declared), *_of_code(declared, modules))


def require_clean(declared: Declared, *, modules: Iterable[str] = ()) -> None:
    """`AuditFailed` with all that is amiss, if anything is; the same as `audit` otherwise."""
    found = audit(declared, modules=modules)
    if found:
        raise AuditFailed(
            f"Graph {declared.name!r} has {len(found)} findings: {'; '.join(map(str, found))}.",
            remedy="Declare what is missing, and let an edge or a task group own what is started.",
            findings=found,
        )


def _of_edges(declared: Declared) -> Iterator[Finding]:
    for edge in declared.edges:
        if edge.plan.policy is None:
            yield Finding(edge.name, FindingKind.NO_FLOW_POLICY, "what happens when it is full is not decided")
        if edge.plan.capacity > NO_BOUND:
            detail = f"it may hold {edge.plan.capacity} items"
            yield Finding(edge.name, FindingKind.UNBOUNDED_CHANNEL, detail)
        if edge.channel is not None and edge.channel.stats().capacity != edge.plan.capacity:
            detail = f"it is declared for {edge.plan.capacity} items and may hold {edge.channel.stats().capacity}"
            yield Finding(edge.name, FindingKind.UNBOUNDED_CHANNEL, detail)


def _of_operators(declared: Declared) -> Iterator[Finding]:
    for vertex in declared.vertices:
        if vertex.supervision.classify is None:
            yield Finding(vertex.name, FindingKind.NO_CLASSIFIER, "what its errors mean is not said")
        if vertex.supervision.dead_letters is None:
            yield Finding(vertex.name, FindingKind.NO_DEAD_LETTERS, "what it gives up goes nowhere")


def _of_code(declared: Declared, modules: Iterable[str]) -> Iterator[Finding]:
    """The findings in modules; each is looked at once, for the first of the operators that are from there."""
    named = {module: module for module in modules} | {
        _module_of(vertex.code): vertex.name for vertex in reversed(declared.vertices)
    }
    for module, where in named.items():
        for kind, line in suspicions(inspect.getsource(import_module(module))):
            yield Finding(where, kind, f"{module}, line {line}")


def _module_of(code: object) -> str:
    if isinstance(code, partial):
        return _module_of(code.func)
    return code.__module__ if inspect.isroutine(code) else type(code).__module__


def suspicions(source: str) -> Iterator[tuple[FindingKind, int]]:
    """What is amiss in a source text, and in which line."""
    yield from _suspicions(ast.parse(source), in_event_loop=False)


def _suspicions(node: ast.AST, *, in_event_loop: bool) -> Iterator[tuple[FindingKind, int]]:
    """:param in_event_loop: whether what is here is done for each event: in an `async for` or a `while`."""
    if isinstance(node, ast.Call):
        if _name(node) in _SPAWNS and in_event_loop:
            yield FindingKind.DETACHED_TASK, node.lineno
        if _name(node) in _QUEUES and not _has_bound(node):
            yield FindingKind.UNBOUNDED_CHANNEL, node.lineno
    elif isinstance(node, ast.Expr) and not in_event_loop and _is_forgotten(node.value):
        yield FindingKind.DETACHED_TASK, node.lineno
    inside = in_event_loop or isinstance(node, ast.AsyncFor | ast.While)
    for child in ast.iter_child_nodes(node):
        yield from _suspicions(child, in_event_loop=inside)


def _name(call: ast.Call) -> str:
    match call.func:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case _:
            return ""


def _is_forgotten(value: ast.expr) -> bool:
    """Whether a task is started whose handle nobody keeps; a task group keeps those that it starts."""
    match value:
        case ast.Call(func=ast.Name(id=name)):
            return name in _SPAWNS
        case ast.Call(func=ast.Attribute(attr=name, value=owner)):
            return name in _SPAWNS and ("asyncio" in ast.unparse(owner) or "loop" in ast.unparse(owner))
        case _:
            return False


def _has_bound(call: ast.Call) -> bool:
    """Whether a queue is given a size that is not 0."""
    if _name(call) == "SimpleQueue":
        return False
    sizes = [*call.args[:1], *(keyword.value for keyword in call.keywords if keyword.arg == "maxsize")]
    return bool(sizes) and not (isinstance(sizes[0], ast.Constant) and sizes[0].value == 0)

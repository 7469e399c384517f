"""How a graph ended: values, and which end of a task is which exit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from holdfast.flow.exits import Exit
from holdfast.model.errors import EdgeClosed, HoldfastError


@dataclass(frozen=True, slots=True)
class AllOk:
    """Every operator ended by itself, or because it was asked to."""


@dataclass(frozen=True, slots=True)
class Crashed:
    """An operator raised something that nobody foresaw; it was not started again."""

    operator: str
    message: str


@dataclass(frozen=True, slots=True)
class BudgetExhausted:
    """An operator failed more often than it is forgiven."""

    operator: str
    message: str


GraphEvent: TypeAlias = AllOk | Crashed | BudgetExhausted


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a graph ended."""

    event: GraphEvent
    exits: Mapping[str, Exit]
    """How each operator ended, in the order in which they did."""
    left_behind: Mapping[str, int] = field(default_factory=dict)
    """Items that nobody has handled, by edge; none after a clean end."""


def exit_of(error: BaseException | None, *, expects: tuple[type[Exception], ...], outputs: frozenset[str]) -> Exit:
    """Which exit it is when an operator ended by itself with this error, or without one.

    :param expects: what is no defect of the operator, besides errors of ours and of the operating system.
    :param outputs: the edges it sends on; when the other end of one has ended, it has nothing left to do.
    """
    if error is None:
        return Exit.OK
    leaves = tuple(_leaves(error))
    if all(isinstance(leaf, EdgeClosed) and leaf.context["edge"] in outputs for leaf in leaves):
        return Exit.OK
    known = (HoldfastError, OSError, EOFError, *expects)
    return Exit.ERRORED if all(isinstance(leaf, known) for leaf in leaves) else Exit.CRASHED


def text_of(error: BaseException | None) -> str:
    """What is told about an error."""
    if error is None:
        return ""
    return "; ".join(f"{type(leaf).__name__}: {leaf}".rstrip(": ") for leaf in _leaves(error))


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error

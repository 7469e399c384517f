"""Which operator feeds which: the shape of a small flow, as a value."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter

from holdfast.model.errors import InvalidFlow


@dataclass(frozen=True, slots=True)
class Link:
    """An edge from a source or an operator to an operator. Its name is unique in the graph."""

    name: str
    upstream: str
    downstream: str


@dataclass(frozen=True)
class Graph:
    """Operators and sources, joined by links. A name that nothing flows into is a source."""

    links: tuple[Link, ...]

    def __post_init__(self) -> None:
        names = [link.name for link in self.links]
        if len(set(names)) < len(names):
            what = f"The links of a graph need different names, but they are {sorted(names)}."
            raise InvalidFlow(what, remedy="Give each link a name of its own.", links=names)
        _ = self.operators

    @cached_property
    def operators(self) -> tuple[str, ...]:
        """The operators, every one behind those that feed it."""
        feeds: dict[str, set[str]] = {link.downstream: set() for link in self.links}
        for link in self.links:
            feeds[link.downstream].add(link.upstream)
        try:
            return tuple(name for name in TopologicalSorter(feeds).static_order() if name in feeds)
        except CycleError as error:
            what = f"The graph has a cycle: {' -> '.join(error.args[1])}."
            raise InvalidFlow(what, remedy="Take one link of the cycle out.", cycle=error.args[1]) from error

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """The sources, in the order in which the links name them."""
        return tuple(dict.fromkeys(link.upstream for link in self.links if link.upstream not in self.operators))

    def into(self, operator: str) -> tuple[Link, ...]:
        """The inputs of an operator, in their order."""
        return tuple(link for link in self.links if link.downstream == operator)

    def out_of(self, name: str) -> tuple[Link, ...]:
        """The links that an operator or a source feeds."""
        return tuple(link for link in self.links if link.upstream == name)

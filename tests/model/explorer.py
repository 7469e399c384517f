"""Breadth-first search over everything that can happen to the real ledger in a small world.

Every state reached is checked against the oracle, every step against the action properties. Each distinct state is
counted once, by the hash of its key, as TLC does with fingerprints.
"""

from __future__ import annotations

import gc
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.model.copying import clone, key
from tests.model.oracle import Before, check_state, check_step
from tests.model.world import Bounds, Operation, Violation, World


@dataclass
class Exploration:
    """What a search saw."""

    states: int = 0
    steps: int = 0
    seconds: float = 0.0
    complete: bool = False
    """Whether every state within the bounds was visited."""
    operations: Counter[str] = field(default_factory=Counter)
    witnesses: set[str] = field(default_factory=set)

    def __str__(self) -> str:
        whole = "all of them" if self.complete else "stopped at its limit"
        return f"{self.states:,} distinct states, {self.steps:,} steps, {self.seconds:.0f} s, {whole}"


Witness = Callable[[World, Operation], set[str]]
PROGRESS_EVERY = 250_000


def explore(
    bounds: Bounds,
    *,
    limit: int | None = None,
    witness: Witness | None = None,
    progress: Callable[[int], None] | None = None,
) -> Exploration:
    """Visit every state within the bounds, or the first `limit` of them; a `Violation` ends the search.

    :param witness: which situations a state shows; they are collected.
    :param progress: is told the number of states now and then.
    """
    with _without_garbage_collection():
        return _search(bounds, limit, witness or (lambda *_: set()), progress or (lambda _: None))


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Worlds hold no cycles, and walking millions of them again and again would take most of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _search(bounds: Bounds, limit: int | None, witness: Witness, progress: Callable[[int], None]) -> Exploration:
    seen = Exploration()
    started = time.monotonic()
    first = World(bounds)
    visited = {hash(key(first))}
    frontier = deque([first])
    while frontier and (limit is None or len(visited) < limit):
        world = frontier.popleft()
        before = Before(world)
        for operation in list(world.operations()):
            after = clone(world)
            step(after, operation, before)
            seen.steps += 1
            seen.operations[operation[0]] += 1
            fingerprint = hash(key(after))
            if fingerprint not in visited:
                visited.add(fingerprint)
                check_state(after)
                seen.witnesses |= witness(after, operation)
                frontier.append(after)
                if len(visited) % PROGRESS_EVERY == 0:
                    progress(len(visited))
    seen.states = len(visited)
    seen.complete = not frontier
    seen.seconds = time.monotonic() - started
    return seen


def step(world: World, operation: Operation, before: Before) -> None:
    """Let one operation happen and check the step; anything unexpected is a violation too."""
    try:
        world.perform(operation)
        check_step(before, operation[0], world)
    except Violation as violation:
        raise Violation(f"{violation} (by {operation})") from violation

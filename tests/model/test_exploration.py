"""Every interleaving of what can happen to the real ledger, within bounds (`make model` goes further)."""

from __future__ import annotations

import pytest

from tests.model.bounds import QUICK
from tests.model.explorer import explore
from tests.model.witnesses import OPERATIONS, SITUATIONS, situations
from tests.support.notes import Note

pytestmark = pytest.mark.timeout(600)

ENOUGH = 300_000


@pytest.mark.req("M1", "M2", "M3", "M4", "M5", "M6", "M7", "M11", "M14", "M21", "D6", "X3", "X14")
def test_every_reachable_state_satisfies_every_invariant(note: Note) -> None:
    explorations = {name: explore(bounds, witness=situations) for name, bounds in QUICK.items()}
    for name, seen in explorations.items():
        note(f"explored {name}: {seen}")
    note(f"explored the real ledger: {sum(seen.states for seen in explorations.values()):,} distinct states in all")
    assert all(seen.complete for seen in explorations.values())
    assert sum(seen.states for seen in explorations.values()) >= ENOUGH
    met = set().union(*(seen.witnesses for seen in explorations.values()))
    performed = set().union(*(seen.operations for seen in explorations.values()))
    assert met == set(SITUATIONS), "a situation was never met, so nothing is known about it"
    assert performed == OPERATIONS, "an operation never happened"

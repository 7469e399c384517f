"""Every interleaving of what can happen to the real ledger, within bounds (`make model` goes further)."""

from __future__ import annotations

import pytest

from tests.model.bounds import QUICK
from tests.model.explorer import explore
from tests.model.witnesses import OPERATIONS, SITUATIONS, situations

pytestmark = [pytest.mark.timeout(600), pytest.mark.xdist_group("exploration")]

ENOUGH = 300_000


@pytest.mark.req("M1", "M2", "M3", "M4", "M5", "M6", "M7", "M11", "M14", "M21", "D6", "X3", "X14")
def test_every_reachable_state_satisfies_every_invariant(capsys: pytest.CaptureFixture[str]) -> None:
    explorations = {name: explore(bounds, witness=situations) for name, bounds in QUICK.items()}
    with capsys.disabled():
        print()
        for name, seen in explorations.items():
            print(f"  {name}: {seen}")
        print(f"  together {sum(seen.states for seen in explorations.values()):,} distinct states")
    assert all(seen.complete for seen in explorations.values())
    assert sum(seen.states for seen in explorations.values()) >= ENOUGH
    met = set().union(*(seen.witnesses for seen in explorations.values()))
    performed = set().union(*(seen.operations for seen in explorations.values()))
    assert met == set(SITUATIONS), "a situation was never met, so nothing is known about it"
    assert performed == OPERATIONS, "an operation never happened"

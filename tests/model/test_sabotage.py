"""A planted bug for every invariant, and both checkers notice it under its name (M12)."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.model.bounds import QUICK
from tests.model.explorer import explore
from tests.model.machine import LedgerMachine
from tests.model.sabotage import SABOTAGES, Sabotage
from tests.model.world import Violation

pytestmark = pytest.mark.timeout(300)

SEARCHING = settings(
    max_examples=3000,
    stateful_step_count=60,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)

DESIGN_INVARIANTS = {
    "CheckpointNeverAheadOfTerminalizedPrefix",
    "CheckpointOrdering",
    "CommittedMonotonic",
    "DrainCompleteness",
    "NoBatchLeftBehind",
    "NoDoubleComplete",
    "PolicyGate",
    "ConservationPerStage",
}

planted = pytest.mark.parametrize("sabotage", SABOTAGES.values(), ids=SABOTAGES.keys())


@pytest.mark.req("M12")
@planted
def test_the_exploration_catches_it(sabotage: Sabotage, monkeypatch: pytest.MonkeyPatch) -> None:
    sabotage.plant(monkeypatch)
    with pytest.raises(Violation, match=f"^{sabotage.breaks}:"):
        explore(QUICK[sabotage.world])


@pytest.mark.req("M12")
@planted
def test_the_machine_catches_it(sabotage: Sabotage, monkeypatch: pytest.MonkeyPatch) -> None:
    sabotage.plant(monkeypatch)
    with pytest.raises(Violation, match=f"^{sabotage.breaks}:"):
        run_state_machine_as_test(LedgerMachine, settings=SEARCHING)


@pytest.mark.req("M12")
def test_every_invariant_of_the_design_has_a_sabotage() -> None:
    assert {sabotage.breaks for sabotage in SABOTAGES.values()} >= DESIGN_INVARIANTS

"""A rollback is killed at every step there is: the next start carries it out, and the sinks end as the preview said.

Here each step is taken on the way to one place; `make crash` walks all of them to the oldest, a middle and the newest,
by kill and by loss of power.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.crash.going_back import PLACES, Cell, Scope, played
from tests.support.crash.zygote import Run, Zygote

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from holdfast.model.steps import RollbackStep


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    with Zygote() as started:
        yield started


@pytest.fixture(scope="module")
def delivered(zygote: Zygote, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pipeline that has delivered everything."""
    directory = tmp_path_factory.mktemp("delivered")
    outcome = zygote.run(Run(str(directory), scene="going_back.first_run"))
    assert outcome.code == 0, outcome.error
    return directory


@pytest.mark.req("D1", "X5", "M3")
@pytest.mark.parametrize(
    ("scope", "step"), [(scope, step) for scope in Scope for step in scope.steps], ids=lambda given: given.value
)
def test_a_killed_rollback_is_carried_out(
    zygote: Zygote, tmp_path: Path, delivered: Path, scope: Scope, step: RollbackStep
) -> None:
    before = None if step.value.startswith("point.") else delivered
    where = PLACES[scope.steps.index(step) % len(PLACES)]
    assert played(zygote, tmp_path, Cell(scope, step, where), before) == []

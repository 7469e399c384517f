"""The process ends, or the power goes, at every durable step there is: the sinks hold each order exactly once.

The steps are walked through a driver without a JVM that keeps Spark's books; `docs/crash-matrix.md` lists them.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from holdfast.model.steps import RollbackStep, Step
from tests.support.crash.matrix import Cell, Loss, When, moments, played, times_reached
from tests.support.crash.zygote import Zygote
from tests.support.powerloss import compiled

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).resolve().parents[2] / "docs" / "crash-matrix.md"


@pytest.fixture(scope="session")
def zygote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Zygote]:
    with Zygote(preload=compiled(tmp_path_factory.mktemp("shim"))) as started:
        yield started


@pytest.fixture(scope="session")
def reached(zygote: Zygote, tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    return times_reached(zygote, tmp_path_factory.mktemp("uninterrupted"))


@pytest.mark.req("D1", "X5")
@pytest.mark.parametrize(
    ("step", "loss", "when"),
    [(step, loss, when) for step in Step for loss in Loss for when in moments(step)],
    ids=lambda given: given.value,
)
def test_nothing_is_lost_or_doubled(
    zygote: Zygote, tmp_path: Path, step: Step, loss: Loss, when: When, reached: dict[str, int]
) -> None:
    verdict = played(zygote, tmp_path, Cell(step, when, loss), reached)
    assert verdict.is_exact, verdict


def test_the_page_lists_every_step() -> None:
    listed = re.findall(r"^\| `([a-z_.]+)` \|", PAGE.read_text(), re.MULTILINE)
    assert listed == [step.value for step in (*Step, *RollbackStep)], "run `make crash` to write the page anew"

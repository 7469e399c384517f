"""One cell of the crash matrix: a pipeline ends at a step, by its process or by the power, and is started again."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from holdfast.model.steps import Step
from tests.support.crash import orders
from tests.support.crash.reconcile import Verdict, reconcile
from tests.support.crash.zygote import Run, Zygote
from tests.support.powerloss import Disk

if TYPE_CHECKING:
    from pathlib import Path


class When(Enum):
    """Which time a step is reached."""

    FIRST = "first"
    SECOND = "second"
    LAST = "last"


class Loss(Enum):
    """What is lost."""

    PROCESS = "the process"
    POWER = "the power"


@dataclass(frozen=True)
class Cell:
    """A place in the matrix."""

    step: Step
    when: When
    loss: Loss
    bug: str | None = None
    """The bug of `tests.support.crash.bugs` that the process has, in all its lives."""


def moments(step: Step) -> list[When]:
    """Which times a step can be reached: the dead letters of a run lie in one file, and it is removed once."""
    return [when for when in When if step is not Step.DEAD_LETTER_TRIMMED or when is not When.SECOND]


class NotReached(Exception):
    """No run got as far as the cell wants: the matrix does not cover the step."""


def times_reached(zygote: Zygote, directory: Path) -> dict[str, int]:
    """How often a run that nobody ends reaches each step."""
    verdict, counts = _to_the_end(zygote, directory)
    assert verdict.is_exact, verdict
    return counts


def played(zygote: Zygote, parent: Path, cell: Cell, reached: dict[str, int]) -> Verdict:
    """Let the run end where the cell says, go on, and look at the sinks."""
    disk = _ended_at(zygote, parent, cell, reached)
    if cell.loss is Loss.POWER:
        disk.lose_power()
    verdict, _ = _to_the_end(zygote, disk.root, cell.bug)
    return verdict


def _ended_at(zygote: Zygote, parent: Path, cell: Cell, reached: dict[str, int]) -> Disk:
    """How often a step is reached varies from run to run, so its last time is tried from above."""
    times = reached.get(cell.step, 0)
    for occurrence in {When.FIRST: (1,), When.SECOND: (2,), When.LAST: range(times, 0, -1)}[cell.when]:
        disk = Disk.prepare(parent / str(occurrence))
        outcome = zygote.run(Run(str(disk.root), cell.step, occurrence, kept=str(disk.kept), bug=cell.bug))
        if outcome.killed:
            return disk
        assert outcome.code == 0, outcome.error
    raise NotReached(f"{cell.step.value} is reached {times} times, and not the {cell.when.value} time asked for")


def _to_the_end(zygote: Zygote, directory: Path, bug: str | None = None) -> tuple[Verdict, dict[str, int]]:
    outcome = zygote.run(Run(str(directory), bug=bug))
    if outcome.code != 0:
        return Verdict([f"it does not come to its end: {outcome.error}"]), {}
    return reconcile(directory, orders.EVENTS), outcome.counts

"""The scenes of a rollback that is killed: a pipeline runs, an operator takes it or a sink back, and it runs again.

What was done is left behind as files, so each life of the process does what is left to do. The sinks are of every kind
that matters; what they must hold in the end is computed from the numbers alone.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.model.steps import RollbackStep
from holdfast.runtime.rollback.points import PointsKept
from tests.support import rollbacks
from tests.support.crash.matrix import Loss, NotReached
from tests.support.crash.zygote import Run, Zygote
from tests.support.powerloss import Disk

if TYPE_CHECKING:
    from holdfast import Pipeline
    from tests.support.crash.watch import Watch

DELIVERED = "delivered"
"""The file that says that the first run has delivered everything."""
PLACES = ("oldest", "middle", "newest")


class Scope(Enum):
    """What goes back, and the steps on the way."""

    SINKS = "sinks"
    PIPELINE = "pipeline"
    UNDONE = "undone"
    """The pipeline goes back, and that is taken back."""

    @property
    def steps(self) -> list[RollbackStep]:
        """The steps that such a rollback takes; points are made before one of the pipeline."""
        return [step for step in RollbackStep if step not in _NOT_TAKEN.get(self, ())]

    @property
    def occurrence(self) -> int:
        """Which time a step is the one that is meant."""
        return 2 if self is Scope.UNDONE else 1


_OF_POINTS = {RollbackStep.POINT_LINK, RollbackStep.POINT_MAKE, RollbackStep.POINT_MADE}
_NOT_TAKEN = {
    Scope.SINKS: {*_OF_POINTS, RollbackStep.LINK, RollbackStep.LINKED, RollbackStep.GENERATION},
    Scope.UNDONE: {*_OF_POINTS, RollbackStep.SINK, RollbackStep.SINK_WENT_BACK},
}


@dataclass(frozen=True)
class Cell:
    """A place in the matrix of rollbacks."""

    scope: Scope
    step: RollbackStep
    where: str
    loss: Loss = Loss.PROCESS

    @property
    def scene(self) -> str:
        return f"going_back.{self.scope.value}_{self.where}"


def played(zygote: Zygote, parent: Path, cell: Cell, delivered: Path | None = None) -> list[str]:
    """Let the rollback end where the cell says, go on, and look at the sinks: what is wrong with them.

    :param delivered: a directory in which the first run is over, to begin with a copy of it.
    """
    disk = Disk.prepare(parent)
    if delivered is not None:
        shutil.copytree(delivered, disk.root, dirs_exist_ok=True)
    kept = str(disk.kept) if cell.loss is Loss.POWER else None
    outcome = zygote.run(Run(str(disk.root), cell.step, cell.scope.occurrence, kept=kept, scene=cell.scene))
    if not outcome.killed:
        raise NotReached(f"{cell} is not reached: {outcome.error}")
    if cell.loss is Loss.POWER:
        disk.lose_power()
    outcome = zygote.run(Run(str(disk.root), scene=cell.scene))
    return complaints(disk.root, cell.scope) if outcome.code == 0 else [f"it does not come to its end: {outcome.error}"]


def complaints(directory: Path, scope: Scope) -> list[str]:
    """What is wrong with the sinks, given that they went back and everything came again once."""
    found = rollbacks.held(directory)
    if scope is Scope.UNDONE:
        return [f"{sink}: not equal" for sink, numbers in found.items() if numbers != rollbacks.PASSED]
    wrong = [f"{sink}: not equal" for sink in ("archive", "tagged", "latest") if found[sink] != rollbacks.PASSED]
    counted = Counter(found["plain"])
    twice = sorted(n for n, times in counted.items() if times == 2)
    is_as_told = sorted(counted) == rollbacks.PASSED and twice == rollbacks.PASSED[len(rollbacks.PASSED) - len(twice) :]
    if not is_as_told or counted.total() != len(rollbacks.PASSED) + len(twice):
        wrong.append("plain: other rows are repeated than those behind one batch, once")
    return wrong


# What the process does


def first_run(directory: Path, watch: Watch) -> None:
    """Deliver everything, and write down that it is."""
    rollbacks.prepare(directory)
    _synced(directory)
    rollbacks.run(_pipeline(directory), hook=watch)
    (directory / DELIVERED).touch()
    _synced(directory / DELIVERED)
    _synced(directory)


def _goes_back(directory: Path, watch: Watch, *, sinks: tuple[str | None, ...], where: str) -> None:
    """The sinks, or the pipeline, go back once; then it runs again."""
    if not (directory / DELIVERED).exists():
        first_run(directory, watch)
    whole = _pipeline(directory)
    for sink in sinks:
        if not any(known.sink == sink for known in whole.rollbacks().history()):
            targets = whole.rollbacks().targets(sink)
            target = targets[{"oldest": 0, "middle": len(targets) // 2, "newest": -1}[where]]
            whole.rollbacks(hook=watch).go_back(str(target.oseq), sink, by="operator")
    rollbacks.run(whole, hook=watch)


def _is_undone(directory: Path, watch: Watch, *, where: str) -> None:
    """The pipeline goes back and forward again, before it runs."""
    if not (directory / DELIVERED).exists():
        first_run(directory, watch)
    whole = _pipeline(directory)
    if not whole.rollbacks().history():
        targets = whole.rollbacks().targets()
        target = targets[{"oldest": 0, "middle": len(targets) // 2, "newest": -1}[where]]
        whole.rollbacks(hook=watch).go_back(str(target.oseq), by="operator")
    if len(whole.rollbacks().history()) == 1:
        whole.rollbacks(hook=watch).undo(by="operator")
    rollbacks.run(whole, hook=watch)


def _pipeline(directory: Path) -> Pipeline:
    """It makes a point of every batch that it can."""
    return rollbacks.pipeline(directory).points(PointsKept(every=timedelta(0)))


def _synced(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


_SINKS = ("archive", "tagged", "plain")
sinks_oldest = partial(_goes_back, sinks=_SINKS, where="oldest")
sinks_middle = partial(_goes_back, sinks=_SINKS, where="middle")
sinks_newest = partial(_goes_back, sinks=_SINKS, where="newest")
pipeline_oldest = partial(_goes_back, sinks=(None,), where="oldest")
pipeline_middle = partial(_goes_back, sinks=(None,), where="middle")
pipeline_newest = partial(_goes_back, sinks=(None,), where="newest")
undone_oldest = partial(_is_undone, where="oldest")
undone_middle = partial(_is_undone, where="middle")
undone_newest = partial(_is_undone, where="newest")

"""The whole crash matrix, and random faults under load in Spark; writes `docs/crash-matrix.md`.

python -m tests.crash.campaign [--kills 100] [--seed 1] [--only-random]
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from holdfast.model.steps import RollbackStep, Step
from tests.crash import page
from tests.crash.killing import Campaign
from tests.support.crash import going_back
from tests.support.crash.going_back import PLACES, Scope
from tests.support.crash.matrix import Cell, Loss, moments, played, times_reached
from tests.support.crash.zygote import Run, Zygote
from tests.support.mounts import can_mount
from tests.support.powerloss import compiled

HEAD = """# The crash matrix

Written by `make crash`. A pipeline of 400 orders runs into Parquet files and a SQLite table that refuses every 97th
of them. When all is delivered an operator mends the table and reprocesses the dead letters, those of the table and some
of a step, and removes them. The pipeline ends at each durable step, the first, second and last time the step is
reached: its process is killed, or the power is lost, after which only what was synced is left. Then it is started again
and runs to its end. *exact* means that a program which shares no code with the product found every order once and in
order in each sink, those that were dead letters behind the others, and no dead letter left. The source forgets what is
acknowledged, and cannot be asked for it again.

The steps are walked through a driver without a JVM that keeps Spark's books (`spark.plan` and `spark.finish` are the
writes of Spark's own files, which it never syncs).

| step | process killed | power lost |
|---|---|---|
"""

ROLLBACK = """

## Rollback

A pipeline of 240 orders runs into Parquet files, a table whose rows are tagged with their batch, one whose rows are
not, and one row an order. When all is delivered an operator takes three of the sinks back, one after another, or the
whole pipeline: to the oldest, a middle and the newest place there is. The process is killed, or the power is lost, at
each step; then the pipeline is started again, which carries the rollback out, and runs to its end. Last, a rollback of
the pipeline is taken back, and that is cut short. *exact* means that the files and the tagged table hold every order
once and in order, as if nobody had gone back, that the table with one row an order does too, and that the table without
tags holds the orders behind one batch twice and all others once, as the preview said; none twice when it was taken
back.

| step | sinks: killed | power lost | pipeline: killed | power lost | undone: killed | power lost |
|---|---|---|---|---|---|---|
"""

ABOUT = """\
`holdfast run` follows a log that is written and rotated all the time, on a disk of its own, and delivers its lines
through Spark into Parquet files and a SQLite table. What happens to it is chosen by a seed: its process, Spark's JVM, a
Python worker, the process that forks workers, the process group, the session or all of them are killed, and the disk is
filled and freed. A process that is dead is started again with the same command; nothing else is done for it. Last, a
program which shares no code with the product compares both sinks with the lines.

"""


def matrix(scratch: Path) -> list[str]:
    """The rows of the table, each cell played."""
    rows = []
    with Zygote(preload=compiled(scratch)) as zygote:
        uninterrupted = scratch / "uninterrupted"
        uninterrupted.mkdir()
        reached = times_reached(zygote, uninterrupted)
        for step in Step:
            cells = {
                loss: [_played(zygote, scratch, Cell(step, when, loss), reached) for when in moments(step)]
                for loss in Loss
            }
            rows.append(f"| `{step.value}` | {' · '.join(cells[Loss.PROCESS])} | {' · '.join(cells[Loss.POWER])} |")
            print(rows[-1], flush=True)
    return rows


def _played(zygote: Zygote, scratch: Path, cell: Cell, reached: dict[str, int]) -> str:
    place = scratch / f"{cell.step.value}-{cell.when.value}-{cell.loss.name}"
    verdict = played(zygote, place, cell, reached)
    return "exact" if verdict.is_exact else f"**{'; '.join(verdict.complaints)}**"


def rollbacks(scratch: Path) -> list[str]:
    """The rows of the table of rollbacks, each cell played."""
    rows = []
    delivered = scratch / "delivered"
    delivered.mkdir(parents=True)
    with Zygote(preload=compiled(scratch)) as zygote:
        first = zygote.run(Run(str(delivered), scene="going_back.first_run"))
        assert first.code == 0, first.error
        for step in RollbackStep:
            cells = [_gone_back(zygote, scratch, step, scope, loss, delivered) for scope in Scope for loss in Loss]
            rows.append(f"| `{step.value}` | {' | '.join(cells)} |")
            print(rows[-1], flush=True)
    return rows


def _gone_back(zygote: Zygote, scratch: Path, step: RollbackStep, scope: Scope, loss: Loss, delivered: Path) -> str:
    if step not in scope.steps:
        return "not taken"
    is_after_delivery = loss is Loss.PROCESS and not step.value.startswith("point.")
    told = []
    for where in PLACES:
        place = scratch / f"{scope.value}-{step.value}-{where}-{loss.name}"
        cell = going_back.Cell(scope, step, where, loss)
        wrong = going_back.played(zygote, place, cell, delivered if is_after_delivery else None)
        told.append(f"**{'; '.join(wrong)}**" if wrong else "exact")
        shutil.rmtree(place)
    return " · ".join(told)


def random_faults(scratch: Path, count: int, seed: int) -> str:
    """Let so many faults happen to a pipeline, and tell how it went, for the page."""
    print(f"crash: {count} random faults of a loaded pipeline in Spark, seed {seed}", flush=True)
    campaign = Campaign(scratch / "random", seed=seed, may_fill_disk=can_mount(scratch / "trial"))
    told = f"Seed {seed}: {campaign.run(campaign.choose(count))}"
    print(f"crash: {told}", flush=True)
    return ABOUT + told


def matrices(scratch: Path) -> tuple[str, list[str]]:
    """Both tables as text, and their rows."""
    rows = matrix(scratch)
    back = rollbacks(scratch / "rollbacks")
    return HEAD + "\n".join(rows) + ROLLBACK + "\n".join(back), [*rows, *back]


def main() -> None:
    """Play everything, write the page, and fail if a cell is not exact."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--kills", type=int, default=100, help="how many random faults")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--only-random", action="store_true", help="leave the matrix as it is")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        text, rows = (page.matrices(), []) if options.only_random else matrices(Path(scratch))
        told = random_faults(Path(scratch), options.kills, options.seed) if options.kills else page.section(page.RANDOM)
    page.write(text, told, page.section(page.FUSION))
    wrong = [row for row in rows if "**" in row]
    print(f"crash: {len(rows)} steps, {len(wrong)} of them not exact")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()

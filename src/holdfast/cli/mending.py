"""The command that explains what is wrong with a pipeline's files, and mends what it can."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdfast.cli.command import command, pipeline_argument
from holdfast.cli.exits import ExitCode
from holdfast.control.place import find

if TYPE_CHECKING:
    from holdfast.cli.output import Output


@command("doctor", examples=("holdfast doctor", "holdfast doctor orders.yaml --repair"))
@pipeline_argument
@click.option("--repair", is_flag=True, help="Carry the repairs out; without this they are only named.")
def doctor(out: Output, pipeline: Path, repair: bool) -> ExitCode | None:
    """Explain what is wrong with the checkpoint store, and what would happen at the next start.

    The exit code is 3 when something was found that is not mended.
    """
    from holdfast.checkpoint import CURSORS, DryRun, examine
    from holdfast.checkpoint import repair as treat
    from holdfast.control.files import owning, reading

    directory = find(pipeline).directory
    with reading(directory) as store:
        diagnosis = examine(store, cursors=[CURSORS])
        actions = treat(store, diagnosis, epoch=0)
    if repair and actions:
        with owning(directory) as (store, epoch):
            diagnosis = examine(store, cursors=[CURSORS])
            actions = treat(store, diagnosis, epoch=epoch, dry_run=DryRun.NO)
            diagnosis = examine(store, cursors=[CURSORS])
    value = {
        "store": diagnosis.store,
        "epoch": diagnosis.epoch,
        "healthy": diagnosis.is_healthy,
        "keys": diagnosis.keys,
        "findings": [
            {
                "kind": finding.kind,
                "place": finding.place,
                "meaning": finding.meaning,
                "next_start": finding.next_start,
                "repair": str(finding.repair) if finding.repair else None,
                "cannot": finding.cannot,
            }
            for finding in diagnosis.findings
        ],
        "actions": [str(action) for action in actions],
    }
    out.result(value, "\n".join([str(diagnosis), *map(str, actions)]))
    return None if diagnosis.is_healthy else ExitCode.DEGRADED

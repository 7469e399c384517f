"""Fusion over the logs of an edge, until it is told to stop.

    python -m bench._fusion_run DIRECTORY [all | most]

`all` takes every observation; `most` leaves out what says little when it falls behind, as an operation does, and writes
last what it left out.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from bench._fusion_feed import LOGS
from holdfast.flow import Priority
from meridian.fusion.pipeline import pipeline
from meridian.operation.assembling import FromHome
from meridian.operation.home import Home
from meridian.sensors import EdgeLog
from meridian.sensors.branch import CorrelatorBranch
from meridian.sensors.recollection import Recollection

LEFT_OUT = "left_out.json"


def main(directory: Path, how: str) -> None:
    home = Home(directory)
    if how == "all":
        pipeline(
            directory, FromHome.of(home), *(EdgeLog(home.edge, name, consumer="fusion") for name in LOGS.values())
        ).run()
        return
    branches = [
        CorrelatorBranch(home.edge, name, consumer="fusion", memory=Recollection(home.recent / name))
        for name in LOGS.values()
    ]
    pipeline(directory, FromHome.of(home), *branches).run()
    drops = [drop for branch in branches for drop in branch.stats().drops]
    totals = {level.value: sum(drop.items for drop in drops if drop.priority is level) for level in Priority}
    (directory / LEFT_OUT).write_text(json.dumps(totals))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])

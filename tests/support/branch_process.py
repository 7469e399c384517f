"""An edge that writes, and a reader behind a branch that leaves out what there is no room for, in one process.

    python -m tests.support.branch_process DIRECTORY EPOCH [STEP NTH]

runs until all is written and read, or ends itself with SIGKILL when it reaches the step for the nth time. Fusion takes
its time: it is done only with every fifth piece.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

from holdfast.capture import Capture
from holdfast.flow import EdgePlan, Shed
from holdfast.log import Inbox
from holdfast.model.positions import SiftedPosition
from meridian.sensors import ObservationColumns, SourceKind, events_of, heartbeat
from meridian.sensors.branch import CorrelatorBranch
from meridian.sensors.columns import Form, joined, new_records
from meridian.sensors.observation import ClockKind
from meridian.sensors.recollection import Recollection
from tests.support.operator_process import Fate

LOG = "obs.radar-1"
WATCHED = "watched"
PLAN = EdgePlan(100, Shed("the test has little room"))
PIECES = 24
SECOND = 10**9
BETWEEN = 7 * SECOND
"""From one piece to the next: at this pace an object is always news, and would not be if a sample counted twice."""
START = 10**18


def piece(number: int) -> pa.RecordBatch:
    """Objects that are news, some of them for the first time; one that is watched; and few that are seen often."""
    names = [
        *(f"slow-{each}" for each in range(8)),
        *(f"new-{number}-{each}" for each in range(2)),
        *[WATCHED] * 6,
        *[f"fast-{each}" for each in range(4)] * 8,
    ]
    records = new_records(len(names), SourceKind.RADAR, Form.RANGE_RATE, ClockKind.GPS_LOCKED)
    records["observation_id"] = np.random.default_rng(number).integers(0, 256, (len(names), 16), np.uint8)
    records["sensor_ts_ns"] = records["ingest_ts_ns"] = START + number * BETWEEN
    seen = ObservationColumns(records, pa.array(["radar-1"] * len(names)), pa.array(names))
    at = START + number * BETWEEN
    return events_of(joined([seen, heartbeat(SourceKind.RADAR, "radar-1", through_ns=at, now_ns=at)]), LOG)


ROWS = piece(0).num_rows


def branch(directory: Path, fate: Fate | None = None) -> CorrelatorBranch:
    memory = Recollection(directory / "memory", cadence=0.0, hook=fate or Fate(None, 0))
    return CorrelatorBranch(directory, LOG, consumer="fusion", memory=memory, plan=PLAN)


def live(directory: Path, epoch: int, fate: Fate) -> None:
    source, failures = branch(directory, fate), list[BaseException]()
    with (
        Inbox.open(directory / LOG, name=LOG, epoch=epoch, flush_interval=0.0) as log,
        Inbox.open(directory / "pipeline", name=LOG, epoch=epoch, hook=fate) as inbox,
    ):
        capture = Capture(source, inbox, failed=failures.append, poll=0.01, pause=0.0)
        capture.start()
        while not failures:
            position = inbox.position()
            if log.end() and (position is None or not position.at_or_after(SiftedPosition(log.uuid, log.end()))):
                time.sleep(0.001)
                continue
            number = log.end() // ROWS
            if position is not None and number % 5 == 0:
                source.acknowledge(position)
            if number == PIECES:
                break
            log.push(piece(number)).result()
        capture.stop()
    assert not failures, failures


def main() -> None:
    directory, epoch, *fate = sys.argv[1:]
    live(Path(directory), int(epoch), Fate(fate[0], int(fate[1])) if fate else Fate(None, 0))


if __name__ == "__main__":
    main()

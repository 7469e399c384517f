"""A process with a replicated store that ends itself by SIGKILL at a named step; started by the recovery tests.

`python -m tests.support.replica_process LOCAL_KIND LOCAL_PATH REMOTE STEP`, where REMOTE is a DSN and a namespace, or
an endpoint and a bucket, joined by `|`. It takes over, recovers the pair, goes on counting, copies every third pair,
prints what it has committed, and dies in its third copy.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

from holdfast.checkpoint.contract import CheckpointStore, Commit
from holdfast.checkpoint.file import FileStore
from holdfast.checkpoint.objects import ObjectStore
from holdfast.checkpoint.postgres import PostgresStore
from holdfast.checkpoint.replication.counting import recovery_path_total
from holdfast.checkpoint.replication.recovery import recover
from holdfast.checkpoint.replication.replica import RESERVED
from holdfast.checkpoint.sqlite import SqliteStore
from tests.support.replicas import OFFSET, STATE, stepped, write_pair
from tests.support.servers import Bucket

STEPS = ("copy.begin", "copy.read", "copy.written", "record.written")
COPIES = 3


def open_local(kind: str, path: Path) -> CheckpointStore:
    """The local tier."""
    return SqliteStore(path) if kind == "sqlite" else FileStore(path)


def open_remote(remote: str) -> CheckpointStore:
    """The remote tier."""
    place, name = remote.split("|")
    if place.startswith("http"):
        return ObjectStore(Bucket(place, name).connect(), "replica")
    return PostgresStore(place, namespace=name)


def die() -> None:
    """As a power cut would have it for a process: no clean-up, no farewell."""
    os.kill(os.getpid(), signal.SIGKILL)


def main(kind: str, path: Path, remote: str, step: str) -> None:
    local, far = open_local(kind, path), open_remote(remote)
    store = stepped(local, far)
    epoch = store.take_over()
    found = recover(store, (STATE, OFFSET), epoch=epoch, paths=recovery_path_total())
    state = found.payload(STATE)
    number = int(state.split()[1]) if state else 0
    for copies in range(1, COPIES + 1):
        for _ in range(3):
            number += 1
            write_pair(store, number, epoch)
            print(number, flush=True)
        if copies == COPIES:
            arm(step, local, far)
        store.replicate_once()
    die()


def arm(step: str, local: CheckpointStore, far: CheckpointStore) -> None:
    """See to it that the next copy is the last thing this process does."""
    if step == "copy.begin":
        die()
    record, copy = local.commit, far.commit

    def before_or_after_copy(made: Commit) -> Mapping[str, int]:
        if step == "copy.read":
            die()
        written = copy(made)
        if step == "copy.written":
            die()
        return written

    def after_record(made: Commit) -> Mapping[str, int]:
        written = record(made)
        if step == "record.written" and any(update.key == RESERVED for update in made.updates):
            die()
        return written

    far.commit, local.commit = before_or_after_copy, after_record  # type: ignore[method-assign]


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3], sys.argv[4])

"""A process that writes to a checkpoint store until it is told to stop or refused; started by the race tests.

`python -m tests.support.racer MODE COMMITS WHERE…` with a directory, or an endpoint and a bucket, as the place.
Modes: `own` takes over and writes pairs; `count` raises a shared counter under the epoch that is there.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

from holdfast.checkpoint.contract import CheckpointStore, Commit, Put, VersionIs
from holdfast.checkpoint.file import FileStore
from holdfast.checkpoint.objects import ObjectStore
from holdfast.model.errors import CheckpointError, RequirementFailed
from tests.support.servers import Bucket

KEYS = ("state", "offset")


def open_place(where: list[str]) -> CheckpointStore:
    """The store at a directory, or at an endpoint and a bucket."""
    return FileStore(where[0]) if len(where) == 1 else ObjectStore(Bucket(*where).connect(), "race")


def own(store: CheckpointStore, commits: int) -> dict[str, object]:
    """Take over and write the same number under both keys, again and again."""
    epoch = store.take_over()
    print(json.dumps({"epoch": epoch}), flush=True)
    for done in range(commits):
        try:
            store.commit(Commit(epoch, [Put(key, b"%d/%d" % (epoch, done)) for key in KEYS]))
        except CheckpointError as error:
            return {"epoch": epoch, "done": done, "end": type(error).__name__}
    return {"epoch": epoch, "done": commits, "end": "finished"}


def count(store: CheckpointStore, commits: int) -> dict[str, object]:
    """Raise the counter by one, that many times, each time on the version that was read."""
    epoch, refused = store.epoch(), 0
    print(json.dumps({"epoch": epoch}), flush=True)
    for _ in range(commits):
        while True:
            found = store.get_raw("counter")
            value, version = (int(found.payload), found.version.number) if found else (0, 0)
            try:
                store.commit(Commit(epoch, [Put("counter", b"%d" % (value + 1))], [VersionIs("counter", version)]))
            except RequirementFailed:
                refused += 1
            else:
                break
    return {"done": commits, "refused": refused}


MODES: dict[str, Callable[[CheckpointStore, int], dict[str, object]]] = {"own": own, "count": count}

if __name__ == "__main__":
    mode, commits, *where = sys.argv[1:]
    print(json.dumps(MODES[mode](open_place(where), int(commits))), flush=True)

"""How long it takes to recover a checkpoint: from the local disk, and from the remote tier when the disk is lost.

Two sizes: a typical one (the cursors of 10 lanes and 1 MB of state) and 100 MB of state in 25 keys, half of which
compresses well and half not at all. Each recovery runs in a fresh process and is measured from opening the store to
having the verified payloads, imports of Python apart; the operating system's file cache is warm. The remote tier is an
S3 server (moto) on the loopback interface of the same machine, so its figure holds no network; it includes writing the
payloads to the new local disk.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.checkpoint.contract import Commit, Put
from holdfast.checkpoint.file import FileStore
from holdfast.checkpoint.objects import open_object_store
from holdfast.checkpoint.replication.counting import recovery_path_total
from holdfast.checkpoint.replication.recovery import recover
from holdfast.checkpoint.replication.replicated import ReplicatedStore
from holdfast.checkpoint.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Iterator

    from holdfast.checkpoint.contract import CheckpointStore

LARGE_KEYS, LARGE_SIZE = 25, 4_000_000
LANES, LANE_SIZE, STATE_SIZE = 10, 200, 1_000_000
NEVER = timedelta(days=1)


def payload(size: int) -> bytes:
    return os.urandom(size // 2) + bytes(size - size // 2)


def large() -> dict[str, bytes]:
    return {f"operator/{number}": payload(LARGE_SIZE) for number in range(LARGE_KEYS)}


def typical() -> dict[str, bytes]:
    lanes = {f"lane/{number}": payload(LANE_SIZE) for number in range(LANES)}
    return {"state": payload(STATE_SIZE), **lanes}


def open_local(kind: str, path: str) -> CheckpointStore:
    return SqliteStore(path) if kind == "sqlite" else FileStore(path)


def open_store(kind: str, path: str, endpoint: str) -> CheckpointStore:
    local = open_local(kind, path)
    if not endpoint:
        return local
    remote = open_object_store(
        "s3://bench/replica", endpoint=endpoint, region="us-east-1", access_key_id="test", secret_access_key="test"
    )
    return ReplicatedStore(local, remote, every=NEVER)


def save(kind: str, path: Path, values: dict[str, bytes], endpoint: str = "") -> None:
    with open_store(kind, str(path), endpoint) as store:
        store.commit(Commit(store.take_over(), [Put(key, value) for key, value in values.items()]))
        if isinstance(store, ReplicatedStore):
            status = store.replicate_once()
            assert status.commits_behind == 0, status


def come_back(kind: str, path: str, endpoint: str, keys: list[str]) -> dict[str, object]:
    """In a fresh process: seconds until all payloads are here, and by which route."""
    started = time.perf_counter()
    store = open_store(kind, path, endpoint)
    found = recover(store, keys, epoch=store.take_over(), paths=recovery_path_total())
    seconds = time.perf_counter() - started
    size = sum(len(stored.payload) for stored in found.values.values())
    store.close()
    return {"seconds": seconds, "path": found.path.value, "bytes": size}


def measured(kind: str, path: Path, values: dict[str, bytes], route: str, endpoint: str = "") -> float:
    command = [sys.executable, __file__, "--recover", kind, str(path), endpoint, *values]
    answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert answer["path"] == route, answer
    assert answer["bytes"] == sum(map(len, values.values())), answer
    return float(answer["seconds"])


def local_figures(directory: Path) -> Iterator[tuple[str, float]]:
    for size, values in (("100mb", large()), ("typical", typical())):
        for kind in ("sqlite", "file"):
            path = directory / f"{size}-{kind}"
            save(kind, path, values)
            yield f"local_{kind}_{size}", measured(kind, path, values, "local")


def remote_figures(directory: Path) -> Iterator[tuple[str, float]]:
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        endpoint = "http://{}:{}".format(*server.get_host_and_port())
        for size, values in (("100mb", large()), ("typical", typical())):
            make_bucket(endpoint)
            save("sqlite", directory / f"{size}-first", values, endpoint)
            lost = directory / f"{size}-second"
            yield f"remote_s3_loopback_{size}", measured("sqlite", lost, values, "remote", endpoint)
    finally:
        server.stop()


def make_bucket(endpoint: str) -> None:
    """An empty bucket, whatever was there."""
    import urllib.request

    urllib.request.urlopen(urllib.request.Request(f"{endpoint}/moto-api/reset", method="POST"), timeout=10).close()
    urllib.request.urlopen(urllib.request.Request(f"{endpoint}/bench", method="PUT"), timeout=10).close()


def run() -> Iterator[dict[str, object]]:
    """The figures, one after the other."""
    with tempfile.TemporaryDirectory() as directory:
        for figures in (local_figures, remote_figures):
            for figure, value in figures(Path(directory)):
                yield {"bench": "recovery", "figure": figure, "value": round(value, 3), "unit": "s"}


def main() -> None:
    if sys.argv[1:2] == ["--recover"]:
        kind, path, endpoint, *keys = sys.argv[2:]
        print(json.dumps(come_back(kind, path, endpoint, keys)))
        return
    print("targets: local 100 MB < 5 s, local typical < 1 s; remote is S3 (moto) on loopback, without a target")
    for figure in run():
        print(json.dumps(figure))


if __name__ == "__main__":
    main()

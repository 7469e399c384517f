"""What a checkpoint commit of ten lanes costs, beside a bare SQLite transaction that writes the same bytes."""

from __future__ import annotations

import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median, quantiles

from holdfast.checkpoint.contract import Commit, Put
from holdfast.checkpoint.file import FileStore
from holdfast.checkpoint.sqlite import SqliteStore

COMMITS = 500
LANES = [f"orders/lane/{n}" for n in range(10)]


def payload(number: int) -> bytes:
    """A lane's cursor: another one each time, since SQLite does not write what did not change."""
    return b'{"format":1,"delivered":%d,"position":{"kind":"lsn","v":1,"lsn":"16/B374D848"}}' % number


def run() -> Iterator[dict[str, object]]:
    with tempfile.TemporaryDirectory() as place:
        bare = _bare_sqlite(Path(place) / "bare.db")
        ours = _store(SqliteStore(Path(place) / "store.db"))
        files = _store(FileStore(Path(place) / "files"))
    yield _figure("sqlite_median", median(ours), peer=median(bare))
    yield _figure("sqlite_p99", quantiles(ours, n=100)[98], peer=quantiles(bare, n=100)[98])
    yield _figure("file_median", median(files))


def _store(store: SqliteStore | FileStore) -> list[float]:
    with store:
        epoch = store.take_over()
        return _timed(lambda number: store.commit(Commit(epoch, [Put(key, payload(number)) for key in LANES])))


def _bare_sqlite(path: Path) -> list[float]:
    """The peer: the same ten rows in one synced transaction, without versions, fencing or checksums."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("PRAGMA synchronous=FULL")
    db.execute("CREATE TABLE checkpoints (key TEXT PRIMARY KEY, payload BLOB)")
    statement = "INSERT INTO checkpoints VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET payload = ?2"

    def commit(number: int) -> None:
        db.execute("BEGIN IMMEDIATE")
        db.executemany(statement, [(key, payload(number)) for key in LANES])
        db.execute("COMMIT")

    times = _timed(commit)
    db.close()
    return times


def _timed(commit: Callable[[int], object]) -> list[float]:
    times = []
    for number in range(COMMITS):
        started = time.perf_counter()
        commit(number)
        times.append((time.perf_counter() - started) * 1000)
    return times


def _figure(name: str, value: float, peer: float | None = None) -> dict[str, object]:
    figure: dict[str, object] = {"bench": "checkpoint_commit", "figure": name, "value": round(value, 2), "unit": "ms"}
    if peer is not None:
        figure |= {"peer": f"bare SQLite: {peer:.2f} ms", "ratio": round(value / peer, 2)}
    return figure


if __name__ == "__main__":
    for figure in run():
        print(figure)

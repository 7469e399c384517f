"""Kinds of damage to plant in the directory of a pipeline that has stopped, and what the doctor must call each."""

from __future__ import annotations

import json
import os
import shutil
import socket
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from holdfast import BatchLimits, Budget, Files, Generator, Pipeline, Sqlite
from holdfast.checkpoint import CURSORS, SqliteStore
from holdfast.control.doctor import Code
from holdfast.log import DeadLetterLog, Inbox
from holdfast.runtime.records import GENERATION, Generation
from holdfast.testing import LocalProcessor
from tests.support.control_world import of_sink, row
from tests.support.crash.orders import orders
from tests.support.damage import flip
from tests.support.engine_pipelines import Watched, impatient, wait_until

EVENTS = 500


@dataclass(frozen=True)
class Damage:
    """One kind of damage."""

    name: str
    plant: Callable[[Path], None]
    """Given the pipeline's directory."""
    code: Code
    is_repairable: bool = False
    remains: tuple[Code, ...] = ()
    """What is still said after the repair."""
    is_noticed: bool = True
    """Whether a start notices it without a JVM, and with sinks that keep cursors of their own."""


def pipeline(directory: Path, events: int, late: Watched | None = None) -> Pipeline:
    """Orders to a table, and to files that come late."""
    return (
        Pipeline("orders", directory=directory / "pipeline")
        .read(Generator("orders", events=events, transactions=(3, 7, 1), chunk=60))
        .write(
            impatient("table", Sqlite(directory / "sink.db", table="orders")),
            impatient("archive", late or Files(directory / "files"), required=False),
        )
        .batch(BatchLimits(max_events=60, max_wait=timedelta(0)))
        .restarts(Budget(failures=100))
    )


def make(directory: Path) -> None:
    """A pipeline that was drained while the files were away, with a dead letter and the document it ran by."""
    late = Watched(Files(directory / "files"))
    late.down.set()
    whole = pipeline(directory, EVENTS, late)
    whole.start(processor=lambda: LocalProcessor(orders))

    def is_done() -> bool:
        status = whole.status()
        (capture,) = status.captures
        newest = whole.engine.ground.outbox.newest()
        is_published = newest is not None and sum(newest.ends.values()) == EVENTS == capture.end
        return is_published and status.delivery.lanes["table"].cursor == status.delivery.newest

    wait_until(is_done, "the table has everything")
    whole.drain(within=0.5)
    root = directory / "pipeline"
    with SqliteStore(root / "checkpoints.db") as store:
        epoch = store.take_over()
    with DeadLetterLog.open(root / "dead", epoch=epoch) as dead:
        dead.put([of_sink(1, row(1)), of_sink(2, row(2))])


def sql(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for statement in statements:
            db.execute(statement)


def _store(change: Callable[[SqliteStore, int], object]) -> Callable[[Path], None]:
    def plant(root: Path) -> None:
        with SqliteStore(root / "checkpoints.db") as store:
            change(store, store.take_over())

    return plant


def _cursors(**changed: object) -> Callable[[Path], None]:
    def change(store: SqliteStore, epoch: int) -> None:
        stored = store.get_raw(CURSORS.name)
        assert stored is not None
        store.put_raw(CURSORS.name, json.dumps({**json.loads(stored.payload), **changed}).encode(), epoch=epoch)

    return _store(change)


def _sql(path: str, *statements: str) -> Callable[[Path], None]:
    return lambda root: sql(root / path, *statements)


def _spoil_version(which: str) -> Callable[[Path], None]:
    return _sql(
        "checkpoints.db",
        "UPDATE holdfast_versions SET payload = X'00' WHERE key = 'cursors' AND version = "
        f"(SELECT {which}(version) FROM holdfast_versions WHERE key = 'cursors')",
    )


def _older_format(root: Path) -> None:
    """The same keys in the tables of format 0."""
    with SqliteStore(root / "checkpoints.db") as store:
        keys = store.keys()
        kept = [(key, *_newest(store, key)) for key in keys]
    (root / "checkpoints.db").unlink()
    with closing(sqlite3.connect(root / "checkpoints.db", isolation_level=None)) as db:
        db.execute("CREATE TABLE checkpoints (key TEXT, version INTEGER, payload BLOB, created_at TEXT)")
        db.executemany("INSERT INTO checkpoints VALUES (?, ?, ?, '2026-01-01T00:00:00+00:00')", kept)


def _newest(store: SqliteStore, key: str) -> tuple[int, bytes]:
    stored = store.get_raw(key)
    assert stored is not None
    return stored.version.number, stored.payload


def _remove(path: str) -> Callable[[Path], None]:
    def plant(root: Path) -> None:
        place = root / path
        shutil.rmtree(place) if place.is_dir() else place.unlink()

    return plant


def _halve(path: str) -> Callable[[Path], None]:
    return lambda root: os.truncate(root / path, (root / path).stat().st_size // 2)


def first(root: Path, folder: str) -> Path:
    return min((root / folder).iterdir())


def _at_first(folder: str, change: Callable[[Path], object]) -> Callable[[Path], None]:
    def plant(root: Path) -> None:
        change(first(root, folder))

    return plant


def _flip(path: Path) -> None:
    path.write_bytes(flip(path.read_bytes()))


def _shorten(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 10)


def _append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"torn")


def _write(path: str, text: str = "torn") -> Callable[[Path], None]:
    def plant(root: Path) -> None:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)

    return plant


def _trim_unasked(root: Path) -> None:
    with closing(sqlite3.connect(root / "outbox" / "index.db", isolation_level=None)) as db:
        gone = db.execute("SELECT parts FROM batches WHERE oseq <= 2").fetchall()
        db.execute("UPDATE state SET trimmed = 2")
    for part in (part for (parts,) in gone for part in json.loads(parts)):
        (root / "outbox" / "parts" / part["file"]).unlink()


def _cut_short(root: Path) -> None:
    with closing(sqlite3.connect(root / "outbox" / "index.db")) as db:
        (ends,) = db.execute("SELECT ends FROM batches ORDER BY oseq DESC LIMIT 1").fetchone()
    _store(lambda store, epoch: store.put(GENERATION, Generation(2, json.loads(ends)), epoch=epoch))(root)


def _another_inbox(root: Path) -> None:
    shutil.rmtree(root / "inbox" / "orders")
    Inbox.open(root / "inbox" / "orders", name="orders", epoch=1).close()


def _newer_dead_letter(root: Path) -> None:
    from dataclasses import replace

    with SqliteStore(root / "checkpoints.db") as store:
        epoch = store.take_over()
    with DeadLetterLog.open(root / "dead", epoch=epoch) as dead:
        dead.put([replace(of_sink(9, row(9)), schema_version=99)])


def _stale_socket(root: Path) -> None:
    here = Path.cwd()
    os.chdir(root)
    try:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind("control.sock")
    finally:
        os.chdir(here)


def newest(root: Path, book: str) -> int:
    """The newest batch in a book of Spark."""
    return max(int(path.name) for path in (root / "spark" / "1" / book).iterdir() if path.name.isdigit())


def book(root: Path, folder: str, back: int = 0) -> Path:
    """The newest file of a book, or one of those before it."""
    return root / "spark" / "1" / folder / str(newest(root, folder) - back)


def _tear(folder: str, back: int = 0) -> Callable[[Path], None]:
    def plant(root: Path) -> None:
        path = book(root, folder, back)
        path.write_bytes(path.read_bytes()[:-4])

    return plant


def _lose(folder: str, *back: int) -> Callable[[Path], None]:
    def plant(root: Path) -> None:
        for path in [book(root, folder, each) for each in back]:
            path.unlink()
            path.with_name(f".{path.name}.crc").unlink(missing_ok=True)

    return plant


def _torn_and_not_finished(root: Path) -> None:
    _lose("commits", 0)(root)
    _tear("offsets")(root)


def _other_version(root: Path) -> None:
    path = book(root, "offsets")
    path.write_text(path.read_text().replace("v1", "v9", 1))


def _other_ends(root: Path) -> None:
    path = book(root, "offsets", 3)
    *head, ends = path.read_text().splitlines()
    path.write_text("\n".join([*head, json.dumps({uuid: seq + 1 for uuid, seq in json.loads(ends).items()})]))


def _torn_checksum(root: Path) -> None:
    path = book(root, "offsets")
    path.with_name(f".{path.name}.crc").write_bytes(b"cr")


def _older_outbox(root: Path) -> None:
    """As if the newest two batches had never been published."""
    with closing(sqlite3.connect(root / "outbox" / "index.db", isolation_level=None)) as db:
        gone = db.execute("SELECT parts FROM batches ORDER BY oseq DESC LIMIT 2").fetchall()
        db.execute("DELETE FROM batches WHERE oseq > (SELECT last_oseq - 2 FROM state)")
    for part in (part for (parts,) in gone for part in json.loads(parts)):
        (root / "outbox" / "parts" / part["file"]).unlink()


SEGMENTS, PARTS, DEAD = "inbox/orders/segments", "outbox/parts", "dead/segments"
INDEX = "inbox/orders/index.db"

DAMAGES = (
    Damage("store gone", _remove("checkpoints.db"), Code.STORE_MISSING),
    Damage("store torn", _halve("checkpoints.db"), Code.STORE_DAMAGED),
    Damage("store no database", _write("checkpoints.db", "no database " * 100), Code.STORE_DAMAGED),
    Damage(
        "store of something else",
        lambda root: (_remove("checkpoints.db")(root), sql(root / "checkpoints.db", "CREATE TABLE mine (a)"))[0],
        Code.STORE_FOREIGN,
    ),
    Damage("store of a newer format", _sql("checkpoints.db", "UPDATE holdfast_meta SET format = 99"), Code.STORE_NEWER),
    Damage("store of an older format", _older_format, Code.STORE_OLDER, is_repairable=True),
    Damage(
        "store is an older copy",
        _sql("checkpoints.db", "UPDATE holdfast_owners SET epoch = 0"),
        Code.STORE_EPOCH_BEHIND,
    ),
    Damage("newest cursors damaged", _spoil_version("max"), Code.VERSION_DAMAGED, is_repairable=True),
    Damage("older cursors damaged", _spoil_version("min"), Code.VERSION_OLDER_DAMAGED, is_repairable=True),
    Damage(
        "cursors that are none",
        _store(lambda store, epoch: store.put_raw(CURSORS.name, b"not cursors", epoch=epoch)),
        Code.CURSORS_UNREADABLE,
        is_repairable=True,
    ),
    Damage(
        "cursors that contradict themselves",
        _cursors(delivered={"table": 1, "archive": 0}, committed=3),
        Code.CURSORS_IMPOSSIBLE,
        is_repairable=True,
    ),
    Damage(
        "history that is none",
        _store(lambda store, epoch: store.put_raw("history", b"[]", epoch=epoch)),
        Code.RECORD_UNREADABLE,
        is_repairable=True,
    ),
    Damage(
        "rollbacks that are none",
        _store(lambda store, epoch: store.put_raw("rollbacks", b"[]", epoch=epoch)),
        Code.RECORD_UNREADABLE,
    ),
    Damage(
        "generation that is none",
        _store(lambda store, epoch: store.put_raw("generation", b"[]", epoch=epoch)),
        Code.RECORD_UNREADABLE,
    ),
    Damage(
        "cursor ahead of the outbox",
        _cursors(delivered={"table": 1000, "archive": 0}, committed=0),
        Code.CURSOR_AHEAD,
        is_noticed=False,
    ),
    Damage("cursor behind the outbox", _trim_unasked, Code.CURSOR_BEHIND),
    Damage("inbox gone", _remove("inbox/orders"), Code.LOG_GONE),
    Damage("outbox gone", _remove("outbox"), Code.LOG_GONE),
    Damage("dead letters gone", _remove("dead"), Code.LOG_GONE),
    Damage("another inbox in its place", _another_inbox, Code.LOG_REPLACED),
    Damage(
        "an inbox of nobody",
        lambda root: shutil.copytree(root / "inbox" / "orders", root / "inbox" / "strange") and None,
        Code.LOG_UNKNOWN,
    ),
    Damage("index gone", _remove(INDEX), Code.INDEX_MISSING),
    Damage("index torn", _halve(INDEX), Code.INDEX_DAMAGED),
    Damage(
        "index of another log",
        lambda root: shutil.copyfile(root / "dead" / "index.db", root / "outbox" / "index.db") and None,
        Code.INDEX_FOREIGN,
    ),
    Damage("index of a newer format", _sql(INDEX, "UPDATE log SET format = 9"), Code.INDEX_NEWER),
    Damage("index is an older copy", _sql(INDEX, "UPDATE log SET epoch = 0"), Code.INDEX_OLDER_COPY),
    Damage("segment gone", _at_first(SEGMENTS, Path.unlink), Code.DATA_MISSING),
    Damage("segment torn", _at_first(SEGMENTS, _shorten), Code.DATA_SHORT),
    Damage("segment with other bytes", _at_first(SEGMENTS, _flip), Code.DATA_DAMAGED),
    Damage(
        "hole in an index",
        _sql(INDEX, "DELETE FROM chunks WHERE first_seq = (SELECT max(first_seq) FROM chunks)"),
        Code.DATA_HOLE,
    ),
    Damage(
        "segment that nobody names", _write(f"{SEGMENTS}/seg-00000001-000099"), Code.DATA_UNNAMED, is_repairable=True
    ),
    Damage("segment with a torn tail", _at_first(SEGMENTS, _append), Code.DATA_TAIL, is_repairable=True),
    Damage("a file of somebody else", _write(f"{SEGMENTS}/notes.txt"), Code.NOT_OURS),
    Damage("part gone", _at_first(PARTS, Path.unlink), Code.DATA_MISSING),
    Damage("part torn", _at_first(PARTS, _shorten), Code.DATA_SHORT),
    Damage("part with other bytes", _at_first(PARTS, _flip), Code.DATA_DAMAGED),
    Damage(
        "part that nobody published", _write(f"{PARTS}/part-1-1-9-0-0.arrow"), Code.DATA_UNNAMED, is_repairable=True
    ),
    Damage("dead letters with other bytes", _at_first(DEAD, _flip), Code.DATA_DAMAGED),
    Damage("dead letters of a newer format", _newer_dead_letter, Code.ENTRY_UNREADABLE),
    Damage(
        "change of generation cut short",
        _cut_short,
        Code.GENERATION_UNFINISHED,
    ),
    Damage(
        "outbox of a newer generation",
        lambda root: (
            _store(lambda store, epoch: store.put(GENERATION, Generation(1), epoch=epoch))(root),
            sql(root / "outbox" / "index.db", "UPDATE state SET generation = 2"),
        )[0],
        Code.GENERATION_BEHIND,
    ),
    Damage("Spark's checkpoint gone", _remove("spark"), Code.SPARK_MISSING, is_repairable=True),
    Damage("Spark's metadata gone", _remove("spark/1/metadata"), Code.SPARK_MISSING, is_repairable=True),
    Damage("Spark's metadata torn", _halve("spark/1/metadata"), Code.SPARK_METADATA_TORN, is_repairable=True),
    Damage("Spark's metadata of another", _write("spark/1/metadata", '{"id": "other"}'), Code.SPARK_QUERY_FOREIGN),
    Damage("newest offset torn", _tear("offsets"), Code.SPARK_OFFSET_TORN, is_repairable=True),
    Damage("offset torn, not finished", _torn_and_not_finished, Code.SPARK_OFFSET_TORN, is_repairable=True),
    Damage("offset torn, one before", _tear("offsets", 1), Code.SPARK_OFFSET_TORN, is_repairable=True),
    Damage(
        "older offset torn",
        _tear("offsets", 4),
        Code.SPARK_OFFSET_TORN,
        is_repairable=True,
        remains=(Code.SPARK_OFFSET_HOLE,),
    ),
    Damage("hole in the offsets that matters", _lose("offsets", 1), Code.SPARK_OFFSET_HOLE, is_repairable=True),
    Damage("hole in the offsets that does not", _lose("offsets", 4), Code.SPARK_OFFSET_HOLE),
    Damage("newest commit torn", _tear("commits"), Code.SPARK_COMMIT_TORN, is_repairable=True),
    Damage("older commit torn", _tear("commits", 3), Code.SPARK_COMMIT_TORN),
    Damage("hole in the commits that matters", _lose("commits", 0, 1), Code.SPARK_COMMIT_HOLE, is_repairable=True),
    Damage("hole in the commits that does not", _lose("commits", 3), Code.SPARK_COMMIT_HOLE),
    Damage("commit without offset", _lose("offsets", 0), Code.SPARK_COMMIT_ALONE, is_repairable=True),
    Damage("offset of an unknown version", _other_version, Code.SPARK_VERSION_UNKNOWN, is_noticed=False),
    Damage("checksum of an offset torn", _torn_checksum, Code.SPARK_CHECKSUM_WRONG, is_repairable=True),
    Damage("offsets of another run", _other_ends, Code.SPARK_ENDS_DIFFER),
    Damage("outbox is an older copy", _older_outbox, Code.SPARK_AHEAD_OF_OUTBOX),
    Damage(
        "inbox is an older copy",
        _sql(INDEX, "UPDATE state SET end_seq = 100, last_seq = 100"),
        Code.SPARK_AHEAD_OF_INBOX,
    ),
    Damage("Spark's temporary file", _write("spark/1/offsets/.9.0a1b.tmp"), Code.SPARK_LEFTOVER, is_repairable=True),
    Damage("checksum of nothing", _write("spark/1/commits/.77.crc"), Code.SPARK_LEFTOVER, is_repairable=True),
    Damage("owner's file torn", _write("owner.lock", '{"pid": 1'), Code.OWNER_UNREADABLE, is_repairable=True),
    Damage("stale socket", _stale_socket, Code.SOCKET_STALE, is_repairable=True),
    Damage("draft of the document", _write(".document.yaml.draft"), Code.DOCUMENT_DRAFT, is_repairable=True),
    Damage("kept document torn", _write("document.yaml", "spec: {"), Code.DOCUMENT_UNREADABLE, is_repairable=True),
)
"""Every kind that a pipeline without a JVM can have."""

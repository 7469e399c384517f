"""Readers of what lies on disk between two runs and may be damaged or come from elsewhere, and of local sockets."""

from __future__ import annotations

import functools
import json
import os
import socket
import tempfile
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow as pa

from holdfast.checkpoint import SqliteStore
from holdfast.checkpoint.commitlog import document as commits
from holdfast.checkpoint.commitlog.legacy import read_legacy
from holdfast.checkpoint.commitlog.model import Document as CommitDocument
from holdfast.checkpoint.contract import Commit, Put, TypedKey, value_of
from holdfast.checkpoint.difference import difference
from holdfast.checkpoint.envelope import Encoding, Sealed, seal, unseal
from holdfast.checkpoint.operators import history as operator_history
from holdfast.checkpoint.operators.dedup import InputCut, SparseEntry
from holdfast.checkpoint.operators.framing import SnapshotCodec
from holdfast.checkpoint.operators.snapshot import Cut, OperatorSnapshot
from holdfast.checkpoint.replication import replica
from holdfast.control.doctor.spark_files import spark_facts
from holdfast.control.socket import receive
from holdfast.control.transfer import export_of
from holdfast.ledger.cursors import Cursors, CursorsCodec
from holdfast.log import Inbox, InboxReader
from holdfast.log.cutting import position_of_text
from holdfast.log.dead_entry import packed, unpacked
from holdfast.log.parts import read_part, write_part
from holdfast.log.values import PartRef
from holdfast.model.positions import Lsn, to_json
from holdfast.runtime.checkpoints.opening import kind_of
from holdfast.runtime.owner import recorded
from holdfast.runtime.records import GENERATION, HISTORY, LOGS, Generation, Logs
from holdfast.runtime.restarts import History, HistoryCodec
from holdfast.runtime.rollback import points
from holdfast.runtime.rollback.records import History as Rollbacks
from holdfast.runtime.rollback.records import HistoryCodec as RollbacksCodec
from holdfast.runtime.spark_checkpoint import SparkCheckpoint
from holdfast.runtime.workers import nursery
from meridian.fusion import foreseen, saved
from meridian.fusion.estimates import COLUMNS
from meridian.fusion.evidence import Evidence
from meridian.fusion.state import Seen
from meridian.fusion.watermarks import Heard
from meridian.sensors.consumers import Consumer, declared, last_word
from meridian.sensors.watched import Watched
from tests.fuzz.reader import Reader, of_text
from tests.support.log_events import SOURCE, events

T = TypeVar("T")


def _stored(key: TypedKey[T]) -> Callable[[bytes], object]:
    return lambda data: value_of(key, data)


def _as_file(name: str, read: Callable[[Path], object], **others: bytes) -> Callable[[bytes], object]:
    """A reader of a directory in which the bytes lie in a file of this name, beside others."""

    def in_directory(data: bytes) -> None:
        with tempfile.TemporaryDirectory() as place:
            for path, content in {**others, name: data}.items():
                (Path(place) / path).parent.mkdir(parents=True, exist_ok=True)
                (Path(place) / path).write_bytes(content)
            read(Path(place))

    return in_directory


def _message(data: bytes) -> None:
    """What the other end of the control socket sends, up to its end."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2**20)
        theirs.sendall(data)
        theirs.shutdown(socket.SHUT_WR)
        receive(ours)


def _wanted(data: bytes) -> None:
    """What a stand-in for a worker asks for; its descriptors are closed whatever it says."""
    ours, theirs = socket.socketpair()
    with ours, theirs, Path(os.devnull).open() as null:
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2**20)
        socket.send_fds(theirs, [len(data).to_bytes(4, "big")], [null.fileno()] * 3)
        theirs.sendall(data)
        theirs.shutdown(socket.SHUT_WR)
        found = nursery._heard(ours)
    for stream in found.streams if found else ():
        os.close(stream)


def _spark(directory: Path) -> None:
    checkpoint = SparkCheckpoint(directory)
    checkpoint.query_id()
    checkpoint._ends(0)


@functools.cache
def _inbox() -> dict[str, bytes]:
    """The files of an inbox with two chunks."""
    with tempfile.TemporaryDirectory() as place:
        with Inbox.open(Path(place), name=SOURCE, epoch=1) as inbox:
            inbox.push(events(3)).result()
            inbox.push(events(3, start=4, ends={6})).result()
        return {str(path.relative_to(place)): path.read_bytes() for path in Path(place).rglob("*") if path.is_file()}


def _read_inbox(directory: Path) -> None:
    with InboxReader.open(directory) as reader:
        assert sum(batch.num_rows for batch in reader.read(0)) <= 6


def _inbox_reader(part: str) -> Reader:
    (name,) = [name for name in _inbox() if name.startswith(part) and not name.endswith(("-wal", "-shm"))]
    of = ("holdfast.log.segment",) if part == "segments" else ("holdfast.log.inbox_index",)
    return Reader(_as_file(name, _read_inbox, **_inbox()), (_inbox()[name],), of)


@functools.cache
def _store() -> bytes:
    with tempfile.TemporaryDirectory() as place:
        with closing(SqliteStore(Path(place) / "store.db")) as store:
            store.commit(Commit(store.take_over(), [Put("a", b"1" * 5000), Put("b", b"2")]))
        return (Path(place) / "store.db").read_bytes()


def _read_store(directory: Path) -> None:
    with closing(SqliteStore(directory / "store.db")) as store:
        for key in store.keys():  # noqa: SIM118 - a store is no mapping
            store.get_raw(key)


_SEALED = seal(b"payload" * 1000)


def _unseal(data: bytes) -> None:
    assert len(unseal(Sealed(data, Encoding.ZSTD, _SEALED.size, _SEALED.checksum), where="here")) == _SEALED.size


_ROWS = pa.table({"a": [1, None], "b": ["x", "y"]})


def _read_part(directory: Path) -> None:
    assert read_part(directory, _part()[0]).equals(_ROWS)


@functools.cache
def _part() -> tuple[PartRef, bytes]:
    with tempfile.TemporaryDirectory() as place:
        part = write_part(Path(place), "part", _ROWS.to_batches(), _ROWS.schema)
        return part, (Path(place) / "part").read_bytes()


@functools.cache
def _screened() -> bytes:
    with tempfile.TemporaryDirectory() as place:
        foreseen._write(Path(place) / "hour.npz", np.arange(3), np.arange(3), np.arange(3))
        return (Path(place) / "hour.npz").read_bytes()


_FUSION = Consumer("obs.radar", "fusion")


def _read_consumers(directory: Path) -> None:
    last_word(directory, _FUSION)
    declared(directory, "obs.radar")


_SNAPSHOT = OperatorSnapshot(
    Cut("op", 3, {"in": InputCut(5, "x", 0, (SparseEntry(7, 0, "y"),))}, 9), (memoryview(b"ab"), memoryview(b""))
)
_COMMIT = CommitDocument(
    number=7, epoch=1, created_at=datetime(2026, 1, 1, tzinfo=UTC), nonce="n", chains={}, doubt=None, reigns=(),
    payloads={"a": b"payload"},
)  # fmt: skip
_CURSORS = Cursors(
    delivered={"lane": 4}, committed=3, positions={"a": Lsn(7)}, joining={}, gaps={}, rollbacks=0, stop=None
)
_COMPLETE = operator_history.History((operator_history.Completion(3, {"op": operator_history.Part(1, 2, 3)}),))
_EXPORTED = b'{"format": 1, "key": "a", "payload": "cGF5bG9hZA==", "crc32c": 4108544368}\n'
_BATCH = {
    **dict.fromkeys(("oseq", "generation", "batch_id", "rows"), 1),
    "query_id": "q",
    "fingerprint": "f",
    "starts": {"a": 1},
    "ends": {"a": 2},
    "positions": {"a": to_json(Lsn(7))},
    "hash_sum": "7",
    "published_at": "2026-01-01T00:00:00+00:00",
}
_POINT = json.dumps({"format": 1, "batch": _BATCH, "initial": {}}).encode()
_OFFSETS = b'v1\n{"batchWatermarkMs":0}\n{"a":7}'
_SPARK = {"metadata": b'{"id":"q"}', "offsets/0": _OFFSETS, "commits/0": b'v1\n{"nextBatchWatermarkMs":0}'}
_FACTS = ("holdfast.control.doctor.spark_files",)

STORED: dict[str, Reader] = {
    "stored position": Reader(
        of_text(position_of_text), (json.dumps(to_json(Lsn(7))).encode(),), ("holdfast.log.cutting",)
    ),
    "inbox index": _inbox_reader("index"),
    "inbox segment": _inbox_reader("segments"),
    "outbox part": Reader(_as_file("part", _read_part), (_part()[1],), ("holdfast.log.parts",)),
    "dead letter": Reader(unpacked, (packed(_ROWS),), ("holdfast.log.dead_entry",), ()),
    "checkpoint database": Reader(
        _as_file("store.db", _read_store), (_store(),), ("holdfast.checkpoint.sql.rows", "holdfast.checkpoint.envelope")
    ),
    "sealed payload": Reader(_unseal, (_SEALED.data,), ("holdfast.checkpoint.envelope",)),
    "commit document": Reader(
        lambda data: commits.decode(data, number=7, where="here"),
        (commits.encode(_COMMIT),),
        ("holdfast.checkpoint.commitlog.document",),
    ),
    "commit marker": Reader(
        lambda data: commits.check_marker(data, where="here"),
        (commits.encode_marker(),),
        ("holdfast.checkpoint.commitlog.document",),
    ),
    "checkpoints of format 0": Reader(
        lambda data: read_legacy(data, where="here"), (b'{"a": {"b": [1]}}',), ("holdfast.checkpoint.commitlog.legacy",)
    ),
    "checkpoints compared": Reader(
        lambda data: difference(*data.partition(b"\n")[::2]),
        (b'{"a": 1}\n{"b": 2}',),
        ("holdfast.checkpoint.difference",),
        (),
    ),
    "kind of the checkpoint store": Reader(
        lambda data: kind_of(data, Path("checkpoint.json")),
        (b'{"format": 1, "store": "file"}',),
        ("holdfast.runtime.checkpoints.opening",),
    ),
    "exported checkpoints": Reader(
        lambda data: export_of(data, "export.jsonl"), (_EXPORTED * 2,), ("holdfast.control.transfer",)
    ),
    "operator snapshot": Reader(
        SnapshotCodec().decode, (SnapshotCodec().encode(_SNAPSHOT),), ("holdfast.checkpoint.operators.framing",)
    ),
    "operator history": Reader(
        _stored(TypedKey("complete", operator_history.HistoryCodec())),
        (operator_history.HistoryCodec().encode(_COMPLETE),),
        ("holdfast.checkpoint.operators.history",),
    ),
    "replica manifest": Reader(
        replica.decode,
        (b'{"format":1,"epoch":1,"cut":2,"entries":{"a":[1,2,3]}}',),
        ("holdfast.checkpoint.replication.replica",),
    ),
    "stored cursors": Reader(
        _stored(TypedKey("cursors", CursorsCodec())), (CursorsCodec().encode(_CURSORS),), ("holdfast.ledger.cursors",)
    ),
    "stored logs": Reader(_stored(LOGS), (LOGS.codec.encode(Logs({"a": "b"}, "c")),), ("holdfast.runtime.records",)),
    "stored generation": Reader(
        _stored(GENERATION), (GENERATION.codec.encode(Generation(1, {"a": 2})),), ("holdfast.runtime.records",)
    ),
    "stored runs": Reader(_stored(HISTORY), (HistoryCodec().encode(History()),), ("holdfast.runtime.restarts",)),
    "stored rollbacks": Reader(
        _stored(TypedKey("rollbacks", RollbacksCodec())),
        (RollbacksCodec().encode(Rollbacks()),),
        ("holdfast.runtime.rollback.records",),
    ),
    "rollback point": Reader(_as_file("point.json", points._read), (_POINT,), ("holdfast.runtime.rollback.points",)),
    "lock file": Reader(
        _as_file("owner.lock", lambda place: recorded(place / "owner.lock")),
        (b'{"pid": 7, "started": "1", "helpers": [[8, "2"]]}',),
        ("holdfast.runtime.owner",),
        (),
    ),
    "spark metadata": Reader(
        _as_file("metadata", _spark, **_SPARK), (_SPARK["metadata"],), ("holdfast.runtime.spark_checkpoint",)
    ),
    "spark offsets": Reader(
        _as_file("offsets/0", _spark, **_SPARK), (_OFFSETS,), ("holdfast.runtime.spark_checkpoint",)
    ),
    "spark metadata examined": Reader(_as_file("metadata", spark_facts, **_SPARK), (_SPARK["metadata"],), _FACTS, ()),
    "spark offsets examined": Reader(_as_file("offsets/0", spark_facts, **_SPARK), (_OFFSETS,), _FACTS, ()),
    "spark commits examined": Reader(_as_file("commits/0", spark_facts, **_SPARK), (_SPARK["commits/0"],), _FACTS, ()),
    "spark checksums examined": Reader(
        _as_file("offsets/.0.crc", spark_facts, **_SPARK), (b"crc\x00\x00\x00\x02\x00\x00\x00\x00\x01",), _FACTS, ()
    ),
    "control message": Reader(
        _message, (b'{"version": 1, "ask": "status", "with": {}}\n',), ("holdfast.control.socket",)
    ),
    "worker wanted": Reader(
        _wanted,
        (b'{"arguments": ["a", "b"], "environment": {"A": "b"}, "directory": "/"}',),
        ("holdfast.runtime.workers.nursery",),
        (),
    ),
    "watched objects": Reader(
        _as_file("watched.json", lambda place: Watched(place).objects()),
        (b'{"objects": ["25544"]}',),
        ("meridian.sensors.watched",),
        (),
    ),
    "consumers of a log": Reader(
        _as_file(f"consumers/{_FUSION.file}", _read_consumers),
        (b'{"seq": 7, "left_out": 1}',),
        ("meridian.sensors.consumers",),
    ),
    "correlator state": Reader(
        saved.unpacked,
        (saved.packed(Seen(Evidence.nothing(COLUMNS), {"radar": Heard(7)}, {})),),
        ("meridian.fusion.saved",),
    ),
    "screened hour": Reader(
        _as_file("hour.npz", lambda place: foreseen._read(place / "hour.npz")),
        (_screened(),),
        ("meridian.fusion.foreseen",),
        (),
    ),
}

"""Reads what there is of a log, without touching it: its index from a copy, and every byte that the index names."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from holdfast.control.doctor.findings import Code
from holdfast.control.doctor.sqlite_files import copied, damage, opened
from holdfast.log import dead_index, dead_queries, inbox_index, outbox_index
from holdfast.log.dead_versions import entry_of, is_outdated
from holdfast.log.disk import sizes
from holdfast.log.opening import FILE, FORMAT, Layout
from holdfast.log.parts import epoch_of_part
from holdfast.log.segment import decode, epoch_of, read_place
from holdfast.model.errors import HoldfastError, LogError
from holdfast.runtime.agreement import OutboxBatch

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes that the index names, and which events, batches or entries they hold."""

    file: str
    offset: int
    length: int
    crc32c: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Spoiled:
    """Bytes that are not what was written."""

    piece: Piece
    why: str


@dataclass(frozen=True, slots=True)
class LogFacts:
    """A log as it lies on disk."""

    about: str
    """Which one it is, for people."""
    directory: Path
    data: Path
    fault: tuple[Code, str] | None = None
    """Why its index cannot be used; then nothing else is known."""
    uuid: str = ""
    epoch: int = 0
    first: int = 1
    """The first event, batch or entry that is kept."""
    end: int = 0
    named: Mapping[str, int] = field(default_factory=dict)
    """The files in use according to the index, and up to where."""
    found: Mapping[str, int] = field(default_factory=dict)
    """The files that are there, with their sizes."""
    epochs: Mapping[str, int | None] = field(default_factory=dict)
    """Which owner wrote each; None for a file that no log of ours writes."""
    spoiled: tuple[Spoiled, ...] = ()
    holes: tuple[tuple[int, int], ...] = ()
    """Numbers between which the index names nothing."""


@dataclass(frozen=True, slots=True)
class OutboxFacts:
    """The outbox, and the batches of its present generation that it remembers."""

    log: LogFacts
    generation: int = 1
    batches: tuple[OutboxBatch, ...] = ()


@dataclass(frozen=True, slots=True)
class DeadFacts:
    """The dead letters, and of which formats they are."""

    log: LogFacts
    older: int = 0
    unreadable: tuple[HoldfastError, ...] = ()


@dataclass(frozen=True, slots=True)
class _Content:
    """What an index says."""

    named: Mapping[str, int]
    first: int
    end: int
    pieces: list[Piece]
    holes: tuple[tuple[int, int], ...] = ()


def inbox_facts(directory: Path, source: str) -> LogFacts:
    """What there is of an inbox."""
    empty = LogFacts(f"the inbox of {source!r}", directory, directory / inbox_index.LAYOUT.data)
    return _read(empty, inbox_index.LAYOUT, source, epoch_of, _of_inbox)


def outbox_facts(directory: Path) -> OutboxFacts:
    """What there is of an outbox."""
    seen: list[tuple[int, list[OutboxBatch]]] = []

    def look(db: sqlite3.Connection) -> _Content:
        state = outbox_index.read_state(db)
        remembered = outbox_index.select(db, "generation = ? AND batch_id >= 0", state.generation)
        seen.append((state.generation, [OutboxBatch(b.batch_id, b.query_id, b.ends) for b in remembered]))
        kept = outbox_index.select(db, "oseq > ?", state.trimmed)
        pieces = [Piece(p.file, 0, p.length, p.crc32c, b.oseq, b.oseq) for b in kept for p in b.parts]
        named = outbox_index.named_parts(db, state.trimmed, state.last_oseq)
        return _Content(named, state.trimmed + 1, state.last_oseq, pieces)

    empty = LogFacts("the outbox", directory, directory / outbox_index.LAYOUT.data)
    log = _read(empty, outbox_index.LAYOUT, "outbox", epoch_of_part, look)
    if not seen:
        return OutboxFacts(log)
    generation, batches = seen[0]
    return OutboxFacts(log, generation, tuple(batches))


def dead_facts(directory: Path) -> DeadFacts:
    """What there is of the dead letters."""
    pieces: list[Piece] = []

    def look(db: sqlite3.Connection) -> _Content:
        chunks = dead_queries.chunks_after(db, 0, limit=-1)
        pieces.extend(
            Piece(c.place.file, c.place.offset, c.place.length, c.place.crc32c, c.first, c.last) for c in chunks
        )
        return _Content(dead_index.segment_lengths(db), 1, dead_queries.last_number(db), pieces)

    empty = LogFacts("the dead letters", directory, directory / dead_index.LAYOUT.data)
    log = _read(empty, dead_index.LAYOUT, "dead letters", epoch_of, look)
    spoiled = {each.piece for each in log.spoiled}
    whole = [piece for piece in pieces if piece not in spoiled and log.fault is None]
    older, unreadable = 0, []
    for row in (row for piece in whole for row in decode(_bytes(log.data, piece)).to_pylist()):
        older += is_outdated(row)
        try:
            entry_of(row)
        except HoldfastError as error:
            unreadable.append(error)
    return DeadFacts(log, older, tuple(unreadable))


def _of_inbox(db: sqlite3.Connection) -> _Content:
    state = inbox_index.read_state(db)
    chunks = list(inbox_index.chunks_between(db, state.trimmed, state.last_seq))
    pieces = [Piece(c.file.rpartition("/")[2], c.offset, c.length, c.crc32c, c.first_seq, c.last_seq) for c in chunks]
    return _Content(
        inbox_index.segment_lengths(db),
        state.trimmed + 1,
        state.end,
        pieces,
        tuple(_holes(pieces, state.trimmed, state.last_seq)),
    )


def _holes(pieces: list[Piece], trimmed: int, last: int) -> Iterator[tuple[int, int]]:
    """What lies between chunks that should follow each other."""
    through = trimmed
    for piece in pieces:
        if piece.first > through + 1:
            yield through + 1, piece.first - 1
        through = max(through, piece.last)
    if through < last:
        yield through + 1, last


def _read(
    empty: LogFacts,
    layout: Layout,
    name: str,
    epoch: Callable[[str], int | None],
    look: Callable[[sqlite3.Connection], _Content],
) -> LogFacts:
    path = empty.directory / FILE
    if not path.is_file() or path.stat().st_size == 0:
        return replace(empty, fault=(Code.INDEX_MISSING, "it is gone"))
    with copied(path) as copy, opened(copy) as db:
        try:
            broken = damage(db)
            if broken is not None:
                return replace(empty, fault=(Code.INDEX_DAMAGED, broken))
            identity = _identity(db)
            fault = _misfit(identity, layout, name)
            if identity is None or fault is not None:
                return replace(empty, fault=fault)
            content = look(db)
        except (sqlite3.DatabaseError, ValueError, KeyError, TypeError) as error:
            return replace(empty, fault=(Code.INDEX_DAMAGED, f"{type(error).__name__}: {error}"))
    found = sizes(empty.data)
    facts = replace(
        empty,
        uuid=identity[3],
        epoch=identity[4],
        first=content.first,
        end=content.end,
        named=content.named,
        found=found,
        epochs={file: epoch(file) for file in found},
        holes=content.holes,
    )
    return replace(facts, spoiled=tuple(_spoiled(facts, content.pieces)))


def _identity(db: sqlite3.Connection) -> tuple[int, str, str, str, int] | None:
    try:
        row = db.execute("SELECT format, kind, name, uuid, epoch FROM log").fetchone()
    except sqlite3.OperationalError:
        return None
    return None if row is None else (row[0], row[1], row[2], row[3], row[4])


def _misfit(identity: tuple[int, str, str, str, int] | None, layout: Layout, name: str) -> tuple[Code, str] | None:
    if identity is None:
        return Code.INDEX_FOREIGN, "its tables are not ours"
    if identity[0] > FORMAT:
        return Code.INDEX_NEWER, f"it has format {identity[0]}, and this version reads {FORMAT}"
    if identity[1:3] != (layout.kind, name):
        return Code.INDEX_FOREIGN, f"it is of the kind {identity[1]!r} and the name {identity[2]!r}"
    return None


def _spoiled(facts: LogFacts, pieces: list[Piece]) -> Iterator[Spoiled]:
    """What does not match its checksum, in the files that are there and long enough."""
    for piece in pieces:
        if facts.found.get(piece.file, 0) >= piece.offset + piece.length:
            try:
                _bytes(facts.data, piece)
            except LogError as error:
                yield Spoiled(piece, error.what)


def _bytes(data: Path, piece: Piece) -> pa.Buffer:
    return read_place(data / piece.file, piece.offset, piece.length, piece.crc32c)

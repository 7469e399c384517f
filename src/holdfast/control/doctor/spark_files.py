"""Reads Spark's checkpoint directory as it lies on disk, without touching it."""

from __future__ import annotations

import json
import re
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

OFFSETS, COMMITS, METADATA = "offsets", "commits", "metadata"
_OFFSET_VERSIONS = frozenset({"v1"})
_COMMIT_VERSIONS = frozenset({"v1", "v2"})
_VERSION = re.compile(r"v\d+")
_MAGIC = b"crc\x00"

StateIds = Mapping[str, tuple[tuple[str, ...], ...]]
"""The names of the state that a commit belongs to, by operator, partition and store."""


class Fault(Enum):
    """Why a file cannot be used."""

    TORN = "torn"
    VERSION = "of an unknown version"


@dataclass(frozen=True, slots=True)
class Book:
    """One file of `offsets` or `commits`."""

    fault: Fault | None = None
    why: str = ""
    ends: Mapping[str, int] = field(default_factory=dict)
    """Of an offset: where the batch ends."""
    state: StateIds = field(default_factory=dict)
    """Of a commit: the state it belongs to."""


@dataclass(frozen=True, slots=True)
class SparkFacts:
    """The checkpoint directory of one generation."""

    directory: Path
    exists: bool = False
    """Whether it holds anything of Spark."""
    query_id: str | None = None
    metadata_fault: str | None = None
    offsets: Mapping[int, Book] = field(default_factory=dict)
    commits: Mapping[int, Book] = field(default_factory=dict)
    state: frozenset[str] = frozenset()
    """The files below `state`, by their path there."""
    torn_checksums: tuple[Path, ...] = ()
    """Files of checksums that cannot be read; Spark refuses what they belong to."""
    leftovers: tuple[Path, ...] = ()

    def path(self, book: str, number: int) -> Path:
        """Where the file of a batch lies."""
        return self.directory / book / str(number)


def spark_facts(directory: Path) -> SparkFacts:
    """What there is of a checkpoint directory."""
    if not directory.is_dir():
        return SparkFacts(directory)
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    query_id, fault = _metadata(directory / METADATA)
    state = directory / "state"
    return SparkFacts(
        directory,
        exists=bool(files),
        query_id=query_id,
        metadata_fault=fault,
        offsets=_books(directory / OFFSETS, _OFFSET_VERSIONS, _offset),
        commits=_books(directory / COMMITS, _COMMIT_VERSIONS, _commit),
        state=frozenset(str(path.relative_to(state)) for path in files if path.is_relative_to(state)),
        torn_checksums=tuple(path for path in files if path.parent.name in (OFFSETS, COMMITS) and _is_torn(path)),
        leftovers=tuple(path for path in files if _is_left_over(path)),
    )


def checksum_of(path: Path) -> Path:
    """Where the checksum of a file lies."""
    return path.with_name(f".{path.name}.crc")


def _metadata(path: Path) -> tuple[str | None, str | None]:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None, None
    try:
        _verify(path, data)
        return str(json.loads(data)["id"]), None
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        return None, f"{type(error).__name__}: {error}"


def _books(folder: Path, versions: frozenset[str], parse: Callable[[list[str]], Book]) -> dict[int, Book]:
    paths = [path for path in folder.iterdir() if path.name.isdigit()] if folder.is_dir() else []
    return {int(path.name): _book(path, versions, parse) for path in sorted(paths, key=lambda path: int(path.name))}


def _book(path: Path, versions: frozenset[str], parse: Callable[[list[str]], Book]) -> Book:
    data = path.read_bytes()
    try:
        lines = data.decode().splitlines()
        if lines and _VERSION.fullmatch(lines[0]) and lines[0] not in versions:
            return Book(Fault.VERSION, f"it is of version {lines[0]}, and {', '.join(sorted(versions))} is known")
        _verify(path, data)
        return parse(lines)
    except (ValueError, LookupError, AttributeError, TypeError, OverflowError, RecursionError) as error:
        return Book(Fault.TORN, f"{type(error).__name__}: {error}")


def _offset(lines: list[str]) -> Book:
    json.loads(lines[1])
    return Book(ends={str(uuid): int(seq) for uuid, seq in json.loads(lines[2]).items()})


def _commit(lines: list[str]) -> Book:
    ids = json.loads(lines[1]).get("stateUniqueIds") or {}
    return Book(state={operator: tuple(tuple(stores) for stores in partitions) for operator, partitions in ids.items()})


def _verify(path: Path, data: bytes) -> None:
    """`ValueError` when the bytes do not match the checksum beside them; one that is torn itself says nothing."""
    written = _checksums(checksum_of(path))
    if written is None:
        return
    size, sums = written
    if [zlib.crc32(data[start : start + size]) for start in range(0, len(data), size)] != sums:
        message = "it does not match the checksum beside it"
        raise ValueError(message)


def _checksums(path: Path) -> tuple[int, list[int]] | None:
    """What a file of checksums says; None when it is not there or torn."""
    if not path.is_file():
        return None
    data = path.read_bytes()
    if len(data) < 8 or data[:4] != _MAGIC or len(data) % 4:
        return None
    size, *sums = struct.unpack(f">{len(data) // 4 - 1}I", data[4:])
    return (size, sums) if size else None


def _is_torn(path: Path) -> bool:
    """Whether it is a file of checksums that cannot be read, beside a file that is there."""
    return path.suffix == ".crc" and path.with_name(path.name[1:-4]).is_file() and _checksums(path) is None


def _is_left_over(path: Path) -> bool:
    """Whether it was being written when its process ended, or belongs to what is gone."""
    if not path.name.startswith("."):
        return False
    return ".tmp" in path.name or (path.suffix == ".crc" and not path.with_name(path.name[1:-4]).exists())


def state_missing(facts: SparkFacts, batch: int) -> Iterator[str]:
    """The files of state that are needed to go on behind a batch and are not there.

    The state after a batch is a snapshot, or the changes of that batch upon the state before it.
    """
    names = {name.rpartition("/")[2]: name for name in facts.state}
    commit = facts.commits.get(batch)
    partitions = [
        (operator, number, stores)
        for operator, held in (commit.state if commit else {}).items()
        for number, stores in enumerate(held)
    ]
    for operator, number, stores in partitions:
        for store, _ in enumerate(stores):
            yield from _chain(facts, names, batch, (operator, number, store))


def _chain(facts: SparkFacts, names: Mapping[str, str], batch: int, place: tuple[str, int, int]) -> Iterator[str]:
    operator, number, store = place
    for at in range(batch, -1, -1):
        commit = facts.commits.get(at)
        if commit is None or commit.fault is not None or operator not in commit.state:
            return
        name = f"{at + 1}_{commit.state[operator][number][store]}"
        if f"{name}.zip" in names:
            return
        if not {f"{name}.changelog", f"{name}.delta", f"{name}.snapshot"} & names.keys():
            yield f"state/{operator}/{number}/{name}.changelog"
            return

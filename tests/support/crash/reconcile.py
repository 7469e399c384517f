"""Looks at the sinks from outside and says whether anything is missing, doubled or out of order.

It reads SQLite and Parquet with their own readers and shares no code with the product: what it expects is computed from
the numbers alone.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq


@dataclass
class Verdict:
    """What was found; empty lists mean that all is well."""

    complaints: list[str] = field(default_factory=list)
    found: dict[str, int] = field(default_factory=dict)

    @property
    def is_exact(self) -> bool:
        """Whether every sink holds exactly what it must."""
        return not self.complaints


GIVEN_UP = (50, 150, 250, 350)
"""The orders that the steps gave up, and that came back."""


def reconcile(directory: Path, events: int) -> Verdict:
    """Compare both sinks and the dead letters with what the events 1 to `events` must have become.

    What was a dead letter comes behind all others, in any order; and no dead letter is left.
    """
    passed = [n for n in range(1, events + 1) if n % 10]
    accepted, refused = [n for n in passed if n % 97], [n for n in passed if not n % 97]
    given_up = [n for n in GIVEN_UP if n <= events]
    verdict = Verdict()
    _compare(verdict, "files", _settled(file_numbers(directory / "files"), passed), [*passed, *given_up])
    table = _settled(table_numbers(directory / "sink.db"), accepted)
    _compare(verdict, "sqlite", table, [*accepted, *sorted([*refused, *given_up])])
    _compare(verdict, "dead letters", dead_numbers(directory / "pipeline" / "dead"), [])
    _compare(verdict, "removed", removed_numbers(directory / "pipeline" / "dead"), sorted([*refused, *given_up]))
    return verdict


def _settled(found: list[int], first: list[int]) -> list[int]:
    """What was found, with all that is behind the `first` in ascending order."""
    return [*found[: len(first)], *sorted(found[len(first) :])]


def table_numbers(path: Path) -> list[int]:
    """The orders in the table, in the order in which they were written."""
    db = sqlite3.connect(path)
    try:
        return [n for (n,) in db.execute("SELECT n FROM orders ORDER BY rowid")]
    finally:
        db.close()


def file_numbers(directory: Path) -> list[int]:
    """The orders in the files, by name of file; hidden files are nobody's business."""
    names = sorted(path for path in directory.glob("*.parquet") if not path.name.startswith("."))
    return [n for path in names for n in pq.read_table(path)["n"].to_pylist()]


def dead_numbers(directory: Path) -> list[int]:
    """The orders that were refused, ascending: the index says where the entries lie, the files what they say."""
    db = sqlite3.connect(directory / "index.db")
    try:
        places = list(db.execute("SELECT file, offset, length FROM chunks"))
    finally:
        db.close()
    return sorted(n for file, offset, length in places for n in _refused(directory / "segments" / file, offset, length))


def removed_numbers(directory: Path) -> list[int]:
    """The orders whose dead letters were removed after they had gone their way again, ascending."""
    db = sqlite3.connect(directory / "index.db")
    try:
        rows = db.execute("SELECT event_id FROM gone WHERE fate = 'purged'")
        return sorted(int(event_id.split("/")[1]) for (event_id,) in rows)
    finally:
        db.close()


def _refused(path: Path, offset: int, length: int) -> list[int]:
    with path.open("rb") as segment:
        segment.seek(offset)
        entries = pa.ipc.open_stream(segment.read(length)).read_all()
    return [pa.ipc.open_stream(payload).read_all()["n"][0].as_py() for payload in entries["payload"].to_pylist()]


def _compare(verdict: Verdict, where: str, found: list[int], expected: list[int]) -> None:
    verdict.found[where] = len(found)
    doubled = sorted(n for n, times in Counter(found).items() if times > 1)
    missing = sorted(set(expected) - set(found))
    foreign = sorted(set(found) - set(expected))
    for what, numbers in (("doubled", doubled), ("missing", missing), ("foreign", foreign)):
        if numbers:
            verdict.complaints.append(f"{where}: {len(numbers)} {what}, first {numbers[:5]}")
    if not (doubled or missing or foreign) and found != expected:
        verdict.complaints.append(f"{where}: out of order")

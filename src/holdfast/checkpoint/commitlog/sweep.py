"""Removes documents and blobs that nothing refers to. May be cut off anywhere: the next sweep finds what is left.

What is dead stays dead: a forgotten version is never referred to again, because going back copies the payload. So a
sweep may act on a view that others have long overtaken.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from holdfast.checkpoint.commitlog.document import commit_name
from holdfast.checkpoint.commitlog.medium import Medium
from holdfast.checkpoint.commitlog.model import Document, Record, View
from holdfast.checkpoint.commitlog.reader import LogReader
from holdfast.model.errors import CheckpointDamaged

_BLOB = re.compile(r"blobs/(\d{20})-")

SPARE = 4
"""The newest documents are never removed, so that a damaged newest one has whole ones right below it."""

REMEMBERED = 10_000
"""How many documents a sweeper knows by heart, so that a sweep need not read them again."""


@dataclass(frozen=True, slots=True)
class _Damaged:
    """Stands for a document that cannot be read: it stays, for whoever wants to look into it."""


class Sweeper:
    """Sweeps one log. Documents never change, so what one of them wrote is read once and remembered."""

    def __init__(self, medium: Medium, reader: LogReader) -> None:
        self._medium = medium
        self._reader = reader
        self._written: dict[int, tuple[Record, ...] | _Damaged] = {}

    def note(self, document: Document) -> None:
        """Remember what a published document wrote, so that it need not be read for a sweep."""
        self._remember(document.number, tuple(document.written()))

    def sweep(self, view: View) -> None:
        """Remove everything that is dead in `view` and old enough."""
        present = [number for number in self._medium.numbers() if number <= view.document.number - SPARE]
        dead = [number for number in present if self._is_dead(view, number)]
        live = {record.blob for number in present if number not in dead for record in self._live(view, number)}
        late = [name for name in self._medium.blobs() if self._is_late(view, name) and name not in live]
        self._medium.remove([*(commit_name(number) for number in dead), *late])
        for number in dead:
            self._written.pop(number, None)

    def _is_dead(self, view: View, number: int) -> bool:
        return not isinstance(self._records(number), _Damaged) and not self._live(view, number)

    def _live(self, view: View, number: int) -> list[Record]:
        records = self._records(number)
        return [] if isinstance(records, _Damaged) else [record for record in records if _is_live(view, record)]

    def _is_late(self, view: View, blob: str) -> bool:
        """Whether a blob's commit has long been published, or never will be, and can be read."""
        ours = _BLOB.match(blob)
        if ours is None:
            return False
        number = int(ours[1])
        return number <= view.document.number - SPARE and not isinstance(self._records(number), _Damaged)

    def _records(self, number: int) -> tuple[Record, ...] | _Damaged:
        known = self._written.get(number)
        return self._remember(number, self._read(number)) if known is None else known

    def _remember(self, number: int, records: tuple[Record, ...] | _Damaged) -> tuple[Record, ...] | _Damaged:
        self._written[number] = records
        if len(self._written) > REMEMBERED:
            self._written.pop(next(iter(self._written)))
        return records

    def _read(self, number: int) -> tuple[Record, ...] | _Damaged:
        try:
            document = self._reader.document(number)
        except CheckpointDamaged:
            return _Damaged()
        return tuple(document.written()) if document else ()


def _is_live(view: View, record: Record) -> bool:
    chain = view.document.chains.get(record.version.key)
    return bool(chain and chain.keeps(record.number))

"""Reads a log of commit documents: finds its head, walks the versions of a key, loads payloads. Writes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from holdfast.checkpoint.commitlog.document import commit_name, decode
from holdfast.checkpoint.commitlog.medium import Medium
from holdfast.checkpoint.commitlog.model import GENESIS, Document, Record, View
from holdfast.checkpoint.commitlog.planning import check_certain
from holdfast.checkpoint.contract import Stored
from holdfast.checkpoint.envelope import Sealed, unseal
from holdfast.checkpoint.rules import place, unknown_key, unknown_version
from holdfast.model.errors import CheckpointDamaged, StoreUnavailable

ATTEMPTS = 1000
"""How often others may get in between before a store gives up; each time one of them has committed."""


class LogReader:
    """The reading half of a log store. Remembers the newest document it saw, without payloads."""

    def __init__(self, medium: Medium) -> None:
        self._medium = medium
        self._view = View(GENESIS)

    def look(self) -> View:
        """The store as it is now."""
        for _ in range(ATTEMPTS):
            newest = self._medium.newest(self._view.newest)
            if newest == self._view.newest and not self._view.damaged:
                return self._view
            if view := self._read_down(newest):
                self._view = view
                return view
        raise contended(self._medium)

    def remember(self, document: Document) -> None:
        """Take over a document that was just published, so that it need not be read."""
        self._view = View(replace(document, payloads={}))

    def newest(self, view: View, key: str) -> Stored | None:
        """The newest version of `key`, or None when it is certainly absent."""
        check_certain(view, key)
        trail = view.trail(key)
        return self.load(trail[0]) if trail else None

    def find(self, view: View, key: str, number: int) -> Record:
        """The record of one version."""
        if not view.trail(key):
            raise unknown_key(key)
        for record in self.walk(view, key):
            if record.number == number:
                return record
        raise unknown_version(key, number)

    def walk(self, view: View, key: str) -> Iterator[Record]:
        """The versions kept of `key`, newest first, as far as they can be found past damaged documents."""
        trail = view.trail(key)
        chain = view.document.chains.get(key)
        while trail and chain:
            yield from (record for record in trail if record.number >= chain.floor)
            trail = self._further_back(trail) if trail[-1].number > chain.floor else ()
        if chain and chain.spared:
            yield chain.spared

    def load(self, record: Record) -> Stored:
        """The payload of a version, verified."""
        home = self._medium.where(record.blob or commit_name(record.commit))
        where = f"{place(record.version.key, record.number)} in {home}"
        data = self._medium.read(record.blob) if record.blob else self._inline(record)
        if data is None:
            raise CheckpointDamaged(
                f"The checkpoint {where} is damaged: its payload is missing.",
                kept="Older versions and other keys are untouched.",
                remedy="Run `doctor` on the store to see which version is whole and to go back to it.",
                where=where,
            )
        sealed = Sealed(data, record.encoding, record.version.size, record.version.checksum)
        return Stored(record.version, unseal(sealed, where=where))

    def readable(self, record: Record) -> bool:
        """Whether a version can be loaded."""
        try:
            self.load(record)
        except CheckpointDamaged:
            return False
        return True

    def document(self, number: int) -> Document | None:
        """One document, checked; None when it is not there."""
        name = commit_name(number)
        data = self._medium.read(name)
        return None if data is None else decode(data, number=number, where=self._medium.where(name))

    def _read_down(self, newest: int) -> View | None:
        """The newest whole document up to a number; None when that number is gone because others went on."""
        damaged: list[int] = []
        for number in self._downwards(newest):
            try:
                document = self.document(number)
            except CheckpointDamaged:
                damaged.insert(0, number)
                continue
            if document is not None:
                return View(replace(document, payloads={}), tuple(damaged))
            if number == newest:
                return None
        return View(self._view.document, tuple(damaged))

    def _downwards(self, newest: int) -> Iterator[int]:
        known = self._view.document.number
        if newest > known:
            yield newest
            yield from (number for number in reversed(self._medium.numbers()) if known < number < newest)

    def _further_back(self, trail: tuple[Record, ...]) -> tuple[Record, ...]:
        """The versions before a trail, from the oldest of its documents that is whole."""
        for record in reversed(trail):
            older = [found for found in self._trail_at(record) if found.number < trail[-1].number]
            if older:
                return tuple(older)
        return ()

    def _trail_at(self, record: Record) -> tuple[Record, ...]:
        document = self._home(record)
        return document.chains[record.version.key].trail if document else ()

    def _inline(self, record: Record) -> bytes | None:
        document = self._home(record)
        return document.payloads.get(record.version.key) if document else None

    def _home(self, record: Record) -> Document | None:
        """The document that wrote a record; None when it is damaged, missing or another one of the same number."""
        try:
            document = self.document(record.commit)
        except CheckpointDamaged:
            return None
        return document if document and document.nonce == record.nonce else None


def contended(medium: Medium) -> StoreUnavailable:
    """The error for a store in which somebody else was always faster."""
    return StoreUnavailable(
        f"{medium.where()} changed {ATTEMPTS} times while it was being read.",
        remedy="Look for a second writer, and try again.",
        where=medium.where(),
    )

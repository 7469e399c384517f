"""A log whose data lies in segments: how its owner takes it over, and how an append becomes visible.

An append is: bytes written and synced, then one commit of the index. If the commit certainly did not happen the bytes
are taken back; if that is not known they stay, and the log has to be opened again.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from holdfast.log.disk import remove, sizes
from holdfast.log.opening import claim, open_owned
from holdfast.log.segment import DIRECTORY, ROLL_AT, SegmentWriter, epoch_of, next_number, sweep, verify_present
from holdfast.model.errors import LogError

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from holdfast.log.opening import Layout, Owner
    from holdfast.log.segment import Piece, Place


@dataclass(frozen=True, slots=True)
class Steps:
    """The names of the steps of an append."""

    write: str
    sync: str
    index: str
    indexed: str


@dataclass(frozen=True, slots=True)
class Kind:
    """What one kind of segmented log brings along."""

    layout: Layout
    steps: Steps
    lengths: Callable[[sqlite3.Connection], dict[str, int]]
    """The segments in use according to the index, and up to where."""
    recover: Callable[[sqlite3.Connection], None]
    """Brings the index back to where the log can go on from, before anything is swept."""


class SegmentedLog:
    """The index and the segments of a log, in the hands of one thread of one owner."""

    def __init__(self, directory: Path, kind: Kind, *, name: str, owner: Owner, roll_at: int = ROLL_AT) -> None:
        self.owner = owner
        self.segments = directory / DIRECTORY
        self._steps = kind.steps
        self.index, self.identity = open_owned(directory, kind.layout, name=name, owner=owner)
        try:
            self._take_over(kind)
            self.writer = SegmentWriter(
                self.segments,
                epoch=owner.epoch,
                number=next_number(sizes(self.segments), owner.epoch),
                roll_at=roll_at,
            )
        except BaseException:
            self.index.close()
            raise

    def append(self, pieces: Iterable[Piece]) -> list[Place]:
        """Write pieces of data and make them durable; nobody sees them before a commit names them."""
        self.owner.hook(self._steps.write)
        places = self.writer.write(pieces)
        self.owner.hook(self._steps.sync)
        self.writer.sync()
        return places

    @contextmanager
    def naming(self) -> Iterator[sqlite3.Connection]:
        """The commit that makes what was just appended visible."""
        try:
            self.owner.hook(self._steps.index)
            with self.index.committing() as db:
                yield db
        except LogError:
            if not self.index.is_in_doubt:
                self.writer.take_back()
            raise
        except BaseException:
            self.index.is_in_doubt = True
            raise
        self.owner.hook(self._steps.indexed)

    def remove(self, names: list[str]) -> None:
        """Remove segments that the index does not name any more."""
        if any(self.writer.is_writing(name) for name in names):
            self.writer.give_up()
        remove(self.segments, names)

    def close(self) -> None:
        """Give up the files."""
        self.writer.give_up()
        self.index.close()

    def _take_over(self, kind: Kind) -> None:
        epoch = self.owner.epoch
        claim(self.index, found=map(epoch_of, sizes(self.segments)))
        with self.index.reading() as db:
            verify_present(self.segments, kind.lengths(db))
        with self.index.committing() as db:
            kind.recover(db)
            named = kind.lengths(db)
        sweep(self.segments, named, epoch)

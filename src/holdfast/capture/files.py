"""Follows log files: what is appended to them becomes events, each record exactly once, however they are rotated.

A file is known by what it begins with and not by its name, so it may be renamed, copied and truncated, compressed or
removed while it is being read. A record is captured when its newline is there; the position never stands inside one.
What no one can have any more, because it was truncated or removed before it was read, is counted and told.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from holdfast.capture.contract import Captured, Source
from holdfast.capture.tailing.block import Block
from holdfast.capture.tailing.content import LONGEST_HEAD
from holdfast.capture.tailing.events import Shape, make_events, places_in_files
from holdfast.capture.tailing.listing import unreadable
from holdfast.capture.tailing.records import Framing, is_pattern
from holdfast.capture.tailing.report import FilesStatus, Report
from holdfast.capture.tailing.tail import Replaced
from holdfast.capture.tailing.watch import Watch, Watching
from holdfast.model.encoding import Encoding
from holdfast.model.errors import InvalidSource, SourceUnavailable
from holdfast.model.positions import FilesPosition

if TYPE_CHECKING:
    from holdfast.capture.tailing.block import Piece
    from holdfast.capture.tailing.tail import Tail
    from holdfast.model.positions import Position

__all__ = ["FilesStatus", "Follow", "LogFiles"]

BLOCK_BYTES = 16 * 2**20
_LARGEST_RECORD = 2**28
_LEAST_ROOM = 2**16
"""With less room left in the block no further file is read into it."""
_SCAN_EVERY = 0.25
_SCAN_REST = 5
"""For so many times as long as a scan took there is no other."""
_PAUSE = 0.01


class Follow(Enum):
    """How long files are followed."""

    FOREVER = "forever"
    TO_THE_END = "to the end"
    """Up to where they end when they have been read; then the source is finished."""


class LogFiles(Source):
    """A source of lines, or of records of several lines.

    A record that is at rest without a newline for `idle` seconds is given out with the header `unfinished`; what is
    appended to it later is an event of its own, with the header `continues`. Nothing is given out when the source is
    closed: what has no newline then is read again at the next start.

    :param patterns: names of files, with `*`, `?`, `[…]` and `**`. Rotated files should match too; one that does not is
        read to its end when it was known before.
    :param first_line: a regular expression (RE2) for the first line of a record of several lines. Such a record ends
        where the next one begins, or after `idle` seconds.
    :param max_bytes: what is kept of one record. A longer one gets the header `cut` with the number of bytes left out.
    :param fingerprint: how many bytes of its beginning tell a file from all others; files that begin alike for longer
        than that are taken for copies of each other.
    :param forget_after: after how many seconds a file is forgotten that is gone and read.
    :param max_open: how many files are kept open; a quarter of what the process may have when it is not given.
    """

    kind: ClassVar[str] = "files"

    def __init__(
        self,
        *patterns: str | Path,
        name: str = "files",
        encoding: Encoding = Encoding.UTF_8,
        first_line: str | None = None,
        max_bytes: int = 2**20,
        idle: float = 5.0,
        follow: Follow = Follow.FOREVER,
        fingerprint: int = 1024,
        forget_after: float = 60.0,
        max_open: int | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.name = name
        if why := _wrong(patterns, first_line, max_bytes, fingerprint):
            raise InvalidSource(f"Source {name!r} cannot follow files: {why}.", remedy="Correct it.", source=name)
        self._follow = follow
        self._idle = idle
        self._framing = Framing(encoding, first_line)
        self._shape = Shape(name, encoding, max_bytes)
        self._block = Block(max(BLOCK_BYTES, 2 * max_bytes), encoding.newline)
        self._report = Report(name)
        self._patterns = tuple(str(Path(pattern).absolute()) for pattern in patterns)
        self._watch = Watch(
            Watching(
                patterns=self._patterns,
                encoding=encoding,
                window=fingerprint,
                settle=8 * _SCAN_EVERY,
                forget_after=forget_after,
                max_open=max_open or resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 4,
            ),
            self._report,
        )
        self._monotonic, self._now, self._sleep = monotonic, now, sleep
        self._scan_at = 0.0
        self._is_finished = False

    def open(self, after: Position | None) -> None:
        """Go on with what follows the position in each file, and with the files that were not begun."""
        if after is not None and not isinstance(after, FilesPosition):
            raise InvalidSource(
                f"Source {self.name!r} is to go on from {after}, which is a position of another kind: {after.kind}.",
                remedy="Give the source another name, or the inbox back to the source that filled it.",
                source=self.name,
            )
        self._watch.restore(after, self._monotonic())
        self._scan_at = 0.0
        self._is_finished = False

    def read(self, wait: float) -> Captured | None:
        """The next records that are whole."""
        until = self._monotonic() + wait
        while True:
            now = self._monotonic()
            if now >= self._scan_at:
                self._watch.scan(now)
                done = self._monotonic()
                self._scan_at = done + max(_SCAN_EVERY, _SCAN_REST * (done - now))
            pieces = self._gathered(now)
            if pieces:
                return self._captured(pieces)
            if self._follow is Follow.TO_THE_END and not self._has_more():
                self._watch.scan(now)
                self._is_finished = not self._has_more()
            if now >= until or self._is_finished:
                return None
            self._sleep(min(_PAUSE, until - now))

    @property
    def finished(self) -> bool:
        """Whether the files were to be read to their end, and are."""
        return self._is_finished

    def close(self) -> None:
        """Close the files."""
        self._watch.close()

    def check_connection(self) -> None:
        """Every pattern has a directory that can be listed, and every file that matches can be opened."""
        for pattern in self._patterns:
            if why := unreadable(pattern):
                raise SourceUnavailable(
                    f"Source {self.name!r} cannot read {pattern}: {why}.",
                    remedy="See that the directory exists and this user may read it; files in it may come later.",
                    source=self.name,
                )

    def status(self) -> FilesStatus:
        """What it follows, and what it could not have."""
        tails = list(self._watch.tails)
        return self._report.status(files=len(tails), behind=sum(max(tail.size - tail.offset, 0) for tail in tails))

    def _gathered(self, now: float) -> list[Piece]:
        """Records of as many files as the block has room for, those first that had to wait."""
        self._block.used = 0
        pieces: list[Piece] = []
        for tail in sorted(self._watch.tails, key=lambda tail: tail.active):
            if len(self._block.free()) < _LEAST_ROOM:
                break
            if self._is_ready(tail, now) and (piece := self._taken(tail, now)) is not None:
                pieces.append(piece)
        return pieces

    def _is_ready(self, tail: Tail, now: float) -> bool:
        tail.look(now)
        return tail.is_in_turn() and tail.trouble.is_over(now) and (tail.has_news() or self._is_at_rest(tail, now))

    def _is_at_rest(self, tail: Tail, now: float) -> bool:
        """Whether what has no newline yet is given out as it is."""
        return tail.is_at_rest(now, self._idle) if self._follow is Follow.FOREVER else tail.has_rest()

    def _taken(self, tail: Tail, now: float) -> Piece | None:
        try:
            piece = tail.take(
                self._block, self._framing, number=self._watch.begun + 1, is_all=self._is_at_rest(tail, now)
            )
        except Replaced:
            tail.lose(now)
            self._scan_at = now
            return None
        except OSError as error:
            self._report.problem(tail.path, str(error))
            tail.fail(now)
            return None
        if piece is not None:
            self._watch.begun = max(self._watch.begun, piece.number)
            tail.active = now
        tail.rest()
        self._report.mended(tail.path)
        return piece

    def _has_more(self) -> bool:
        return self._watch.has_undecided or any(tail.is_behind for tail in self._watch.tails)

    def _captured(self, pieces: list[Piece]) -> Captured:
        places = places_in_files(self.name, pieces)
        made = make_events(self._shape, self._block.data(), pieces, places, self._now())
        self._report.cut_records += made.cut_records
        self._report.cut_bytes += made.cut_bytes
        return Captured(made.events, self._watch.position())


def _wrong(patterns: tuple[str | Path, ...], first_line: str | None, max_bytes: int, fingerprint: int) -> str | None:
    """What makes a declaration meaningless."""
    if not patterns:
        return "it names none"
    if first_line is not None and not is_pattern(first_line):
        return f"{first_line!r} is no regular expression"
    if not 1 <= max_bytes <= _LARGEST_RECORD:
        return f"of a record {max_bytes} bytes are to be kept, and 1 to {_LARGEST_RECORD} are possible"
    if not 1 <= fingerprint <= LONGEST_HEAD:
        return f"its fingerprints are of {fingerprint} bytes, and 1 to {LONGEST_HEAD} are possible"
    return None

"""One file that is being followed: where it is, how far it was read, and what it begins with.

A file may be truncated and written anew at any moment. So what was read counts only when the file still begins, after
the reading, with what it began with before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from holdfast.capture.tailing.block import Piece
from holdfast.capture.tailing.recognition import Absent, fingerprint_of
from holdfast.capture.tailing.rest import Rest, Trouble
from holdfast.model.positions import FilePosition, Fingerprint

if TYPE_CHECKING:
    import numpy.typing as npt

    from holdfast.capture.tailing.block import Block
    from holdfast.capture.tailing.content import Content
    from holdfast.capture.tailing.listing import Found, Signature
    from holdfast.capture.tailing.records import Framing


class Replaced(Exception):
    """The content of a file that is being read was replaced."""


class Tail:
    """A file of the set.

    :param number: None until something of it was captured.
    """

    def __init__(self, at: FilePosition, *, window: int, now: float, number: int | None = None) -> None:
        self.number = number
        self.offset = at.offset
        self.inode = at.inode
        self.path = ""
        self.content: Content | None = None
        self.seen: Signature | None = None
        """As the file was when its identity was last certain."""
        self.size = 0
        """The most bytes that it had when its identity was certain."""
        self.was_found = False
        """Whether it was seen since this process began."""
        self.missing_since: float | None = now
        """From when on neither it nor a copy of it was seen."""
        self.absent_since: float | None = now
        """From when on it was not known where its content is."""
        self.trouble = Trouble()
        self.is_placed = False
        """Whether it is known which older files of its log are to be read first."""
        self.waits_for: Tail | None = None
        """The nearest older file of its log that is read first."""
        self.waits_until: int | None = None
        """Up to which byte that one is read first; None for its end."""
        self._is_suspended = False
        """Whether it was closed before its end was known, as happens to a compressed file."""
        self.active = now
        self._at = at
        self._window = max(window, at.fingerprint.length)
        self._fingerprint = at.fingerprint
        self._head = b""
        self._rest = Rest(-1, now)
        self._looked = -1
        """The size at which the last look found no whole record."""

    # Identity

    @property
    def at(self) -> FilePosition:
        """Where it stands."""
        known = self._at
        if (known.fingerprint, known.inode, known.offset) != (self._fingerprint, self.inode, self.offset):
            self._at = FilePosition(self._fingerprint, self.inode, self.offset)
        return self._at

    @property
    def head(self) -> bytes:
        """What it begins with, as far as it was looked at."""
        return self._head

    @property
    def is_present(self) -> bool:
        """Whether it is certain where its content is: under a name, or in an open file that has more to read."""
        if self.seen is not None:
            return True
        return self.content is not None and (not self.content.is_deleted or self.has_news())

    def absence(self, now: float, settle: float) -> Absent:
        """What is needed to find it again."""
        is_settled = self.absent_since is not None and now - self.absent_since >= settle
        return Absent(self._fingerprint, self.offset, is_settled)

    def is_gone(self, now: float, patience: float) -> bool:
        """Whether it was not to be seen, and had nothing new, for so many seconds."""
        is_old = self.missing_since is not None and now - max(self.missing_since, self.active) >= patience
        return is_old and not (self.is_present and self.is_behind)

    def is_in(self, content: Content) -> bool:
        """Whether the file is this one: it begins with what was captured, and is long enough."""
        size = content.size
        if size is not None and size < self.offset:
            return False
        length = self._fingerprint.length
        if not length:  # nothing was captured: only what was skipped at its beginning has to be there
            return content.head(self.offset) == self._head[: self.offset]
        return fingerprint_of(content.head(length)) == self._fingerprint

    def attach(self, found: Found, now: float) -> None:
        """It is under this name."""
        is_news = self.seen != found.signature
        self.path, self.inode, self.seen = found.path, found.signature.inode, found.signature
        self.was_found = True
        if found.is_wanted:
            self.missing_since = None
        if is_news:
            self._look_at_head(now)
        if is_news and self.content is not None:
            self.size = max(self.size, self.content.size or 0)
            self.look(now)
            if self.content.ends_at(self.offset):
                self.release()

    def hold(self, content: Content) -> None:
        """Read from there from now on."""
        self._is_suspended = False
        if self.content is not content:
            self.release()
            self._looked = -1
        self.content = content

    def release(self) -> None:
        """Close the file; it is opened again when there is a need."""
        if self.content is not None:
            self.content.close()
        self.content = None

    def suspend(self) -> None:
        """Close the file because too many are open; what it has more is read when there is room for it again."""
        self._is_suspended = self.content is not None and self.content.size is None
        self.release()

    def lose(self, now: float) -> None:
        """What is under its name is another file now: its own content is elsewhere, or nowhere."""
        self.release()
        self._is_suspended = False
        self.inode, self.seen = 0, None
        self.missing_since = now if self.missing_since is None else self.missing_since

    def fail(self, now: float) -> None:
        """It cannot be read now: leave it alone for a while, then look at it as if for the first time."""
        self.trouble = self.trouble.again(now)
        self.release()
        self.seen = None

    def refresh(self, now: float) -> None:
        """Look again at what it begins with, unless what was captured tells it from all others."""
        if min(len(self._head), self._fingerprint.length) < self._window:
            self._look_at_head(now)

    def _look_at_head(self, now: float) -> None:
        """A file that does not begin any more with what was captured of it is lost, even if it has no name by now."""
        if self.content is None:
            return
        head = self.content.head(self._window)
        if fingerprint_of(head[: self._fingerprint.length]) == self._fingerprint:
            self._head = head
        else:
            self.lose(now)

    # Its turn among the rotated files of a log

    def place_after(self, older: Tail | None) -> None:
        """It is read after what the older file of its log has now: what is appended there later is not waited for."""
        self.waits_for, self.waits_until = older, None if older is None else older.known_end
        self.is_placed = True

    def is_in_turn(self) -> bool:
        """Whether no older file of its log is to be read first."""
        while (older := self.waits_for) is not None and not older.holds_back(self.waits_until):
            self.waits_for, self.waits_until = older.waits_for, older.waits_until
        return self.is_placed and self.waits_for is None

    def holds_back(self, until: int | None) -> bool:
        """Whether it has something before this byte that can be read."""
        has_more = self.is_behind and (until is None or self.offset < until)
        return has_more and self.is_present and not self.trouble.failures

    @property
    def known_end(self) -> int | None:
        """Where its content ends now; None when that is not known before it is unpacked."""
        if self.content is not None:
            return self.content.size
        return None if self._is_suspended else self.size

    # Reading

    def look(self, now: float) -> None:
        """See whether it has grown."""
        size = None if self.content is None else self.content.size
        if size is not None:
            self._rest = self._rest.after(size, now)

    @property
    def is_behind(self) -> bool:
        """Whether it has something that was not captured."""
        return self._is_suspended or self.size > self.offset or self.has_news()

    def has_news(self) -> bool:
        """Whether there is something to read at which no look was taken yet."""
        if self.content is None:
            return False
        size = self.content.size
        return size is None or (size > self.offset and size != self._looked)

    def is_at_rest(self, now: float, idle: float) -> bool:
        """Whether what has no newline is to be given out as it is."""
        return self.has_rest() and self._rest.is_end(now, idle)

    def has_rest(self) -> bool:
        """Whether it has something without a newline, and nothing else."""
        size = None if self.content is None else self.content.size
        return size is not None and size > self.offset and not self.has_news()

    def rest(self) -> None:
        """After it was read: nothing more will come from a compressed file that was read to its end."""
        self.trouble = Trouble()
        if self.content is not None and self.content.is_final and self.content.size == self.offset:
            self.release()

    def take(self, block: Block, framing: Framing, *, number: int, is_all: bool) -> Piece | None:
        """The next whole records, kept in the block.

        Raises `Replaced` when the file turns out to be another one, and `OSError` when no more of it can be read.

        :param number: of the file, when it has none yet.
        :param is_all: whether what has no newline is to be given out as it is.
        """
        content = self.content
        assert content is not None, "only an open file is read"
        room = block.free()
        count = content.read(self.offset, room)
        data = block.filled(count)
        self._verify(content, data)
        self.size = max(self.size, self.offset + count)
        is_full = count == len(room)
        self._looked = -1 if is_full else self.offset + count
        is_end = is_all or (content.is_final and content.size == self.offset + count)
        ends = framing.ends(data, is_all=is_end and not is_full)
        if not len(ends) and is_full and block.is_whole:
            ends = np.array([count])
        if not len(ends):
            if content.damage is not None:
                raise OSError(content.damage)
            return None
        newline = framing.encoding.newline
        is_open = bytes(data[ends[-1] - len(newline) : ends[-1]]) != newline
        continues = not self._begins_record(content, framing, data)
        self.number = number if self.number is None else self.number
        piece = Piece(self.number, self.path, self.offset, ends, is_open, continues)
        block.keep(int(ends[-1]), is_open=is_open)
        self._advance(int(ends[-1]))
        return piece

    def _verify(self, content: Content, data: npt.NDArray[np.uint8]) -> None:
        if content.is_final:
            return
        if self.offset < self._window:
            self._head = (self._head[: self.offset] + bytes(data[: self._window]))[: self._window]
        if content.head(len(self._head)) != self._head:
            raise Replaced

    def _begins_record(self, content: Content, framing: Framing, data: npt.NDArray[np.uint8]) -> bool:
        if self.number is None:
            return True
        width = len(framing.encoding.newline)
        before = content.at(self.offset - width, width)
        return before == framing.encoding.newline and framing.is_first(data)

    def _advance(self, count: int) -> None:
        self.offset += count
        length = min(self._window, self.offset)
        if length != self._fingerprint.length and len(self._head) >= length:
            self._fingerprint = fingerprint_of(self._head[:length])


def new_tail(found: Found, content: Content, *, window: int, skipped: int, now: float) -> Tail:
    """A file of which nothing was captured yet.

    :param skipped: bytes at its beginning that are no part of any record.
    """
    tail = Tail(FilePosition(Fingerprint("", 0), found.signature.inode, skipped), window=window, now=now)
    tail.hold(content)
    tail.attach(found, now)
    return tail

"""The set of files that are followed: finds them, recognises them, and forgets those that are gone and read.

What a file is, is decided in `recognition`; here the directories are read and the decisions carried out.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

from holdfast.capture.tailing.content import open_content
from holdfast.capture.tailing.listing import Found, beside, matching
from holdfast.capture.tailing.recognition import Heads, Sighting, Verdict, judge
from holdfast.capture.tailing.rotation import in_order
from holdfast.capture.tailing.tail import Tail, new_tail
from holdfast.model.encoding import Encoding
from holdfast.model.positions import FilesPosition

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from holdfast.capture.tailing.content import Content
    from holdfast.capture.tailing.listing import Signature
    from holdfast.capture.tailing.recognition import Absent, Judgement
    from holdfast.capture.tailing.report import Report


@dataclass(frozen=True, slots=True)
class Watching:
    """How files are watched."""

    patterns: tuple[str, ...]
    encoding: Encoding
    window: int
    """How many bytes of its beginning tell a file from all others."""
    settle: float
    """A file of which little is known is believed to be gone when it was not seen for so many seconds."""
    forget_after: float
    """A file is forgotten when it was not seen, and had nothing new, for so many seconds."""
    max_open: int


@dataclass(frozen=True, slots=True)
class _Copy:
    """A file that is a copy of another one; it is judged anew when either of them changes."""

    signature: Signature
    head: bytes
    """What it begins with."""
    original: Tail


class _Ground:
    """What is known while unknown files are judged one after the other."""

    def __init__(self, tails: Iterable[Tail], now: float, how: Watching) -> None:
        self.absent: dict[Absent, Tail] = {}
        self._present: dict[bytes, Tail] = {}
        for tail in tails:
            if tail.is_present:
                self._present[tail.head] = tail
            else:
                self.absent[tail.absence(now, how.settle)] = tail
        self.heads = Heads(list(self._present))

    def known(self, judged: Judgement) -> Tail | None:
        """The tail that decided a judgement."""
        return self.absent[judged.absent] if judged.absent else self._present.get(judged.original or b"")

    def arrived(self, tail: Tail) -> None:
        """A file is present now that was not."""
        self.absent = {absent: other for absent, other in self.absent.items() if other is not tail}
        self._present[tail.head] = tail
        self.heads.add(tail.head)


class Watch:
    """The files of one source."""

    def __init__(self, watching: Watching, report: Report) -> None:
        self.tails: list[Tail] = []
        self.begun = 0
        self._undecided: list[Found] = []
        """The files that the last scan left for the next one."""
        self._how = watching
        self._report = report
        self._copies: dict[int, _Copy] = {}
        self._unanswered: dict[Signature, float] = {}
        """When files were asked last that are still unknown: empty, unreadable, or of another encoding."""
        self._room = 0
        """How many more files may be opened in this scan: in the end `max_open` of them stay open."""

    def restore(self, position: FilesPosition | None, now: float) -> None:
        """Go on where a position says; no file is known to be there yet."""
        self.close()
        position = position or FilesPosition()
        self.begun = position.begun
        self.tails = [Tail(at, window=self._how.window, now=now, number=number) for number, at in position.files]
        self._copies = {}

    @property
    def has_undecided(self) -> bool:
        """Whether the last scan left files for the next one."""
        return bool(self._undecided)

    def position(self) -> FilesPosition:
        """How far every file is captured. One of which nothing was captured has no number, and no place in it."""
        return FilesPosition(self.begun, tuple((tail.number, tail.at) for tail in self.tails if tail.number))

    def close(self) -> None:
        """Close all files."""
        for tail in self.tails:
            tail.release()

    def scan(self, now: float) -> None:
        """Look at what is there: a file is attached to what it is known as, or begun, or left alone."""
        wanted = list(matching(self._how.patterns))
        unknown = self._attach(wanted, now)
        self._note_missing(wanted, now)
        if hidden := [tail for tail in self.tails if tail.missing_since is not None and not tail.is_present]:
            inodes = frozenset(tail.inode for tail in hidden if tail.inode)
            names = [found.path for found in wanted] + [tail.path for tail in hidden if tail.path]
            near = beside([*self._how.patterns, *names], inodes)
            listed = {found.signature.inode for found in wanted}
            unknown += self._attach([found for found in near if found.signature.inode not in listed], now)
        questions = _oldest_first([found for found in unknown if not self._is_known_copy(found)])
        questions.sort(key=lambda found: self._unanswered.get(found.signature, -inf))
        asked, rest = questions[: self._how.max_open], questions[self._how.max_open :]
        self._undecided = [found for found in rest if found.signature not in self._unanswered]
        self._recognise(asked, now)
        self._note_unanswered(asked, rest, now)
        self._forget(now)
        self._place()
        self._close_some()
        self._report.forget_problems({found.path for found in wanted} | {tail.path for tail in self.tails})

    def _note_unanswered(self, asked: Sequence[Found], rest: Sequence[Found], now: float) -> None:
        """Files of which nothing can be made are asked again last, and hold up no other."""
        later = {found.signature for found in self._undecided}
        known = {found.signature: now for found in asked if found.signature not in later}
        self._unanswered = known | {
            found.signature: self._unanswered[found.signature] for found in rest if found.signature in self._unanswered
        }

    def _attach(self, listed: Sequence[Found], now: float) -> list[Found]:
        """Attach the files whose inode is known; the others are left."""
        by_inode = {tail.inode: tail for tail in self.tails if tail.inode}
        pairs = [(by_inode.get(found.signature.inode), found) for found in listed]
        pairs.sort(key=lambda pair: -inf if pair[0] is None else pair[0].active)
        self._room = 2 * self._how.max_open - sum(tail.content is not None for tail in self.tails)
        return [found for tail, found in pairs if not self._is_attached(tail, found, now)]

    def _is_attached(self, tail: Tail | None, found: Found, now: float) -> bool:
        """Whether a file is known by its inode, so that there is no question left."""
        if tail is None:
            return False
        if tail.seen != found.signature or (tail.content is None and tail.is_behind and tail.is_in_turn()):
            content = tail.content or self._reopened(found)
            if content is None:  # it cannot be opened now: the next scan asks again
                if self._report.has_problem(found.path):
                    tail.trouble = tail.trouble.again(now)
                return True
            tail.hold(content)
            if not tail.is_in(content):
                tail.lose(now)
                return False
        tail.attach(found, now)
        if not tail.trouble.failures:
            self._report.mended(found.path)
        return True

    def _reopened(self, found: Found) -> Content | None:
        """The content of a known file, unless too many are open already."""
        if self._room <= 0:
            return None
        self._room -= 1
        return self._opened(found)

    def _note_missing(self, wanted: Sequence[Found], now: float) -> None:
        """From when on a file was not seen, neither itself nor a copy of it."""
        inodes = {found.signature.inode for found in wanted}
        self._copies = {inode: copy for inode, copy in self._copies.items() if inode in inodes}
        copied = {copy.original for copy in self._copies.values()}
        for tail in self.tails:
            if tail.inode not in inodes:
                tail.seen = None
            if tail.inode in inodes or tail in copied:
                tail.missing_since = None
            elif tail.missing_since is None:
                tail.missing_since = now
            tail.absent_since = None if tail.is_present else tail.absent_since or now

    def _is_known_copy(self, found: Found) -> bool:
        copy = self._copies.get(found.signature.inode)
        if copy is None or copy.signature != found.signature:
            return False
        return copy.original.is_present and copy.original.head.startswith(copy.head)

    def _recognise(self, unknown: Iterable[Found], now: float) -> None:
        opened = [(found, content) for found in unknown if (content := self._opened(found)) is not None]
        opened.sort(key=lambda both: (both[1].is_final, both[0].signature.changed, both[0].path))
        sightings = [Sighting(content.head(self._how.window), content.size) for _, content in opened]
        for tail in self.tails if opened else ():
            tail.refresh(now)
        ground = _Ground(self.tails if opened else [], now, self._how)
        for (found, content), sighting in zip(opened, sightings, strict=True):
            reader = self._judged(found, content, sighting, ground, now) if sighting.head else None
            if reader is None:
                content.close()
            else:
                ground.arrived(reader)

    def _judged(self, found: Found, content: Content, sighting: Sighting, ground: _Ground, now: float) -> Tail | None:
        """Carry out what is decided about an unknown file; the tail that it is now read by."""
        judged = judge(sighting, list(ground.absent), ground.heads, window=self._how.window)
        known = ground.known(judged)
        if judged.verdict is Verdict.NEW and found.is_wanted:
            return self._begin(found, content, now)
        if judged.verdict is Verdict.MOVED and known is not None:
            known.hold(content)
            known.attach(found, now)
            self._report.decided("moved", found.path, known.number)
            return known
        if judged.verdict is Verdict.COPY and known is not None and found.is_wanted:
            self._copies[found.signature.inode] = _Copy(found.signature, sighting.head, known)
        if judged.verdict is Verdict.LATER:
            self._undecided.append(found)
        return None

    def _begin(self, found: Found, content: Content, now: float) -> Tail | None:
        head = content.head(4)
        mark = self._how.encoding.mark
        other = next((one for one in Encoding if one.mark and head.startswith(one.mark) and one.mark != mark), None)
        if other is not None:
            self._report.problem(found.path, f"it begins with the mark of {other}, and is to be {self._how.encoding}")
            return None
        skipped = len(mark) if mark and head.startswith(mark) else 0
        tail = new_tail(found, content, window=self._how.window, skipped=skipped, now=now)
        self.tails.append(tail)
        self._report.mended(found.path)
        return tail

    def _place(self) -> None:
        """Let each file that was met wait for the older files of its log, once it is known which those are."""
        if all(tail.is_placed or not tail.is_present for tail in self.tails):
            return
        present = {tail for tail in self.tails if tail.is_present}
        files: list[Tail | Found] = [*self.tails, *self._undecided]
        logs = in_order(files, lambda file: file.path, _changed)
        self.tails = [file for log in logs for file in log if isinstance(file, Tail)]
        for log in logs:
            older: Tail | None = None
            for file in log:
                if isinstance(file, Found):
                    break
                if file in present:
                    if not file.is_placed:
                        file.place_after(older)
                    older = file

    def _forget(self, now: float) -> None:
        gone = [tail for tail in self.tails if tail.is_gone(now, self._how.forget_after)]
        for tail in gone:
            if tail.size > tail.offset:
                self._report.gap(tail.path, tail.number, tail.offset, tail.size - tail.offset)
            tail.release()
        if vanished := {tail.number: tail.offset for tail in gone if tail.number and not tail.was_found}:
            self._report.vanish(vanished)
        self.tails = [tail for tail in self.tails if tail not in gone]

    def _close_some(self) -> None:
        """Keep no more files open than is allowed.

        Those that were quiet for longest are closed first, then those that wait for an older file of their log, and of
        the others the one that was read last.
        """
        opened = [tail for tail in self.tails if tail.content is not None]
        opened.sort(
            key=lambda tail: (tail.is_behind, tail.is_in_turn(), -tail.active if tail.is_behind else tail.active)
        )
        for tail in opened[: max(len(opened) - self._how.max_open, 0)]:
            tail.suspend()

    def _opened(self, found: Found) -> Content | None:
        """The content of a file, unless its name was given to another one meanwhile."""
        try:
            content = open_content(found.path)
        except FileNotFoundError:
            return None
        except OSError as error:
            self._report.problem(found.path, str(error))
            return None
        if content is not None and content.inode != found.signature.inode:
            content.close()
            return None
        return content


def _changed(file: Tail | Found) -> int:
    """When it was changed last."""
    signature = file.signature if isinstance(file, Found) else file.seen
    return 0 if signature is None else signature.changed


def _oldest_first(found: list[Found]) -> list[Found]:
    """The rotated files of a log from the oldest on."""
    return [one for log in in_order(found, lambda one: one.path, _changed) for one in log]

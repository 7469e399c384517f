"""The position in a set of files that come and go. Finding and reading the files is not done here."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, final

from holdfast.model.positions.base import Order, Position, order_of_containment
from holdfast.model.positions.checks import invalid, shown, string, whole_number
from holdfast.model.positions.file import FilePosition

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from holdfast.model.positions.base import Places
    from holdfast.model.positions.json_value import Json

_NUMBER = re.compile(r"[1-9][0-9]{0,18}")
_TEXT = re.compile(r"([0-9]{1,19});(.*)")
_ROW = re.compile(r"([1-9][0-9]{0,18}):([0-9]{1,19})")


@final
@dataclass(frozen=True, slots=True)
class FilesPosition(Position):
    """How far each file of a set is done. Ordered file by file, which is a partial order.

    Files are numbered from 1 in the order in which they were begun, and a number is never used again. A number up to
    `begun` that is not among the files belongs to one that is done for ever: it is gone, so it can be left out.
    """

    kind: ClassVar[str] = "files"
    field_names: ClassVar[frozenset[str]] = frozenset({"begun", "files"})

    begun: int = 0
    """How many files were begun so far."""
    files: tuple[tuple[int, FilePosition], ...] = ()
    """Those that are still there by number, sorted; `dict(position.files)` is the mapping."""

    def __post_init__(self) -> None:
        whole_number(self.kind, "begun", self.begun)
        object.__setattr__(self, "files", tuple(sorted(self.files, key=lambda pair: pair[0])))
        for number, _ in self.files:
            whole_number(self.kind, "number of a file", number, least=1, most=self.begun)
        if len(dict(self.files)) < len(self.files):
            raise invalid(self.kind, "it names a file twice")

    def compare(self, other: Position) -> Order:
        """File by file."""
        if not isinstance(other, FilesPosition):
            return Order.INCOMPARABLE
        return order_of_containment(covers=_covers(self, other), covered=_covers(other, self))

    def at_row(self, rows: Places, row: int) -> FilesPosition:
        """Where the source stood after an event.

        An event says in which file and at which byte it begins, `number:byte`. So a file stands where the next event of
        it begins, and one of which no more came where it stands now.
        """
        offsets: dict[int, int] = {}
        at = row + 1
        while at < len(rows):
            number, start = _read_row(rows[at])
            offsets.setdefault(number, start)
            at = rows.alike_until(at, f"{number}:")
        known = dict(self.files)
        if unknown := offsets.keys() - known.keys():
            raise invalid(self.kind, f"an event is of the file {min(unknown)}, which is not among the files")
        moved = {number: replace(known[number], offset=offset) for number, offset in offsets.items()}
        return FilesPosition(self.begun, tuple({**known, **moved}.items()))

    def __str__(self) -> str:
        return f"{self.begun};{','.join(f'{number}={at}' for number, at in self.files)}"

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Reads `begun;number=fingerprint/length@inode:offset,…`."""
        match = _TEXT.fullmatch(text)
        if match is None:
            raise invalid(cls.kind, f"{shown(text)} is not of the form `begun;number=file,number=file`")
        entries = [entry.partition("=") for entry in match[2].split(",")] if match[2] else []
        return cls(int(match[1]), tuple(_entry(number, at) for number, _, at in entries))

    def to_fields(self) -> dict[str, Json]:
        """An object from number to the text of the position in that file: there may be thousands of them."""
        return {"begun": self.begun, "files": {str(number): str(at) for number, at in self.files}}

    @classmethod
    def from_fields(cls, fields: Mapping[str, object]) -> Self:
        """Reads what `to_fields` wrote."""
        files = fields["files"]
        if not isinstance(files, dict):
            raise invalid(cls.kind, f"its files must be an object from number to position, not {shown(files)}")
        begun = whole_number(cls.kind, "begun", fields["begun"])
        return cls(begun, tuple(_entry(number, string(cls.kind, "file", at)) for number, at in files.items()))


def _covers(whole: FilesPosition, part: FilesPosition) -> bool:
    """Whether all that `part` has done is done in `whole`; a file that is left out is done."""
    if whole.begun < part.begun:
        return False
    reached = dict(part.files)
    return all(
        number > part.begun or (number in reached and reached[number].offset <= at.offset) for number, at in whole.files
    )


def _entry(number: object, at: str) -> tuple[int, FilePosition]:
    if not isinstance(number, str) or not _NUMBER.fullmatch(number):
        raise invalid(FilesPosition.kind, f"{shown(number)} is not the number of a file without leading zeros")
    return int(number), FilePosition.from_text(at)


def _read_row(text: str) -> tuple[int, int]:
    match = _ROW.fullmatch(text)
    if match is None:
        raise invalid(FilesPosition.kind, f"{shown(text)} is not of the form `number:byte`")
    return int(match[1]), int(match[2])

"""The position in a file that is being written to. Taking a fingerprint and finding the file are not done here."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final

from holdfast.model.positions.base import Order, Position, order_of
from holdfast.model.positions.checks import INT64_MAX, invalid, shown, string, whole_number

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from holdfast.model.positions.json_value import Json

_KIND = "file"
_DIGEST = re.compile(r"(?:[0-9a-f]{2}){0,512}")
_TEXT = re.compile(r"([0-9a-f]*)/([0-9]{1,19})@([0-9]{1,20}):([0-9]{1,19})")


@final
@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What a file begins with: the hex of its first `length` bytes or of a digest of them.

    A file shorter than the window gets another fingerprint as it grows. Only who has the bytes can tell that two
    fingerprints of different length are of one file; here they are different.
    """

    digest: str
    length: int

    def __post_init__(self) -> None:
        whole_number(_KIND, "fingerprint_length", self.length)
        if not _DIGEST.fullmatch(string(_KIND, "fingerprint", self.digest)):
            raise invalid(_KIND, f"{shown(self.digest)} is not at most 512 bytes in lower-case hexadecimal")
        if self.length and not self.digest:
            raise invalid(_KIND, f"its fingerprint is empty, although it is of {self.length} bytes")


@final
@dataclass(frozen=True, slots=True)
class FilePosition(Position):
    """How many bytes of a file are done. Positions are ordered by byte within one file; files have no order.

    A file is the same when its fingerprint is; its inode may change (a copy) and may be used again (another file), so
    it is kept as a hint of where to look. Only empty fingerprints, which are all alike, are told apart by inode.
    """

    kind: ClassVar[str] = _KIND
    field_names: ClassVar[frozenset[str]] = frozenset({"fingerprint", "fingerprint_length", "inode", "offset"})

    fingerprint: Fingerprint
    inode: int
    offset: int

    def __post_init__(self) -> None:
        whole_number(self.kind, "inode", self.inode, most=INT64_MAX)
        whole_number(self.kind, "offset", self.offset)

    def compare(self, other: Position) -> Order:
        """By byte, within one file."""
        if not isinstance(other, FilePosition) or not self._same_file(other):
            return Order.INCOMPARABLE
        return order_of(self.offset, other.offset)

    def _same_file(self, other: FilePosition) -> bool:
        told_apart = self.fingerprint.length > 0
        return self.fingerprint == other.fingerprint and (told_apart or self.inode == other.inode)

    def __str__(self) -> str:
        return f"{self.fingerprint.digest}/{self.fingerprint.length}@{self.inode}:{self.offset}"

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Reads `fingerprint/length@inode:offset`."""
        match = _TEXT.fullmatch(text)
        if match is None:
            raise invalid(cls.kind, f"{shown(text)} is not of the form `fingerprint/length@inode:offset`")
        return cls(Fingerprint(match[1], int(match[2])), int(match[3]), int(match[4]))

    def to_fields(self) -> dict[str, Json]:
        """The parts side by side."""
        return {
            "fingerprint": self.fingerprint.digest,
            "fingerprint_length": self.fingerprint.length,
            "inode": self.inode,
            "offset": self.offset,
        }

    @classmethod
    def from_fields(cls, fields: Mapping[str, object]) -> Self:
        """Reads what `to_fields` wrote."""
        digest = string(cls.kind, "fingerprint", fields["fingerprint"])
        length = whole_number(cls.kind, "fingerprint_length", fields["fingerprint_length"])
        inode = whole_number(cls.kind, "inode", fields["inode"], most=INT64_MAX)
        return cls(Fingerprint(digest, length), inode, whole_number(cls.kind, "offset", fields["offset"]))

"""Who numbered a MySQL transaction: a server's UUID and, since MySQL 8.3, a tag. It holds no numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import final

from holdfast.model.positions.checks import invalid, shown

KIND = "gtid_set"
"""The kind of position that is made of these, for errors."""

_UUID = re.compile(r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_TAG = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,31}")


@final
@dataclass(frozen=True, slots=True)
class Tsid:
    """MySQL's transaction source identifier. Kept in lower case, as MySQL does; no tag is the empty tag."""

    uuid: str
    tag: str = ""

    def __post_init__(self) -> None:
        if not _UUID.fullmatch(self.uuid):
            raise invalid(KIND, f"{shown(self.uuid)} is not a UUID with hyphens")
        if self.tag and not _TAG.fullmatch(self.tag):
            raise invalid(KIND, f"{shown(self.tag)} is not a tag of at most 32 letters, digits and underscores")
        object.__setattr__(self, "uuid", self.uuid.lower())
        object.__setattr__(self, "tag", self.tag.lower())

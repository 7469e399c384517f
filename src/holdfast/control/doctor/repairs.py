"""What the doctor can do, as values: nothing among it loses anything. What carries it out is in `treatment`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ASIDE = "set-aside"
"""Where files go that are of no more use and might still tell somebody something."""


@dataclass(frozen=True, slots=True)
class Remove:
    """Removes a file that nothing refers to."""

    path: Path

    def __str__(self) -> str:
        return f"Remove {self.path}."


@dataclass(frozen=True, slots=True)
class CutTail:
    """Removes the bytes at the end of a file that nothing refers to."""

    path: Path
    length: int
    """What stays."""

    def __str__(self) -> str:
        return f"Cut {self.path} to the {self.length:,} bytes that are in use."


@dataclass(frozen=True, slots=True)
class SetAside:
    """Moves files away that cannot be used."""

    paths: tuple[Path, ...]
    why: str

    def __str__(self) -> str:
        names = ", ".join(map(str, self.paths[:4])) + (" …" if len(self.paths) > 4 else "")
        return f"Move {names} to {ASIDE!r}: {self.why}"


@dataclass(frozen=True, slots=True)
class WriteMetadata:
    """Writes down again which query a checkpoint of Spark belongs to, as the outbox knows it."""

    path: Path
    query_id: str

    def __str__(self) -> str:
        return f"Write {self.path} anew, for query {self.query_id}, as the outbox remembers it."


@dataclass(frozen=True, slots=True)
class MendStore:
    """Lets the doctor of the checkpoint store do what it proposes."""

    what: str

    def __str__(self) -> str:
        return self.what


@dataclass(frozen=True, slots=True)
class RollBackRecord:
    """Makes an older version of a record the newest one."""

    key: str
    version: int

    def __str__(self) -> str:
        return f"Go back to version {self.version} of {self.key!r}, the newest that can be read."


@dataclass(frozen=True, slots=True)
class UpgradeStore:
    """Brings the checkpoint store up to the present format."""

    epoch: int
    """The newest owner that the logs know; a store of an older format knows none."""

    def __str__(self) -> str:
        return "Bring the checkpoint store up to the present format; its old tables stay as they are."


@dataclass(frozen=True, slots=True)
class SignOwner:
    """Writes the owner's file anew, which whoever repairs does anyway."""

    def __str__(self) -> str:
        return "Write the owner's file anew."


@dataclass(frozen=True, slots=True)
class UpgradeDeadLetters:
    """Writes older dead letters down in the present format."""

    def __str__(self) -> str:
        return "Write the older dead letters down in the present format."


Repair = (
    Remove
    | CutTail
    | SetAside
    | WriteMetadata
    | MendStore
    | RollBackRecord
    | UpgradeStore
    | SignOwner
    | UpgradeDeadLetters
)

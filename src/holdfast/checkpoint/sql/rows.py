"""Turns rows of the SQL tables into versions and back. A row that makes no sense is `CheckpointDamaged`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from holdfast.checkpoint.contract import Origin, Version
from holdfast.checkpoint.envelope import Encoding, Sealed
from holdfast.checkpoint.kept import Kept
from holdfast.checkpoint.rules import place
from holdfast.model.errors import CheckpointDamaged

if TYPE_CHECKING:
    from holdfast.checkpoint.sql.schema import Row, Value


@dataclass(frozen=True, slots=True)
class Head:
    """Where a key stands: the highest version it ever had, and the newest one (0 when it is absent)."""

    counted: int = 0
    newest: int = 0


def row_of(namespace: str, kept: Kept) -> Row:
    """The values of `VERSION_COLUMNS` for one version."""
    version, sealed = kept.version, kept.sealed
    named = (namespace, version.key, version.number, version.created_at.isoformat(), version.size, version.checksum)
    return (*named, version.epoch, version.origin.value, version.restored_from, sealed.encoding.value, sealed.data)


def kept_in(row: Row, key: str) -> Kept:
    """The version and payload in a whole row of `VERSION_COLUMNS`."""
    version = version_in(row, key)
    encoding, data = row[-2:]
    try:
        if not isinstance(data, bytes):
            raise _unreadable(key, version.number)
        return Kept(version, Sealed(data, Encoding(encoding), version.size, version.checksum))
    except ValueError as error:
        raise _unreadable(key, version.number) from error


def version_in(row: Row, key: str) -> Version:
    """The version in the first columns of a row."""
    number, created_at, size, checksum, epoch, origin, restored_from = row[2:9]
    try:
        return Version(
            key,
            number_in(number),
            datetime.fromisoformat(str(created_at)),
            number_in(size),
            number_in(checksum),
            number_in(epoch),
            Origin(origin),
            None if restored_from is None else number_in(restored_from),
        )
    except ValueError as error:
        raise _unreadable(key, number) from error


def number_in(value: Value) -> int:
    """The value of a column that holds numbers."""
    if isinstance(value, int):
        return value
    message = f"{value!r} is not a number"
    raise ValueError(message)


def _unreadable(key: str, number: Value) -> CheckpointDamaged:
    where = place(key, number) if isinstance(number, int) else f"{key!r}, newest version,"
    return CheckpointDamaged(
        f"The checkpoint {where} is damaged: its row is missing or cannot be read.",
        kept="Older versions and other keys are untouched.",
        remedy="Run `doctor` on the store to see which version is whole and to go back to it.",
        where=where,
    )

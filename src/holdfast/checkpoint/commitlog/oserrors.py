"""Tells what an error of the operating system means for a store."""

from __future__ import annotations

from holdfast.disk.trouble import Trouble, os_trouble
from holdfast.model.errors import CheckpointError, StoreFull, StoreReadOnly, StoreUnavailable


def store_error(number: int | None, where: str, reason: str) -> CheckpointError:
    """The error to raise for an error number, at a place, for a reason in words."""
    match os_trouble(number):
        case Trouble.FULL:
            return StoreFull(
                f"{where} cannot be written: {reason}.",
                kept="All earlier commits are kept.",
                remedy="Make room, or raise the quota; then go on.",
                where=where,
            )
        case Trouble.READ_ONLY:
            return StoreReadOnly(
                f"{where} may not be used: {reason}.",
                kept="All earlier commits are kept.",
                remedy="Give this user the right to read and write there, or choose another place.",
                where=where,
            )
        case _:
            return StoreUnavailable(
                f"{where} cannot be reached: {reason}.",
                kept="Nothing of the commit under way was published.",
                remedy="See that the disk or server is there, then try again.",
                where=where,
            )


def vanished(where: str) -> StoreUnavailable:
    """The error for a store whose newest document was removed under its feet."""
    return StoreUnavailable(
        f"{where} was there and is gone, although the newest commit is never removed.",
        kept="Nothing was written.",
        remedy="See whether the disk is mounted and the place is the right one, then open the store again.",
        where=where,
    )

"""Tells what an error of the operating system means for a delivery."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

from holdfast.disk.trouble import Trouble, os_trouble
from holdfast.model.errors import DeliveryError, Fatal, Transient

if TYPE_CHECKING:
    from pathlib import Path

_UNFIT = {errno.ENOTDIR, errno.ENAMETOOLONG, errno.EOPNOTSUPP, errno.EXDEV}
"""What a place answers in which files cannot be published at all."""


def delivery_error(error: OSError, directory: Path) -> DeliveryError:
    """The error to raise for one of the operating system that was met in a directory."""
    kind, what, remedy = _meaning(error.errno)
    reason = os.strerror(error.errno) if error.errno else str(error)
    return kind(
        f"The directory {directory} {what}: {reason}.",
        kept="No file was published in part, and none was replaced.",
        remedy=remedy,
        directory=str(directory),
    )


def _meaning(number: int | None) -> tuple[type[DeliveryError], str, str]:
    trouble = os_trouble(number)
    if trouble is Trouble.FULL:
        return Transient, "is full", "Make room or raise the quota; the batch is tried again by itself."
    if trouble is Trouble.READ_ONLY or number in _UNFIT:
        return (
            Fatal,
            "may not be used",
            "Let this user write there, on a disk that knows hard links. The batch is tried again by itself.",
        )
    return Transient, "cannot be used", "See that the disk is there; the batch is tried again by itself."

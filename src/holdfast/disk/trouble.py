"""The kinds of trouble that a place on disk can be in, and which of them an error number means. Pure."""

from __future__ import annotations

import errno
from enum import Enum

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_READ_ONLY = {errno.EROFS, errno.EACCES, errno.EPERM}


class Trouble(Enum):
    """Why a file or a directory could not be used."""

    FULL = "there is no room, or no more is allowed"
    READ_ONLY = "this user may not write it, or nobody may"
    GONE = "it is not there"
    BUSY = "another process holds it"
    FOREIGN = "it is something else than was expected"
    DAMAGED = "its bytes are not what was written"
    OTHER = "none of these"


def os_trouble(number: int | None) -> Trouble:
    """What an error number of the operating system says about the place."""
    if number in _FULL:
        return Trouble.FULL
    if number in _READ_ONLY:
        return Trouble.READ_ONLY
    return Trouble.GONE if number == errno.ENOENT else Trouble.OTHER

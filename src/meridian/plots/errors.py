"""Every error that pictures raise, as one tree.

HoldfastError
└── PictureNotWritten            MD-401

What cannot be drawn, because it is not known, is an `InvalidRequest`.
"""

from __future__ import annotations

from holdfast.model.errors import HoldfastError


class PictureNotWritten(HoldfastError):
    """Raised when the file of a picture cannot be written."""

    code = "MD-401"

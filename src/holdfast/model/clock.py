"""The time of day that is written beside what is kept. It orders nothing and identifies nothing.

Whoever needs it takes a `Clock`, so a test can give another; `utc_now` is the one that stands for all of them when
none is given.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]
"""Gives the time now, with a zone."""


def utc_now() -> datetime:
    """The clock of everybody who is given no other."""
    return datetime.now(UTC)

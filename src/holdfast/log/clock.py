"""The time that a log writes beside its rows. It orders nothing and identifies nothing."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

Clock = Callable[[], datetime]
"""Gives the time now, with a zone."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def utc_now() -> datetime:
    """The clock of every log that is given no other."""
    return datetime.now(UTC)


def milliseconds(time: datetime) -> int:
    """A time as the index keeps it."""
    return (time - _EPOCH) // timedelta(milliseconds=1)


def from_milliseconds(number: int) -> datetime:
    """The time that the index keeps as this number."""
    return _EPOCH + timedelta(milliseconds=number)

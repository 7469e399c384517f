"""Times as an index keeps them: milliseconds since 1970."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def milliseconds(time: datetime) -> int:
    """A time as the index keeps it."""
    return (time - _EPOCH) // timedelta(milliseconds=1)


def from_milliseconds(number: int) -> datetime:
    """The time that the index keeps as this number."""
    return _EPOCH + timedelta(milliseconds=number)

"""Sizes and durations as people write them: `16MiB`, `200ms`, `1h30m`. Pure.

A text that is written by `format_size` or `format_duration` is read back as the same value.
"""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal

_SIZES = {
    "TiB": 1 << 40,
    "GiB": 1 << 30,
    "MiB": 1 << 20,
    "KiB": 1 << 10,
    "TB": 10**12,
    "GB": 10**9,
    "MB": 10**6,
    "kB": 10**3,
    "KB": 10**3,
    "B": 1,
}
_BINARY = ("TiB", "GiB", "MiB", "KiB", "B")
_DURATIONS = {
    "w": 604_800_000_000,
    "d": 86_400_000_000,
    "h": 3_600_000_000,
    "m": 60_000_000,
    "s": 1_000_000,
    "ms": 1_000,
    "us": 1,
}
"""Microseconds of each unit, longest first."""

_NUMBER = r"[0-9]{1,15}(?:\.[0-9]{1,15})?"
SIZE_PATTERN = rf"^{_NUMBER} ?(?:{'|'.join(_SIZES)})$"
DURATION_PATTERN = rf"^(?=[0-9]){''.join(rf'(?:{_NUMBER}{unit})?' for unit in _DURATIONS)}$"

_PART = re.compile(rf"({_NUMBER}) ?([A-Za-z]+)")
_SIZE = re.compile(SIZE_PATTERN)
_DURATION = re.compile(DURATION_PATTERN)


def parse_size(text: str) -> int:
    """Bytes; `ValueError` when the text is no size, or no whole number of bytes."""
    if not _SIZE.fullmatch(text):
        raise ValueError("no size")
    return _total(text, _SIZES)


def format_size(size: int) -> str:
    """The size in the largest binary unit that divides it."""
    unit = next(unit for unit in _BINARY if size % _SIZES[unit] == 0 and (size or unit == "B"))
    return f"{size // _SIZES[unit]}{unit}"


def parse_duration(text: str) -> timedelta:
    """A length of time; `ValueError` when the text is none, is finer than a microsecond, or longer than time itself."""
    if not _DURATION.fullmatch(text):
        raise ValueError("no duration")
    try:
        return timedelta(microseconds=_total(text, _DURATIONS))
    except OverflowError as error:
        raise ValueError("too long") from error


def format_duration(duration: timedelta) -> str:
    """The duration in units that fall, weeks left out; `0s` when it is none."""
    left = duration // timedelta(microseconds=1)
    parts = []
    for unit, length in _DURATIONS.items():
        if unit != "w" and left >= length:
            parts.append(f"{left // length}{unit}")
            left %= length
    return "".join(parts) or "0s"


def _total(text: str, units: dict[str, int]) -> int:
    total = sum((Decimal(number) * units[unit] for number, unit in _PART.findall(text)), Decimal())
    if total != int(total):
        raise ValueError("no whole number of the smallest unit")
    return int(total)

"""Numbers as people read them: times until and since, distances, probabilities, counts. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import Enum

from meridian.orbit.time import NS_PER_SECOND, format_ccsds

NOTHING = "-"
"""Stands where nothing is known."""
UNKNOWN = "unknown"
"""Stands for a probability that cannot be computed: nobody may take it for none."""
_LEAST_CHANCE = 1e-12
_DAY, _HOUR, _MINUTE = 86_400, 3_600, 60
_CALENDAR_NS = range(-62_135_596_800 * NS_PER_SECOND, 253_402_300_800 * NS_PER_SECOND)
"""The years from 1 to 9999, which a calendar can name."""


class Severity(Enum):
    """How bad something is; the value is the style in which it is drawn."""

    QUIET = ""
    UNKNOWN = "magenta"
    RAISED = "yellow"
    HIGH = "bold red"

    @property
    def mark(self) -> str:
        """Tells it where there are no colours."""
        return _MARKS[self]


_MARKS = {Severity.QUIET: "  ", Severity.UNKNOWN: " ?", Severity.RAISED: " !", Severity.HIGH: "!!"}


def severity_of(probability: float) -> Severity:
    """How bad a conjunction of this probability is: people act above one in ten thousand."""
    if math.isnan(probability):
        return Severity.UNKNOWN
    if probability > 1e-4:
        return Severity.HIGH
    return Severity.RAISED if probability > 1e-6 else Severity.QUIET


def clock(time_ns: int | None) -> str:
    """The time of day in UTC."""
    return NOTHING if time_ns is None or time_ns not in _CALENDAR_NS else format_ccsds(time_ns)[11:19]


def moment(time_ns: int) -> str:
    """Day and time in UTC, to the second."""
    return NOTHING if time_ns not in _CALENDAR_NS else format_ccsds(time_ns)[:19].replace("T", " ")


def countdown(left_ns: int) -> str:
    """How long until something is, with `ago` once it has been."""
    whole = abs(left_ns) // NS_PER_SECOND
    days, rest = divmod(whole, _DAY)
    hours, minutes, seconds = rest // _HOUR, rest % _HOUR // _MINUTE, rest % _MINUTE
    text = f"{days:,}d {hours:02}:{minutes:02}" if days else f"{hours:02}:{minutes:02}:{seconds:02}"
    return text if left_ns >= 0 else f"{text} ago"


def lasting(seconds: float | None) -> str:
    """How long something takes, to two or three digits."""
    if seconds is None or not math.isfinite(seconds):
        return NOTHING
    if abs(seconds) < 1:
        return f"{seconds * 1000:.0f} ms"
    if abs(seconds) < 10:
        return f"{seconds:.1f} s"
    if abs(seconds) < 10 * _MINUTE:
        return f"{seconds:.0f} s"
    return f"{seconds / _MINUTE:,.0f} min" if abs(seconds) < 10 * _HOUR else f"{seconds / _HOUR:,.0f} h"


def distance(metres: float) -> str:
    """Metres below a kilometre, kilometres above."""
    if not math.isfinite(metres):
        return NOTHING
    return f"{metres:,.0f} m" if abs(metres) < 999.5 else f"{metres / 1000:,.2f} km"


def speed(metres_a_second: float) -> str:
    """In kilometres a second."""
    return f"{metres_a_second / 1000:,.2f} km/s" if math.isfinite(metres_a_second) else NOTHING


def chance(probability: float) -> str:
    """A probability; so small that nobody could act on it, it is told as that."""
    if not math.isfinite(probability):
        return UNKNOWN
    return f"{probability:.1e}" if probability >= _LEAST_CHANCE else f"<{_LEAST_CHANCE:.0e}"


def size(count: int) -> str:
    """Bytes."""
    value, units = float(count), ["B", "kB", "MB", "GB", "TB"]
    while value >= 999.5 and len(units) > 1:
        value, units = value / 1000, units[1:]
    return f"{value:,.0f} {units[0]}"


def tally(counts: Mapping[str, int]) -> str:
    """How many altogether, and of what, the most frequent first; what did not happen is left out."""
    happened = sorted(((count, name) for name, count in counts.items() if count), key=lambda each: (-each[0], each[1]))
    if not happened:
        return "0"
    total = sum(count for count, _ in happened)
    return f"{total:,} ({', '.join(f'{name} {count:,}' for count, name in happened)})"

"""Times as whole nanoseconds since 1970 in UTC, and their forms in CCSDS messages, in TLEs and for SGP4.

A TLE's epoch (a hundred-millionth of a day) and a CCSDS epoch are whole numbers of nanoseconds, so nothing is rounded.
As in Unix time a leap second has no number of its own; a text that names one is refused. Reads no clock.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import NDArray

Times = NDArray[np.int64]

NS_PER_SECOND = 1_000_000_000
NS_PER_DAY = 86_400 * NS_PER_SECOND
_UNIX_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
JULIAN_UNIX_EPOCH = 2_440_587.5
_CCSDS = re.compile(
    r"(?P<year>\d{4})-(?:(?P<month>\d\d)-(?P<day>\d\d)|(?P<day_of_year>\d{3}))"
    r"T(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)(?:\.(?P<fraction>\d{1,9}))?Z?",
    re.ASCII,
)
EARLIEST_NS = (datetime(1957, 1, 1, tzinfo=UTC) - _UNIX_EPOCH).days * NS_PER_DAY
"""No element set and no message is of a time before the first satellite; a TLE has no year before it."""
LATEST_NS = (datetime(2157, 1, 1, tzinfo=UTC) - _UNIX_EPOCH).days * NS_PER_DAY
_YEARS = range(1678, 2262)
"""Whole years of which every nanosecond fits into 64 bits."""


def parse_ccsds(text: str) -> int | None:
    """The time that a CCSDS text names, by calendar day or by day of the year; none when it is no such text."""
    found = _CCSDS.fullmatch(text)
    if found is None:
        return None
    try:
        day = _day_of(found)
    except ValueError:
        return None
    hour, minute, second = (int(found[part]) for part in ("hour", "minute", "second"))
    if hour > 23 or minute > 59 or second > 59:
        return None
    fraction = int((found["fraction"] or "").ljust(9, "0"))
    return start_of_day(day) + (hour * 3600 + minute * 60 + second) * NS_PER_SECOND + fraction


def why_no_time(text: str) -> str:
    """Why a text names no time that elements or messages can have, as the end of a sentence."""
    time = parse_ccsds(text)
    if time is not None:
        return "lies before 1957 or after 2156"
    if len(text) <= 40 and re.search(r"T\d\d:\d\d:60", text):
        return "names second 60; leap seconds are not supported"
    return "is no time in UTC (such as 2026-08-21T03:04:05.678)"


def _day_of(found: re.Match[str]) -> datetime:
    year = int(found["year"])
    if year not in _YEARS:
        raise ValueError(year)
    if found["day_of_year"] is None:
        return datetime(year, int(found["month"]), int(found["day"]), tzinfo=UTC)
    day = datetime(year, 1, 1, tzinfo=UTC) + timedelta(days=int(found["day_of_year"]) - 1)
    if day.year != year:
        raise ValueError(found["day_of_year"])
    return day


def start_of_day(day: datetime) -> int:
    """The nanoseconds since 1970 at the beginning of a day."""
    return (day - _UNIX_EPOCH).days * NS_PER_DAY


def format_ccsds(time_ns: int) -> str:
    """The calendar form, with as many decimals as the time has, but no fewer than three."""
    seconds, fraction = divmod(time_ns, NS_PER_SECOND)
    moment = _UNIX_EPOCH + timedelta(seconds=seconds)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{f'{fraction:09d}'.rstrip('0').ljust(3, '0')}"


def calendar(time_ns: int) -> datetime:
    """The moment as a calendar knows it, cut to microseconds."""
    return _UNIX_EPOCH + timedelta(microseconds=time_ns // 1000)


def julian(times_ns: Times) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Julian dates as SGP4 takes them: the midnight before, and the fraction of the day, which keeps full precision."""
    days, rest = np.divmod(np.asarray(times_ns, dtype=np.int64), NS_PER_DAY)
    return days + JULIAN_UNIX_EPOCH, rest / NS_PER_DAY

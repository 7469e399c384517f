"""MySQL's text form of a GTID set: `uuid:interval:interval:tag:interval,uuid:…`. It does no arithmetic on sets."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING

from holdfast.model.positions.checks import invalid, shown
from holdfast.model.positions.tsid import KIND, Tsid

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from holdfast.model.errors import InvalidPosition
    from holdfast.model.positions.intervals import Interval, Intervals

_INTERVAL = re.compile(r"([0-9]{1,19})(?:\s*-\s*([0-9]{1,19}))?")
_REMEDY = "Copy the set as SELECT @@GLOBAL.gtid_executed prints it."


def write(members: Iterable[tuple[Tsid, Intervals]]) -> str:
    """The text of sorted members: a UUID once, its numbers without a tag first, then each tag with its numbers."""
    by_uuid = groupby(members, key=lambda member: member[0].uuid)
    return ",".join(":".join([uuid, *_write_tags(group)]) for uuid, group in by_uuid)


def read(text: str) -> Iterator[tuple[Tsid, Intervals]]:
    """The members that a text names, in its order and one by one; the empty text has none."""
    if not text.strip():
        return
    for part in text.split(","):
        uuid, *tokens = (token.strip() for token in part.split(":"))
        yield from _read_tokens(uuid, tokens)


def _write_tags(group: Iterable[tuple[Tsid, Intervals]]) -> Iterator[str]:
    for tsid, found in group:
        if tsid.tag:
            yield tsid.tag
        yield from (str(first) if first == last else f"{first}-{last}" for first, last in found)


def _read_tokens(uuid: str, tokens: list[str]) -> Iterator[tuple[Tsid, Intervals]]:
    tsid = Tsid(uuid)
    numbered = False
    for token in tokens:
        interval = _read_interval(token)
        if interval is not None:
            yield tsid, (interval,)
        elif numbered or tsid.tag == "":
            tsid = Tsid(uuid, _tag(token))
        else:
            raise _unnumbered(tsid)
        numbered = interval is not None
    if not numbered:
        raise _unnumbered(tsid)


def _read_interval(token: str) -> Interval | None:
    match = _INTERVAL.fullmatch(token)
    return None if match is None else (int(match[1]), int(match[2] or match[1]))


def _tag(token: str) -> str:
    if not token or token[0].isdigit():
        raise invalid(KIND, f"{shown(token)} is neither a tag nor an interval of numbers", remedy=_REMEDY)
    return token


def _unnumbered(tsid: Tsid) -> InvalidPosition:
    name = f"{tsid.uuid}:{tsid.tag}" if tsid.tag else tsid.uuid
    return invalid(KIND, f"no transaction numbers follow {name}", remedy=_REMEDY)

"""Reads conjunction data messages (CCSDS 508.0-B-1), KVN or XML, and refuses what the standard does not allow.

Every keyword must be known, in its order, once, of its kind and in its unit. Two things are passed over because real
senders do them: a number that is not known, written `NaN`, where it may be left out; and a wrong unit of what follows
from the states anyway, which is remarked.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from meridian.orbit.cdm.keywords import COVARIANCE, KEYWORDS, RECOMPUTABLE, Block, Keyword, Kind, Need
from meridian.orbit.cdm.message import CdmObject, ConjunctionMessage, Remark, Said, Value
from meridian.orbit.errors import InvalidMessage
from meridian.orbit.ndm import COMMENT, Entry, Unreadable, entries
from meridian.orbit.time import parse_ccsds

_NOT_NEGATIVE = frozenset({"MISS_DISTANCE", "RELATIVE_SPEED", *(row[at].name for at, row in enumerate(COVARIANCE))})
_FIRST_OF_OBJECT = "OBJECT"


def read_cdm(text: str) -> ConjunctionMessage:
    """The message of a text."""
    try:
        parts = list(_parts(entries(text)))
    except Unreadable as error:
        raise invalid(error.what, keyword="syntax", line=error.line) from error
    if len(parts) != 3:
        raise invalid(f"There are {len(parts) - 1} objects and not two.", keyword=_FIRST_OF_OBJECT, line=1)
    remarks: list[Remark] = []
    relative, first, second = (
        _said(part, block, remarks)
        for part, block in zip(parts, (Block.RELATIVE, Block.OBJECT, Block.OBJECT), strict=True)
    )
    _require_object(first, "OBJECT1", parts[1][0].line)
    _require_object(second, "OBJECT2", parts[2][0].line)
    return ConjunctionMessage(
        relative, CdmObject(first.values, first.comments), CdmObject(second.values, second.comments), tuple(remarks)
    )


def _parts(found: Iterable[Entry]) -> Iterator[list[Entry]]:
    part: list[Entry] = []
    for entry in found:
        if entry.keyword == _FIRST_OF_OBJECT:
            yield part
            part = []
        part.append(entry)
    yield part


def _said(part: list[Entry], block: Block, remarks: list[Remark]) -> Said:
    values: dict[str, Value] = {}
    order = list(KEYWORDS[block])
    reached = -1
    for entry in part:
        if entry.keyword == COMMENT:
            continue
        keyword = KEYWORDS[block].get(entry.keyword)
        if keyword is None:
            raise invalid(f"{entry.keyword} is no keyword of this part.", keyword=entry.keyword, line=entry.line)
        reached = _in_order(order, reached, entry)
        _require_unit(keyword, entry, remarks)
        value = _value(keyword, entry)
        if value is not None:
            values[keyword.name] = value
    _require_all(values, block, part[0].line if part else 1)
    return Said(values, tuple(entry.value for entry in part if entry.keyword == COMMENT))


def _in_order(order: list[str], reached: int, entry: Entry) -> int:
    place = order.index(entry.keyword)
    if place == reached:
        raise invalid(f"{entry.keyword} comes a second time.", keyword=entry.keyword, line=entry.line)
    if place < reached:
        raise invalid(f"{entry.keyword} must stand above {order[reached]}.", keyword=entry.keyword, line=entry.line)
    return place


def _require_unit(keyword: Keyword, entry: Entry, remarks: list[Remark]) -> None:
    if entry.unit in (None, keyword.unit):
        return
    what = f"The unit of {keyword.name} is {entry.unit!r} and must be {keyword.unit!r}."
    if keyword.name not in RECOMPUTABLE:
        raise invalid(what, keyword=keyword.name, line=entry.line)
    remarks.append(Remark(entry.line, keyword.name, what))


def _value(keyword: Keyword, entry: Entry) -> Value | None:
    if keyword.kind is Kind.TEXT:
        return _text(keyword, entry)
    if keyword.kind is Kind.TIME:
        return _time(entry)
    return _number(keyword, entry)


def _text(keyword: Keyword, entry: Entry) -> str:
    if not entry.value:
        raise invalid(f"{keyword.name} is empty.", keyword=keyword.name, line=entry.line)
    if keyword.choices and entry.value not in keyword.choices:
        what = f"{keyword.name} is {entry.value!r} and must be {' or '.join(keyword.choices)}."
        raise invalid(what, keyword=keyword.name, line=entry.line)
    return entry.value


def _time(entry: Entry) -> int:
    time = parse_ccsds(entry.value)
    if time is None:
        raise invalid(f"{entry.value!r} is no time in UTC.", keyword=entry.keyword, line=entry.line)
    return time


def _number(keyword: Keyword, entry: Entry) -> float | int | None:
    try:
        value = float(entry.value)
    except ValueError:
        value = math.inf
    if math.isnan(value) and keyword.need is Need.OPTIONAL:
        return None
    if not math.isfinite(value) or (keyword.kind is Kind.WHOLE and not value.is_integer()):
        raise invalid(f"{keyword.name} is {entry.value!r}.", keyword=keyword.name, line=entry.line)
    if (value < 0 and keyword.name in _NOT_NEGATIVE) or (
        keyword.name == "COLLISION_PROBABILITY" and not 0 <= value <= 1
    ):
        raise invalid(f"{keyword.name} cannot be {value}.", keyword=keyword.name, line=entry.line)
    return int(value) if keyword.kind is Kind.WHOLE else value


def _require_all(values: dict[str, Value], block: Block, line: int) -> None:
    for keyword in KEYWORDS[block].values():
        if keyword.need is Need.REQUIRED and keyword.name not in values:
            raise invalid(f"The part that begins here has no {keyword.name}.", keyword=keyword.name, line=line)
    for row in COVARIANCE[6:]:
        there = [keyword.name in values for keyword in row]
        if block is Block.OBJECT and any(there) and not all(there):
            raise invalid("A row of the covariance is not whole.", keyword=row[there.index(False)].name, line=line)


def _require_object(said: Said, name: str, line: int) -> None:
    if said.text(_FIRST_OF_OBJECT) != name:
        raise invalid(f"This is {said.text(_FIRST_OF_OBJECT)} and should be {name}.", keyword="OBJECT", line=line)


def invalid(what: str, *, keyword: str, line: int) -> InvalidMessage:
    """The error about one keyword of one line."""
    return InvalidMessage(
        f"Line {line}: {what}",
        remedy="Ask the originator for a message that follows CCSDS 508.0-B-1.",
        keyword=keyword,
        line=line,
    )

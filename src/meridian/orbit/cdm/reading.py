"""Reads conjunction data messages (CCSDS 508.0-B-1), KVN or XML, and refuses what the standard does not allow.

Every keyword must be known, in its order, once, of its kind and in its unit. Two things are passed over because real
senders do them: a number that is not known, written `NaN`, where it may be left out; and a wrong unit of what follows
from the states anyway, which is remarked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from meridian.orbit.cdm.keywords import COVARIANCE, KEYWORDS, RECOMPUTABLE, Block, Keyword, Kind, Need
from meridian.orbit.cdm.message import CdmObject, ConjunctionMessage, Remark, Said, Value
from meridian.orbit.errors import InvalidMessage
from meridian.orbit.ndm import COMMENT, Entry, Unreadable, entries
from meridian.orbit.numerals import MOST_DIGITS, parse_number, parse_whole
from meridian.orbit.texts import LARGEST_MESSAGE
from meridian.orbit.time import EARLIEST_NS, LATEST_NS, parse_ccsds, why_no_time

_LARGEST = 1e30
"""No quantity of an encounter is as large, and none below makes a product overflow."""
_NOT_NEGATIVE = frozenset(
    {
        *("MISS_DISTANCE", "RELATIVE_SPEED", "MASS", "AREA_PC", "AREA_DRG", "AREA_SRP", "WEIGHTED_RMS"),
        *("SCREEN_VOLUME_X", "SCREEN_VOLUME_Y", "SCREEN_VOLUME_Z", "RECOMMENDED_OD_SPAN", "ACTUAL_OD_SPAN"),
        *(row[at].name for at, row in enumerate(COVARIANCE)),
    }
)
_AT_MOST = {"COLLISION_PROBABILITY": 1.0, "RESIDUALS_ACCEPTED": 100.0}
_FIRST_OF_OBJECT = "OBJECT"
_RADIUS = re.compile(r"HBR\s*+=\s*+(?P<metres>[0-9.+-]\S*+)\s*+(?P<unit>\S.*+)?")
"""A comment that says the combined radius; one without a digit, as `HBR = unknown`, says nothing."""


def read_cdm(text: str) -> ConjunctionMessage:
    """The message of a text."""
    if len(text) > LARGEST_MESSAGE:
        what = f"The message has {len(text):,} characters, and more than {LARGEST_MESSAGE:,} are not read."
        raise invalid(what, keyword="syntax", line=1, column=1)
    parts = list(_parts(_readable(text)))
    if len(parts) != 3:
        raise invalid(f"There are {len(parts) - 1} objects and not two.", keyword=_FIRST_OF_OBJECT, line=1, column=1)
    remarks: list[Remark] = []
    relative, first, second = (
        _said(part, block, remarks)
        for part, block in zip(parts, (Block.RELATIVE, Block.OBJECT, Block.OBJECT), strict=True)
    )
    _require_object(first, "OBJECT1", parts[1][0])
    _require_object(second, "OBJECT2", parts[2][0])
    _require_radius(parts[0])
    return ConjunctionMessage(
        relative, CdmObject(first.values, first.comments), CdmObject(second.values, second.comments), tuple(remarks)
    )


def _readable(text: str) -> Iterator[Entry]:
    for item in entries(text):
        if isinstance(item, Unreadable):
            raise invalid(item.what, keyword="syntax", line=item.line, column=item.column)
        yield item


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
    order = {name: place for place, name in enumerate(KEYWORDS[block])}
    last: Entry | None = None
    for entry in part:
        if entry.keyword == COMMENT:
            continue
        keyword = KEYWORDS[block].get(entry.keyword)
        if keyword is None:
            raise refused(entry, f"{entry.keyword[:60]} is no keyword of this part.")
        _require_order(order, last, entry)
        last = entry
        _require_unit(keyword, entry, remarks)
        value = _value(keyword, entry)
        if value is not None:
            values[keyword.name] = value
    _require_all(values, block, part[0].line if part else 1)
    return Said(values, tuple(entry.value for entry in part if entry.keyword == COMMENT))


def _require_order(order: Mapping[str, int], last: Entry | None, entry: Entry) -> None:
    if last is None or order[entry.keyword] > order[last.keyword]:
        return
    if entry.keyword == last.keyword:
        raise refused(entry, f"{entry.keyword} comes a second time.")
    raise refused(entry, f"{entry.keyword} must stand above {last.keyword}, and once.")


def _require_unit(keyword: Keyword, entry: Entry, remarks: list[Remark]) -> None:
    if keyword.kind is Kind.TEXT or entry.unit in (None, keyword.unit):
        return
    must = "there must be none" if keyword.unit is None else f"must be {keyword.unit!r}"
    what = f"The unit of {keyword.name} is {entry.unit[:60]!r} and {must}."
    if keyword.name not in RECOMPUTABLE:
        raise refused(entry, what)
    remarks.append(Remark(entry.line, keyword.name, what))


def _value(keyword: Keyword, entry: Entry) -> Value | None:
    if keyword.kind is Kind.TEXT:
        return _text(keyword, entry)
    if keyword.kind is Kind.TIME:
        return _time(entry)
    return _whole(entry) if keyword.kind is Kind.WHOLE else _number(keyword, entry)


def _text(keyword: Keyword, entry: Entry) -> str:
    if not entry.written:
        raise refused(entry, f"{keyword.name} is empty.")
    if keyword.choices and entry.written not in keyword.choices:
        raise refused(entry, f"{keyword.name} is {_shown(entry)} and must be {' or '.join(keyword.choices)}.")
    return entry.written


def _time(entry: Entry) -> int:
    time = parse_ccsds(entry.value)
    if time is None or not EARLIEST_NS <= time < LATEST_NS:
        raise refused(entry, f"{_shown(entry)} {why_no_time(entry.value)}.")
    return time


def _whole(entry: Entry) -> int | None:
    if _is_unknown(entry):
        return None
    value = parse_whole(entry.value)
    if value is None:
        what = f"{entry.keyword} is {_shown(entry)} and must be a whole number of at most {MOST_DIGITS} digits."
        raise refused(entry, what)
    return value


def _number(keyword: Keyword, entry: Entry) -> float | None:
    if keyword.need is Need.OPTIONAL and _is_unknown(entry):
        return None
    value = parse_number(entry.value)
    if value is None:
        raise refused(entry, f"{keyword.name} is {_shown(entry)} and must be a finite decimal number.")
    high = _AT_MOST.get(keyword.name)
    if abs(value) > _LARGEST:
        raise refused(entry, f"{keyword.name} is {value:g}, which no encounter has.")
    if value < 0 and (high is not None or keyword.name in _NOT_NEGATIVE):
        raise refused(entry, f"{keyword.name} is {value:g} and cannot be negative.")
    if high is not None and value > high:
        raise refused(entry, f"{keyword.name} is {value:g} and can be at most {high:g}.")
    return value


def _is_unknown(entry: Entry) -> bool:
    """Real senders write `NaN` where a value is not known."""
    return entry.value.lower() == "nan"


def _require_all(values: dict[str, Value], block: Block, line: int) -> None:
    for keyword in KEYWORDS[block].values():
        if keyword.need is Need.REQUIRED and keyword.name not in values:
            what = f"The part that begins here has no {keyword.name}."
            raise invalid(what, keyword=keyword.name, line=line, column=1)
    for row in COVARIANCE[6:]:
        there = [keyword.name in values for keyword in row]
        if block is Block.OBJECT and any(there) and not all(there):
            what = "A row of the covariance is not whole."
            raise invalid(what, keyword=row[there.index(False)].name, line=line, column=1)


def _require_object(said: Said, name: str, entry: Entry) -> None:
    if said.text(_FIRST_OF_OBJECT) != name:
        raise refused(entry, f"This is {said.text(_FIRST_OF_OBJECT)} and should be {name}.")


def _require_radius(part: list[Entry]) -> None:
    """The comments that say the radius say it once, as a number of metres."""
    said = [(entry, found) for entry in part if entry.keyword == COMMENT and (found := _RADIUS.fullmatch(entry.value))]
    for entry, found in said:
        metres = parse_number(found["metres"])
        if metres is None or metres < 0 or metres > _LARGEST:
            raise refused(
                entry, f"The radius HBR is {found['metres'][:40]!r} and must be a finite number from 0.", "HBR"
            )
        if found["unit"] not in (None, "[m]"):
            raise refused(entry, f"The unit of the radius HBR is {found['unit'][:40]!r} and must be '[m]'.", "HBR")
    if len({found["metres"] for _, found in said}) > 1:
        raise refused(said[-1][0], "The radius HBR comes a second time with another value.", "HBR")


def _shown(entry: Entry) -> str:
    """The value in a message: whole, unless it is long."""
    return repr(entry.written if len(entry.written) <= 40 else f"{entry.written[:40]}…")


def refused(entry: Entry, what: str, keyword: str | None = None) -> InvalidMessage:
    """The error about one keyword, with its place."""
    return invalid(what, keyword=keyword or entry.keyword, line=entry.line, column=entry.column)


def invalid(what: str, *, keyword: str, line: int, column: int) -> InvalidMessage:
    """The error about a place in a message."""
    return InvalidMessage(
        f"Line {line}, column {column}: {what}",
        remedy="Ask the originator for a message that follows CCSDS 508.0-B-1.",
        keyword=keyword,
        line=line,
        column=column,
    )

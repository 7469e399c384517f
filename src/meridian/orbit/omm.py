"""Orbit mean-elements messages (CCSDS 502.0), as KVN, XML, JSON and CSV, read strictly.

Every form becomes the same keywords with a line each, so one function says what they must be. JSON and CSV are the
forms of CelesTrak and Space-Track, which leave out what is the same for every message; there it is not asked for.
Whole files with bad messages in them are read by `meridian.orbit.catalog`; `meridian.orbit.omm_writing` writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from meridian.orbit.elements import OTHER_THEORIES, Elements, Source, invalid, require_in_range
from meridian.orbit.errors import InvalidElements
from meridian.orbit.ndm import Entry
from meridian.orbit.numerals import MOST_DIGITS, parse_number, parse_whole
from meridian.orbit.time import EARLIEST_NS, LATEST_NS, parse_ccsds, why_no_time

VERSION = "CCSDS_OMM_VERS"
VERSIONS = ("1.0", "2.0", "3.0")

FIXED = {"CENTER_NAME": "EARTH", "REF_FRAME": "TEME", "TIME_SYSTEM": "UTC"}
THEORY = "MEAN_ELEMENT_THEORY"
_THEORIES = ("SGP4", "SGP/SGP4")
"""Not `SGP4-XP`: SGP4 would take its elements and give wrong positions."""
_LONGEST_TEXT = 256
_CLASSIFICATIONS = ("U", "C", "S")
NUMBERS = {
    "MEAN_MOTION": ("mean_motion_rev_day", "rev/day"),
    "ECCENTRICITY": ("eccentricity", None),
    "INCLINATION": ("inclination_deg", "deg"),
    "RA_OF_ASC_NODE": ("raan_deg", "deg"),
    "ARG_OF_PERICENTER": ("argument_of_perigee_deg", "deg"),
    "MEAN_ANOMALY": ("mean_anomaly_deg", "deg"),
    "BSTAR": ("bstar", "1/ER"),
    "MEAN_MOTION_DOT": ("mean_motion_dot", "rev/day**2"),
    "MEAN_MOTION_DDOT": ("mean_motion_ddot", "rev/day**3"),
}
WHOLE = {"EPHEMERIS_TYPE": 0, "ELEMENT_SET_NO": 999, "REV_AT_EPOCH": 0}
_OPTIONAL_NUMBERS = ("MEAN_MOTION_DOT", "MEAN_MOTION_DDOT")
_REQUIRED = ("OBJECT_NAME", "OBJECT_ID", "EPOCH", *(key for key in NUMBERS if key not in _OPTIONAL_NUMBERS))
_CARRIED_ALONG = frozenset(
    {
        *("COMMENT", "CLASSIFICATION", "MESSAGE_ID", "REF_FRAME_EPOCH", "GM", "COV_REF_FRAME", "FILE", "GP_ID", "SITE"),
        *("MASS", "SOLAR_RAD_AREA", "SOLAR_RAD_COEFF", "DRAG_AREA", "DRAG_COEFF", "SEMIMAJOR_AXIS", "PERIOD"),
        *("APOAPSIS", "PERIAPSIS", "OBJECT_TYPE", "RCS_SIZE", "COUNTRY_CODE", "LAUNCH_DATE", "DECAY_DATE"),
        *("TLE_LINE0", "TLE_LINE1", "TLE_LINE2"),
    }
)
"""What messages may carry besides and SGP4 needs not."""
_KNOWN = frozenset(
    {
        *(VERSION, "CREATION_DATE", "ORIGINATOR", "NORAD_CAT_ID", "CLASSIFICATION_TYPE", THEORY),
        *(*_REQUIRED, *_OPTIONAL_NUMBERS, *FIXED, *WHOLE, *_CARRIED_ALONG),
    }
)


class OmmForm(StrEnum):
    """The written forms of a message."""

    KVN = "kvn"
    XML = "xml"
    JSON = "json"
    CSV = "csv"


def elements_of(fields: Mapping[str, Entry], *, line: int, form: OmmForm) -> Elements:
    """What one message says; `line` is where it begins."""
    for entry in fields.values():
        _require_known(entry)
    _require_envelope(fields, line, form)
    for keyword in _REQUIRED:
        _required(fields, keyword, line)
    return Elements(
        norad=_norad(fields),
        designator=_text(fields, "OBJECT_ID") or None,
        name=_text(fields, "OBJECT_NAME"),
        epoch_ns=_epoch(fields["EPOCH"]),
        inclination_deg=_number(fields, "INCLINATION"),
        raan_deg=_number(fields, "RA_OF_ASC_NODE"),
        eccentricity=_number(fields, "ECCENTRICITY"),
        argument_of_perigee_deg=_number(fields, "ARG_OF_PERICENTER"),
        mean_anomaly_deg=_number(fields, "MEAN_ANOMALY"),
        mean_motion_rev_day=_number(fields, "MEAN_MOTION"),
        bstar=_number(fields, "BSTAR"),
        mean_motion_dot=_number(fields, "MEAN_MOTION_DOT"),
        mean_motion_ddot=_number(fields, "MEAN_MOTION_DDOT"),
        classification=_classification(fields),
        ephemeris_type=_ephemeris_type(fields),
        element_set=_whole(fields, "ELEMENT_SET_NO"),
        revolution=_whole(fields, "REV_AT_EPOCH"),
        source=Source.OMM,
    )


def refused(entry: Entry, what: str, field: str | None = None) -> InvalidElements:
    """The error about one keyword, with its place."""
    return invalid(what, field=field or entry.keyword, line=entry.line, column=entry.column)


def _require_known(entry: Entry) -> None:
    if entry.keyword not in _KNOWN and not entry.keyword.startswith(("USER_DEFINED_", "CX_", "CY_", "CZ_")):
        raise refused(entry, f"{entry.keyword[:60]} is no keyword of an OMM for SGP4.")


def _require_envelope(fields: Mapping[str, Entry], line: int, form: OmmForm) -> None:
    told = form in {OmmForm.KVN, OmmForm.XML}
    for keyword, allowed in {VERSION: VERSIONS, **{k: (v,) for k, v in FIXED.items()}, THEORY: _THEORIES}.items():
        if told:
            _required(fields, keyword, line)
        entry = fields.get(keyword)
        if entry is not None and entry.written not in allowed:
            raise refused(entry, f"{keyword} is {_shown(entry)} and must be {' or '.join(allowed)}.")


def _required(fields: Mapping[str, Entry], keyword: str, line: int) -> None:
    if keyword not in fields:
        raise invalid(f"The message that begins here has no {keyword}.", field=keyword, line=line, column=1)


def _text(fields: Mapping[str, Entry], keyword: str) -> str:
    entry = fields[keyword]
    if len(entry.written) > _LONGEST_TEXT:
        raise refused(entry, f"{keyword} has {len(entry.written):,} characters, and at most {_LONGEST_TEXT} are taken.")
    if not entry.written.isprintable():
        raise refused(entry, f"{keyword} has a character that cannot be shown.")
    return entry.written


def _classification(fields: Mapping[str, Entry]) -> str:
    entry = fields.get("CLASSIFICATION_TYPE")
    if entry is None or not entry.written:
        return "U"
    if entry.written not in _CLASSIFICATIONS:
        raise refused(entry, f"CLASSIFICATION_TYPE is {_shown(entry)} and must be {' or '.join(_CLASSIFICATIONS)}.")
    return entry.written


def _ephemeris_type(fields: Mapping[str, Entry]) -> int:
    kind = _whole(fields, "EPHEMERIS_TYPE")
    if kind in OTHER_THEORIES:
        what = f"The elements are for {OTHER_THEORIES[kind]}, and SGP4 would give wrong positions."
        raise refused(fields["EPHEMERIS_TYPE"], what)
    return kind


def _epoch(entry: Entry) -> int:
    time = parse_ccsds(entry.written)
    if time is None or not EARLIEST_NS <= time < LATEST_NS:
        raise refused(entry, f"{_shown(entry)} {why_no_time(entry.written)}.")
    return time


def _number(fields: Mapping[str, Entry], keyword: str) -> float:
    entry = fields.get(keyword)
    if entry is None:
        return 0.0
    field, unit = NUMBERS[keyword]
    if entry.unit not in (None, unit):
        raise refused(entry, f"The unit is {entry.unit[:60]!r} and must be {unit!r}.")
    value = parse_number(entry.value)
    if value is None:
        raise _not_a_number(entry)
    return require_in_range(field, value, entry.line, entry.column)


def _whole(fields: Mapping[str, Entry], keyword: str) -> int:
    entry = fields.get(keyword)
    if entry is None or not entry.written:
        return WHOLE[keyword]
    return _whole_number(entry)


def _norad(fields: Mapping[str, Entry]) -> int | None:
    entry = fields.get("NORAD_CAT_ID")
    return None if entry is None or not entry.written else _whole_number(entry)


def _whole_number(entry: Entry) -> int:
    value = parse_whole(entry.written)
    if value is None:
        raise refused(
            entry, f"{entry.keyword} is {_shown(entry)} and must be a whole number of at most {MOST_DIGITS} digits."
        )
    return value


def _not_a_number(entry: Entry) -> InvalidElements:
    return refused(entry, f"{entry.keyword} is {_shown(entry)} and must be a finite decimal number.")


def _shown(entry: Entry) -> str:
    """The value in a message: whole, unless it is long."""
    return repr(entry.written if len(entry.written) <= 40 else f"{entry.written[:40]}…")

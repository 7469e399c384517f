"""Orbit mean-elements messages (CCSDS 502.0), as KVN, XML, JSON and CSV, read strictly.

Every form becomes the same keywords with a line each, so one function says what they must be. JSON and CSV are the
forms of CelesTrak and Space-Track, which leave out what is the same for every message; there it is not asked for.
Whole files with bad messages in them are read by `meridian.orbit.catalog`; `meridian.orbit.omm_writing` writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from meridian.orbit.elements import Elements, Source, invalid, require_in_range
from meridian.orbit.errors import InvalidElements
from meridian.orbit.ndm import Entry
from meridian.orbit.time import parse_ccsds

VERSION = "CCSDS_OMM_VERS"
VERSIONS = ("1.0", "2.0", "3.0")

FIXED = {"CENTER_NAME": "EARTH", "REF_FRAME": "TEME", "TIME_SYSTEM": "UTC"}
THEORY = "MEAN_ELEMENT_THEORY"
_THEORIES = ("SGP4", "SGP/SGP4", "SGP4-XP")
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
    _require_known(fields)
    _require_envelope(fields, line, form)
    for keyword in _REQUIRED:
        _required(fields, keyword, line)
    return Elements(
        norad=_norad(fields),
        designator=fields["OBJECT_ID"].value or None,
        name=fields["OBJECT_NAME"].value,
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
        classification=fields["CLASSIFICATION_TYPE"].value if "CLASSIFICATION_TYPE" in fields else "U",
        ephemeris_type=_whole(fields, "EPHEMERIS_TYPE"),
        element_set=_whole(fields, "ELEMENT_SET_NO"),
        revolution=_whole(fields, "REV_AT_EPOCH"),
        source=Source.OMM,
    )


def _require_known(fields: Mapping[str, Entry]) -> None:
    for keyword, entry in fields.items():
        if keyword not in _KNOWN and not keyword.startswith(("USER_DEFINED_", "CX_", "CY_", "CZ_")):
            raise invalid(f"{keyword} is no keyword of an OMM for SGP4.", field=keyword, line=entry.line)


def _require_envelope(fields: Mapping[str, Entry], line: int, form: OmmForm) -> None:
    told = form in {OmmForm.KVN, OmmForm.XML}
    for keyword, allowed in {VERSION: VERSIONS, **{k: (v,) for k, v in FIXED.items()}, THEORY: _THEORIES}.items():
        if told:
            _required(fields, keyword, line)
        entry = fields.get(keyword)
        if entry is not None and entry.value not in allowed:
            what = f"{keyword} is {entry.value!r} and must be {' or '.join(allowed)}."
            raise invalid(what, field=keyword, line=entry.line)


def _required(fields: Mapping[str, Entry], keyword: str, line: int) -> None:
    if keyword not in fields:
        raise invalid(f"The message that begins here has no {keyword}.", field=keyword, line=line)


def _epoch(entry: Entry) -> int:
    time = parse_ccsds(entry.value)
    if time is None:
        raise invalid(f"{entry.value!r} is no time in UTC.", field=entry.keyword, line=entry.line)
    return time


def _number(fields: Mapping[str, Entry], keyword: str) -> float:
    entry = fields.get(keyword)
    if entry is None:
        return 0.0
    field, unit = NUMBERS[keyword]
    if entry.unit not in (None, unit):
        raise invalid(f"The unit is {entry.unit!r} and must be {unit!r}.", field=keyword, line=entry.line)
    try:
        value = float(entry.value)
    except ValueError:
        raise _not_a_number(entry) from None
    return require_in_range(field, value, entry.line)


def _whole(fields: Mapping[str, Entry], keyword: str) -> int:
    entry = fields.get(keyword)
    if entry is None or not entry.value:
        return WHOLE[keyword]
    if not entry.value.isdecimal():
        raise _not_a_number(entry)
    return int(entry.value)


def _norad(fields: Mapping[str, Entry]) -> int | None:
    entry = fields.get("NORAD_CAT_ID")
    if entry is None or not entry.value:
        return None
    if not entry.value.isdecimal() or len(entry.value) > 9:
        raise _not_a_number(entry)
    return int(entry.value)


def _not_a_number(entry: Entry) -> InvalidElements:
    return invalid(f"{entry.keyword} is {entry.value!r}, which is no number.", field=entry.keyword, line=entry.line)

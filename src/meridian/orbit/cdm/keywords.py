"""The keywords of CCSDS 508.0-B-1 in their order: what each holds, in which unit, and whether it must be there."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto


class Kind(Enum):
    """What a keyword holds."""

    TEXT = auto()
    TIME = auto()
    NUMBER = auto()
    WHOLE = auto()


class Need(Enum):
    """Whether a message must have a keyword."""

    REQUIRED = auto()
    OPTIONAL = auto()


class Block(Enum):
    """The parts of a message."""

    RELATIVE = auto()
    """The header and what is said of both objects together."""
    OBJECT = auto()
    """One of the two objects."""


@dataclass(frozen=True, slots=True)
class Keyword:
    """One keyword."""

    name: str
    kind: Kind
    need: Need = Need.OPTIONAL
    unit: str | None = None
    choices: tuple[str, ...] = ()


def _texts(*names: str, need: Need = Need.OPTIONAL) -> tuple[Keyword, ...]:
    return tuple(Keyword(name, Kind.TEXT, need) for name in names)


def _times(*names: str, need: Need = Need.OPTIONAL) -> tuple[Keyword, ...]:
    return tuple(Keyword(name, Kind.TIME, need) for name in names)


def _numbers(unit: str | None, *names: str, need: Need = Need.OPTIONAL) -> tuple[Keyword, ...]:
    return tuple(Keyword(name, Kind.NUMBER, need, unit) for name in names)


def _choice(name: str, *choices: str, need: Need = Need.OPTIONAL) -> Keyword:
    return Keyword(name, Kind.TEXT, need, choices=choices)


VERSION = Keyword("CCSDS_CDM_VERS", Kind.TEXT, Need.REQUIRED, choices=("1.0",))

RELATIVE: tuple[Keyword, ...] = (
    VERSION,
    *_times("CREATION_DATE", need=Need.REQUIRED),
    *_texts("ORIGINATOR", need=Need.REQUIRED),
    *_texts("MESSAGE_FOR"),
    *_texts("MESSAGE_ID", need=Need.REQUIRED),
    *_times("TCA", need=Need.REQUIRED),
    *_numbers("m", "MISS_DISTANCE", need=Need.REQUIRED),
    *_numbers("m/s", "RELATIVE_SPEED"),
    *_numbers("m", "RELATIVE_POSITION_R", "RELATIVE_POSITION_T", "RELATIVE_POSITION_N"),
    *_numbers("m/s", "RELATIVE_VELOCITY_R", "RELATIVE_VELOCITY_T", "RELATIVE_VELOCITY_N"),
    *_times("START_SCREEN_PERIOD", "STOP_SCREEN_PERIOD"),
    _choice("SCREEN_VOLUME_FRAME", "RTN", "TVN"),
    _choice("SCREEN_VOLUME_SHAPE", "ELLIPSOID", "BOX"),
    *_numbers("m", "SCREEN_VOLUME_X", "SCREEN_VOLUME_Y", "SCREEN_VOLUME_Z"),
    *_times("SCREEN_ENTRY_TIME", "SCREEN_EXIT_TIME"),
    *_numbers(None, "COLLISION_PROBABILITY"),
    *_texts("COLLISION_PROBABILITY_METHOD"),
)

RECOMPUTABLE = frozenset(keyword.name for keyword in RELATIVE if keyword.name.startswith("RELATIVE_"))
"""What follows from the two states: a wrong unit there is remarked and not refused."""

_AXES = ("R", "T", "N", "RDOT", "TDOT", "NDOT", "DRG", "SRP", "THR")
_SQUARES = ("m**2", "m**2/s", "m**2/s**2")
_EXTRA = {
    "DRG": ("m**3/kg", "m**3/(kg*s)", ("m**4/kg**2",)),
    "SRP": ("m**3/kg", "m**3/(kg*s)", ("m**4/kg**2", "m**4/kg**2")),
    "THR": ("m**2/s**2", "m**2/s**3", ("m**3/(kg*s**2)", "m**3/(kg*s**2)", "m**2/s**4")),
}


def covariance_rows() -> tuple[tuple[Keyword, ...], ...]:
    """The lower triangle of the covariance, row by row: six that must be there, and up to three more."""
    return tuple(
        tuple(
            Keyword(f"C{row}_{column}", Kind.NUMBER, _need(at), _unit(at, beside))
            for beside, column in enumerate(_AXES[: at + 1])
        )
        for at, row in enumerate(_AXES)
    )


def _need(row: int) -> Need:
    return Need.REQUIRED if row < 6 else Need.OPTIONAL


def _unit(row: int, column: int) -> str:
    if row < 6:
        return _SQUARES[(row > 2) + (column > 2)]
    position, velocity, others = _EXTRA[_AXES[row]]
    return position if column < 3 else velocity if column < 6 else others[column - 6]


COVARIANCE = covariance_rows()
POSITION = ("X", "Y", "Z")
VELOCITY = ("X_DOT", "Y_DOT", "Z_DOT")

OBJECT: tuple[Keyword, ...] = (
    _choice("OBJECT", "OBJECT1", "OBJECT2", need=Need.REQUIRED),
    *_texts("OBJECT_DESIGNATOR", "CATALOG_NAME", "OBJECT_NAME", "INTERNATIONAL_DESIGNATOR", need=Need.REQUIRED),
    *_texts("OBJECT_TYPE", "OPERATOR_CONTACT_POSITION", "OPERATOR_ORGANIZATION", "OPERATOR_PHONE", "OPERATOR_EMAIL"),
    *_texts("EPHEMERIS_NAME", need=Need.REQUIRED),
    _choice("COVARIANCE_METHOD", "CALCULATED", "DEFAULT", need=Need.REQUIRED),
    _choice("MANEUVERABLE", "YES", "NO", "N/A", need=Need.REQUIRED),
    *_texts("ORBIT_CENTER"),
    _choice("REF_FRAME", "GCRF", "EME2000", "ITRF", need=Need.REQUIRED),
    *_texts("GRAVITY_MODEL", "ATMOSPHERIC_MODEL", "N_BODY_PERTURBATIONS"),
    _choice("SOLAR_RAD_PRESSURE", "YES", "NO"),
    _choice("EARTH_TIDES", "YES", "NO"),
    _choice("INTRACK_THRUST", "YES", "NO"),
    *_times("TIME_LASTOB_START", "TIME_LASTOB_END"),
    *_numbers("d", "RECOMMENDED_OD_SPAN", "ACTUAL_OD_SPAN"),
    *(Keyword(n, Kind.WHOLE) for n in ("OBS_AVAILABLE", "OBS_USED", "TRACKS_AVAILABLE", "TRACKS_USED")),
    *_numbers("%", "RESIDUALS_ACCEPTED"),
    *_numbers(None, "WEIGHTED_RMS"),
    *_numbers("m**2", "AREA_PC", "AREA_DRG", "AREA_SRP"),
    *_numbers("kg", "MASS"),
    *_numbers("m**2/kg", "CD_AREA_OVER_MASS", "CR_AREA_OVER_MASS"),
    *_numbers("m/s**2", "THRUST_ACCELERATION"),
    *_numbers("W/kg", "SEDR"),
    *_numbers("km", *POSITION, need=Need.REQUIRED),
    *_numbers("km/s", *VELOCITY, need=Need.REQUIRED),
    *(keyword for row in COVARIANCE for keyword in row),
)

KEYWORDS: dict[Block, dict[str, Keyword]] = {
    Block.RELATIVE: {keyword.name: keyword for keyword in RELATIVE},
    Block.OBJECT: {keyword.name: keyword for keyword in OBJECT},
}

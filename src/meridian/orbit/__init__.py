"""Orbits: element sets and messages, SGP4 and frames, screening, and the probability of a collision. Pure numerics.

Everything is in metres, seconds, radians and nanoseconds since 1970 in UTC, in TEME, unless a name says otherwise. The
names are loaded when they are first used: who reads a catalog needs no quadrature.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.model.lazily import loaded

if TYPE_CHECKING:
    from meridian.orbit.catalog import CatalogFile, CatalogForm, Refusal, read_catalog
    from meridian.orbit.cdm import CdmObject, ConjunctionMessage, read_cdm, write_cdm
    from meridian.orbit.closest import Conjunctions, conjunctions, straight_tca
    from meridian.orbit.elements import Elements, Source
    from meridian.orbit.errors import (
        InvalidElements,
        InvalidEncounter,
        InvalidMessage,
        InvalidScreening,
        OrbitError,
        PropagationFailed,
    )
    from meridian.orbit.frames import (
        EarthOrientation,
        fixed_to_teme,
        rotated_covariance,
        rtn_basis,
        sidereal_time,
        teme_to_fixed,
    )
    from meridian.orbit.measurements import Measurement, Optical, Prediction, Radar, StateVector
    from meridian.orbit.motion import Gravity, moved
    from meridian.orbit.omm_writing import format_csv, format_json, format_kvn, format_xml
    from meridian.orbit.pc import (
        Assessment,
        Caveat,
        Encounter,
        EncounterPlane,
        Flaw,
        Method,
        Span,
        Subject,
        Violation,
        assess,
        assess_message,
        chan,
        curved,
        encounter_of,
        foster,
        maximum,
        maximum_without_covariance,
        monte_carlo,
        plane_of,
    )
    from meridian.orbit.propagation import Propagator, States
    from meridian.orbit.screening import Approach, Progress, Screening, screen
    from meridian.orbit.sites import Directions, Looks, Site, directions, fixed_to_geodetic, geodetic_to_fixed, look
    from meridian.orbit.time import format_ccsds, parse_ccsds
    from meridian.orbit.tle import format_tle, parse_tle

_HOMES = {
    "meridian.orbit.catalog": ("CatalogFile", "CatalogForm", "Refusal", "read_catalog"),
    "meridian.orbit.cdm": ("CdmObject", "ConjunctionMessage", "read_cdm", "write_cdm"),
    "meridian.orbit.closest": ("Conjunctions", "conjunctions", "straight_tca"),
    "meridian.orbit.elements": ("Elements", "Source"),
    "meridian.orbit.errors": (
        "InvalidElements",
        "InvalidEncounter",
        "InvalidMessage",
        "InvalidScreening",
        "OrbitError",
        "PropagationFailed",
    ),
    "meridian.orbit.frames": (
        "EarthOrientation",
        "fixed_to_teme",
        "rotated_covariance",
        "rtn_basis",
        "sidereal_time",
        "teme_to_fixed",
    ),
    "meridian.orbit.measurements": ("Measurement", "Optical", "Prediction", "Radar", "StateVector"),
    "meridian.orbit.motion": ("Gravity", "moved"),
    "meridian.orbit.omm_writing": ("format_csv", "format_json", "format_kvn", "format_xml"),
    "meridian.orbit.pc": (
        "Assessment",
        "Caveat",
        "Encounter",
        "EncounterPlane",
        "Flaw",
        "Method",
        "Span",
        "Subject",
        "Violation",
        "assess",
        "assess_message",
        "chan",
        "curved",
        "encounter_of",
        "foster",
        "maximum",
        "maximum_without_covariance",
        "monte_carlo",
        "plane_of",
    ),
    "meridian.orbit.propagation": ("Propagator", "States"),
    "meridian.orbit.screening": ("Approach", "Progress", "Screening", "screen"),
    "meridian.orbit.sites": (
        "Directions",
        "Looks",
        "Site",
        "directions",
        "fixed_to_geodetic",
        "geodetic_to_fixed",
        "look",
    ),
    "meridian.orbit.time": ("format_ccsds", "parse_ccsds"),
    "meridian.orbit.tle": ("format_tle", "parse_tle"),
}

__all__ = [
    "Approach",
    "Assessment",
    "CatalogFile",
    "CatalogForm",
    "Caveat",
    "CdmObject",
    "ConjunctionMessage",
    "Conjunctions",
    "Directions",
    "EarthOrientation",
    "Elements",
    "Encounter",
    "EncounterPlane",
    "Flaw",
    "Gravity",
    "InvalidElements",
    "InvalidEncounter",
    "InvalidMessage",
    "InvalidScreening",
    "Looks",
    "Measurement",
    "Method",
    "Optical",
    "OrbitError",
    "Prediction",
    "Progress",
    "PropagationFailed",
    "Propagator",
    "Radar",
    "Refusal",
    "Screening",
    "Site",
    "Source",
    "Span",
    "StateVector",
    "States",
    "Subject",
    "Violation",
    "assess",
    "assess_message",
    "chan",
    "conjunctions",
    "curved",
    "directions",
    "encounter_of",
    "fixed_to_geodetic",
    "fixed_to_teme",
    "format_ccsds",
    "format_csv",
    "format_json",
    "format_kvn",
    "format_tle",
    "format_xml",
    "foster",
    "geodetic_to_fixed",
    "look",
    "maximum",
    "maximum_without_covariance",
    "monte_carlo",
    "moved",
    "parse_ccsds",
    "parse_tle",
    "plane_of",
    "read_catalog",
    "read_cdm",
    "rotated_covariance",
    "rtn_basis",
    "screen",
    "sidereal_time",
    "straight_tca",
    "teme_to_fixed",
    "write_cdm",
]

__getattr__ = loaded(__name__, _HOMES)

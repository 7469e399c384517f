"""From a conjunction data message to an encounter: frames, units, and what the message says against itself.

The frames of CCSDS 508.0-B-1 are GCRF, EME2000 and ITRF, the same for both objects. The first two are inertial and a
probability is the same in either. From ITRF the velocities are made inertial; the axes stay those of ITRF at the time
of closest approach. RTN is taken from the inertial orbit, as the originators of ITRF messages do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from meridian.orbit.cdm import CdmObject, ConjunctionMessage
from meridian.orbit.cdm.message import EARTH, EARTH_FIXED, INERTIAL_FRAMES
from meridian.orbit.equinoctial import EARTH_MU
from meridian.orbit.errors import InvalidEncounter
from meridian.orbit.frames import Floats, rtn_basis
from meridian.orbit.pc.caveats import Caveat, Flaw, Subject
from meridian.orbit.pc.encounter import Encounter, invalid

_LOWEST_M = 6.0e6
_HIGHEST_M = 1.5e9
_MISS_TOLERANCE_M = 10.0
_MISS_TOLERANCE = 0.05
_RELATIVE_TOLERANCE = 1.0
"""In metres, or metres a second: real messages round to a tenth."""
_RELATIVE_SHARE = 1e-3
_LARGEST_RADIUS_M = 500.0
"""Several times the size of the largest space station."""


def encounter_of(message: ConjunctionMessage, hard_body_radius_m: float | None = None) -> Encounter:
    """The encounter of a message, with a radius of one's own or the one that its comment says."""
    radius = hard_body_radius_m if hard_body_radius_m is not None else message.hard_body_radius_m
    if radius is None:
        raise invalid(f"The message {message.message_id} says no hard-body radius.")
    _require_one_frame(message)
    first, second = (_state(message, each) for each in (message.first, message.second))
    found = Encounter(first, second, message.first.covariance, message.second.covariance, radius)
    return replace(found, caveats=tuple(_caveats(message, found)))


def _require_one_frame(message: ConjunctionMessage) -> None:
    frames = [message.first.frame, message.second.frame]
    if frames[0] != frames[1]:
        raise InvalidEncounter(
            f"The message {message.message_id} gives object 1 in {frames[0]} and object 2 in {frames[1]}. Between the "
            "two lie the orientation of the Earth on that day and up to hundreds of metres, which the message does "
            "not say.",
            remedy="Ask the originator for both states in one frame, as CCSDS 508.0-B-1 demands.",
        )
    if frames[0] not in INERTIAL_FRAMES | {EARTH_FIXED}:
        raise InvalidEncounter(
            f"The states of the message {message.message_id} are in {frames[0]}.",
            remedy="Give both states in EME2000, GCRF or ITRF.",
        )


def _state(message: ConjunctionMessage, of: CdmObject) -> Floats:
    """The inertial state (6,) of an object that is bound to the Earth and not inside it."""
    name = f"{of.designator} of the message {message.message_id}"
    if of.orbit_center.upper() != EARTH:
        raise InvalidEncounter(
            f"The object {name} orbits {of.orbit_center} and not the Earth.",
            remedy="Use a tool for that body: the motion and the frames here are those of the Earth.",
        )
    position, velocity = of.position_m, of.inertial_velocity_m_s
    distance = float(np.linalg.norm(position))
    if not _LOWEST_M < distance < _HIGHEST_M:
        raise InvalidEncounter(
            f"The object {name} is {distance / 1e3:,.0f} km from the centre of the Earth.", remedy=_UNITS
        )
    if not float(np.linalg.norm(velocity)) ** 2 < 2.0 * EARTH_MU / distance:
        raise InvalidEncounter(f"The object {name} is not bound to the Earth.", remedy=_UNITS)
    if not np.linalg.norm(np.cross(position, velocity)) > 1e-6 * distance:
        raise InvalidEncounter(f"The object {name} falls straight down or stands still.", remedy=_UNITS)
    return np.concatenate([position, velocity])


_UNITS = "Check the units of its state (km and km/s) and its frame with the originator."


def _caveats(message: ConjunctionMessage, found: Encounter) -> Iterator[Caveat]:
    for subject, each in ((Subject.FIRST, message.first), (Subject.SECOND, message.second)):
        if each.has_default_covariance:
            text = f"{subject.value.capitalize()} has a default covariance, which its originator made up."
            yield Caveat(Flaw.DEFAULT_COVARIANCE, subject, text)
    if found.hard_body_radius_m > _LARGEST_RADIUS_M:
        text = f"The hard-body radius is {found.hard_body_radius_m:,.0f} m, and no two objects in orbit are as large."
        yield Caveat(Flaw.LARGE_RADIUS, Subject.BOTH, text)
    yield from _of_relative_state(message, found)
    miss = message.miss_distance_m
    closest = found.at_closest_approach()
    distances = [float(np.linalg.norm(each.position_m)) for each in (found, closest)]
    if min(abs(distance - miss) for distance in distances) > _MISS_TOLERANCE_M + _MISS_TOLERANCE * miss:
        text = f"The states pass within {distances[1]:,.0f} m, and the message says {miss:,.0f} m."
        yield Caveat(Flaw.MISS_DISTANCE, Subject.BOTH, text)


def _of_relative_state(message: ConjunctionMessage, found: Encounter) -> Iterator[Caveat]:
    """Whether the relative state that the message says is the one of its states: it is not if their frame is another.

    Some originators give it from object 2 to object 1, so the sign does not count.
    """
    basis = rtn_basis(found.first[:3], found.first[3:])
    for keyword, vector, unit in (("POSITION", found.position_m, "m"), ("VELOCITY", found.velocity_m_s, "m/s")):
        names = [f"RELATIVE_{keyword}_{axis}" for axis in "RTN"]
        if {remark.keyword for remark in message.remarks} & {*names} or not message.relative.values.keys() >= {*names}:
            continue
        said, computed = np.array([message.relative.number(name) for name in names]), basis @ vector
        apart = min(float(np.linalg.norm(computed - sign * said)) for sign in (1.0, -1.0))
        if apart > _RELATIVE_TOLERANCE + _RELATIVE_SHARE * float(np.linalg.norm(said)):
            text = f"The relative {keyword.lower()} of the message differs from its states by {apart:,.0f} {unit}."
            yield Caveat(Flaw.RELATIVE_STATE, Subject.BOTH, text)

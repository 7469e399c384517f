"""A conjunction as a CCSDS conjunction data message, from what is known of its two objects now. Pure.

Both objects are taken where their tracks are: the reference orbit of the catalog plus the estimated deviation, moved to
the closest approach as fusion moves them. An object that was never observed has the error of its catalogued elements.
Time, distance and probability of the message follow from these states, so the message agrees with itself. They may
differ a little from what the last alert said, because tracks go on being observed. A message about an object that was
never observed states no probability.

States are in ITRF with the limits of `meridian.orbit.frames`: polar motion is zero and UT1 is UTC. Both objects are
turned alike, so distances and probabilities do not depend on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from meridian.fusion.estimates import Estimates, drift
from meridian.fusion.references import References
from meridian.fusion.windows import SECOND, Windows
from meridian.orbit import Elements, Propagator
from meridian.orbit.cdm import CdmObject, ConjunctionMessage, Said
from meridian.orbit.cdm.keywords import COVARIANCE, POSITION, VELOCITY
from meridian.orbit.cdm.message import Value
from meridian.orbit.closest import conjunctions
from meridian.orbit.frames import Floats, rotated_covariance, rtn_basis, teme_to_fixed
from meridian.orbit.kepler import moved
from meridian.orbit.pc import foster, plane_of
from meridian.orbit.time import format_ccsds
from meridian.service.values import ConjunctionSeen, ObjectKnown

ORIGINATOR = "MERIDIAN"
_UNKNOWN = "UNKNOWN"
_METHOD = "FOSTER-1992"


@dataclass(frozen=True, slots=True)
class _Placed:
    """One object at the time of the passage: its state (6,) in TEME and the covariance (6, 6) of that."""

    elements: Elements
    known: ObjectKnown | None
    state: Floats
    covariance: Floats


def conjunction_message(
    conjunction: ConjunctionSeen,
    elements: Sequence[Elements],
    tracks: Mapping[str, ObjectKnown],
    created_ns: int,
) -> ConjunctionMessage:
    """The message.

    :param elements: of the two objects, in the order of the conjunction.
    :param tracks: of those that were observed, by object.
    """
    references = References(Propagator(elements), Windows())
    one, other = (
        _placed(references, number, each, tracks.get(each.object_id), conjunction.encounter_ns)
        for number, each in enumerate(elements)
    )
    closest = conjunctions(
        one.state[None], other.state[None], one.covariance[None], other.covariance[None]
    )  # within a minute: fusion takes lines for straight as long
    tca_ns = conjunction.encounter_ns + round(float(closest.seconds[0]) * SECOND)
    encounter = closest.encounter(0, conjunction.radius_m)
    relative = rtn_basis(encounter.first[:3], encounter.first[3:])
    place, velocity = relative @ encounter.position_m, relative @ encounter.velocity_m_s
    values: dict[str, Value] = {
        "CCSDS_CDM_VERS": "1.0",
        "CREATION_DATE": created_ns,
        "ORIGINATOR": ORIGINATOR,
        "MESSAGE_ID": f"{conjunction.conjunction_id}_{format_ccsds(created_ns)}",
        "TCA": tca_ns,
        "MISS_DISTANCE": float(np.linalg.norm(encounter.position_m)),
        "RELATIVE_SPEED": float(np.linalg.norm(encounter.velocity_m_s)),
        **{f"RELATIVE_POSITION_{axis}": float(x) for axis, x in zip("RTN", place, strict=True)},
        **{f"RELATIVE_VELOCITY_{axis}": float(x) for axis, x in zip("RTN", velocity, strict=True)},
    }
    if one.known is not None and other.known is not None:  # a default covariance supports no probability
        values |= {"COLLISION_PROBABILITY": foster(plane_of(encounter)), "COLLISION_PROBABILITY_METHOD": _METHOD}
    comments = (f"HBR = {conjunction.radius_m!r} [m]", f"Conjunction {conjunction.conjunction_id}")
    return ConjunctionMessage(
        Said(values, comments),
        _object("OBJECT1", one, encounter.first, encounter.first_covariance, tca_ns),
        _object("OBJECT2", other, encounter.second, encounter.second_covariance, tca_ns),
    )


def _placed(
    references: References, number: int, elements: Elements, known: ObjectKnown | None, time_ns: int
) -> _Placed:
    objects, time = np.array([number]), np.array([time_ns])
    reference = references.apart(objects, time)
    if known is None:
        covariance = references.catalog_covariance(objects, time)
        return _Placed(elements, None, reference[0], covariance[0])
    epoch = references.apart(objects, np.array([known.epoch_ns]))
    seconds = np.array([(time_ns - known.epoch_ns) / SECOND])
    deviation = np.array([[*known.position_m, *known.velocity_m_s]]) - epoch
    estimate = Estimates(deviation, np.array([known.covariance])).moved(
        moved(epoch[:, :3], epoch[:, 3:], seconds).transition, drift(seconds, references.density)
    )
    return _Placed(elements, known, (reference + estimate.deviation)[0], estimate.covariance[0])


def _object(name: str, placed: _Placed, state: Floats, covariance: Floats, tca_ns: int) -> CdmObject:
    fixed = np.concatenate(teme_to_fixed(state[:3], state[3:], np.array(tca_ns, np.int64)))
    rtn = rotated_covariance(covariance, rtn_basis(state[:3], state[3:]))
    known = placed.known
    values: dict[str, Value] = {
        "OBJECT": name,
        "OBJECT_DESIGNATOR": placed.elements.object_id,
        "CATALOG_NAME": "SATCAT",
        "OBJECT_NAME": placed.elements.name or _UNKNOWN,
        "INTERNATIONAL_DESIGNATOR": placed.elements.designator or _UNKNOWN,
        "EPHEMERIS_NAME": "NONE",
        "COVARIANCE_METHOD": "DEFAULT" if known is None else "CALCULATED",
        "MANEUVERABLE": "N/A",
        "REF_FRAME": "ITRF",
        **({} if known is None else {"TIME_LASTOB_END": known.last_seen_ns, "OBS_USED": known.observations}),
        **{axis: float(x) / 1e3 for axis, x in zip((*POSITION, *VELOCITY), fixed, strict=True)},
        **{
            keyword.name: float(rtn[at, beside])
            for at, row in enumerate(COVARIANCE[:6])
            for beside, keyword in enumerate(row)
        },
    }
    return CdmObject(values)

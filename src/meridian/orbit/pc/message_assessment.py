"""All that can be said of the risk in one received conjunction message: each probability, and what qualifies it.

The probability to act on is the one of `assess`. The others stand beside it, because operators compare them: Foster's,
the one with curved orbits, Alfano's maximum, Chan's, and the one that the originator states.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from meridian.orbit.cdm import ConjunctionMessage
from meridian.orbit.pc.assessment import Assessment, assess
from meridian.orbit.pc.encounter import plane_of
from meridian.orbit.pc.messages import encounter_of
from meridian.orbit.pc.planar import ChanProbability, MaximumProbability, chan, maximum


@dataclass(frozen=True, slots=True)
class StatedProbability:
    """The probability that the originator of a message states, and the method it names."""

    probability: float
    method: str | None


@dataclass(frozen=True, slots=True)
class MessageAssessment:
    """The probabilities of one message."""

    message: ConjunctionMessage
    hard_body_radius_m: float
    miss_distance_m: float
    """By the two states, at the closest approach on straight lines."""
    relative_speed_m_s: float
    assessment: Assessment
    maximum: MaximumProbability | None
    """None where a covariance of position is not known; so is `chan`."""
    chan: ChanProbability | None
    stated: StatedProbability | None


def assess_message(message: ConjunctionMessage, hard_body_radius_m: float | None = None) -> MessageAssessment:
    """Every probability of a message, with this hard-body radius or the one in its comment.

    :raises InvalidEncounter: when there is no radius, or the states mean nothing.
    """
    encounter = encounter_of(message, hard_body_radius_m)
    assessment = assess(encounter)
    plane = None if assessment.planar is None else plane_of(encounter)
    return MessageAssessment(
        message,
        encounter.hard_body_radius_m,
        float(np.linalg.norm(encounter.at_closest_approach().position_m)),
        float(np.linalg.norm(encounter.velocity_m_s)),
        assessment,
        None if plane is None else maximum(plane),
        None if plane is None else chan(plane),
        _stated(message),
    )


def _stated(message: ConjunctionMessage) -> StatedProbability | None:
    values = message.relative.values
    if "COLLISION_PROBABILITY" not in values:
        return None
    method = values.get("COLLISION_PROBABILITY_METHOD")
    return StatedProbability(message.relative.number("COLLISION_PROBABILITY"), None if method is None else str(method))

"""The probability that two objects collide."""

from __future__ import annotations

from meridian.orbit.pc.assessment import Assessment, Method, Remedy, Violation, assess
from meridian.orbit.pc.caveats import Caveat, Flaw, Subject
from meridian.orbit.pc.encounter import Encounter, EncounterPlane, plane_of
from meridian.orbit.pc.entries import CurvedProbability, Span, curved
from meridian.orbit.pc.message_assessment import MessageAssessment, StatedProbability, assess_message
from meridian.orbit.pc.messages import encounter_of
from meridian.orbit.pc.planar import (
    ChanProbability,
    MaximumProbability,
    chan,
    foster,
    maximum,
    maximum_without_covariance,
)
from meridian.orbit.pc.sampling import SampledProbability, monte_carlo

__all__ = [
    "Assessment",
    "Caveat",
    "ChanProbability",
    "CurvedProbability",
    "Encounter",
    "EncounterPlane",
    "Flaw",
    "MaximumProbability",
    "MessageAssessment",
    "Method",
    "Remedy",
    "SampledProbability",
    "Span",
    "StatedProbability",
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
]

"""The probability that two objects collide."""

from __future__ import annotations

from meridian.orbit.pc.assessment import Assessment, Remedy, Violation, assess
from meridian.orbit.pc.encounter import Encounter, EncounterPlane, encounter_of, plane_of
from meridian.orbit.pc.entries import CurvedProbability, Span, curved
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
    "ChanProbability",
    "CurvedProbability",
    "Encounter",
    "EncounterPlane",
    "MaximumProbability",
    "Remedy",
    "SampledProbability",
    "Span",
    "Violation",
    "assess",
    "chan",
    "curved",
    "encounter_of",
    "foster",
    "maximum",
    "maximum_without_covariance",
    "monte_carlo",
    "plane_of",
]

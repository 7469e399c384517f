"""Screening: which objects of a catalog come close to each other, when and how near."""

from __future__ import annotations

from meridian.orbit.screening.horizon import screen
from meridian.orbit.screening.values import Approach, Progress, Report, Screening

__all__ = ["Approach", "Progress", "Report", "Screening", "screen"]

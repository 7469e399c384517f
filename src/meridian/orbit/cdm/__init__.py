"""Conjunction data messages (CCSDS 508.0-B-1)."""

from __future__ import annotations

from meridian.orbit.cdm.message import CdmObject, ConjunctionMessage, Remark, Said
from meridian.orbit.cdm.reading import read_cdm
from meridian.orbit.cdm.writing import write_cdm

__all__ = ["CdmObject", "ConjunctionMessage", "Remark", "Said", "read_cdm", "write_cdm"]
